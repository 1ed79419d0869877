package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/lessor-dev/lessor/pkg/addresses"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// blockPrefix begins the keys of blocks, networkPrefix those of what the
	// topologies of a tenant hold, and poolsKey is the list of all pools.
	blockPrefix   = "address#"
	networkPrefix = "network#"
	poolsKey      = "addresses"

	takeExpression = "SET held_by = :me"
	takeCondition  = "attribute_not_exists(held_by) OR held_by = :me"
	giveExpression = "REMOVE held_by"
	giveCondition  = "held_by = :me"

	noteExpression     = "SET notes = :notes"
	noteFirstCondition = "attribute_not_exists(notes)"
	noteNextCondition  = "notes = :seen"
)

// Addresses is who holds which block of which pool. One block has one holder, the
// topology of a tenant.
//
// A block is an item of its own, and one conditional write takes it. What a
// topology holds or tries to take is noted first, in an item of its tenant, so
// that nothing is lost track of when a worker dies in between.
type Addresses struct{ rows *Registry }

// Addresses are in the table of tenants.
func (r *Registry) Addresses() *Addresses { return &Addresses{rows: r} }

// holding is what a topology holds, or tries to.
type holding struct {
	Pool  tenant.AddressPool `json:"pool"`
	Block netip.Prefix       `json:"block"`
	// Held is set once the block was taken. Until then another may be tried.
	Held bool `json:"held,omitempty"`
	// Reach is how far in the order of the pool blocks were tried: none beyond it
	// can be this topology's.
	Reach int `json:"reach,omitempty"`
}

// Held are the blocks that the topologies of a tenant hold, by generation. Where a
// topology tried to take one and was cut short, that is not valid.
func (a *Addresses) Held(ctx context.Context, id tenant.ID) (map[int]netip.Prefix, error) {
	all, err := a.holdings(ctx, id)
	if err != nil {
		return nil, err
	}

	blocks := make(map[int]netip.Prefix, len(all.noted))

	for generation, h := range all.noted {
		if blocks[generation] = h.Block; !h.Held {
			blocks[generation] = netip.Prefix{}
		}
	}

	return blocks, nil
}

// Take gives a topology a block of a pool, and always the same one until it is
// released, whatever becomes of the pool. A pool that is full, or that overlaps an
// earlier one with blocks of another size, is a *tenant.Failure.
func (a *Addresses) Take(ctx context.Context, id tenant.ID, generation int, pool tenant.AddressPool) (netip.Prefix, error) {
	var block netip.Prefix

	err := a.again(ctx, id, func() (err error) {
		block, err = a.take(ctx, id, generation, pool)

		return err
	})

	return block, err
}

func (a *Addresses) take(ctx context.Context, id tenant.ID, generation int, pool tenant.AddressPool) (netip.Prefix, error) {
	all, err := a.holdings(ctx, id)
	if err != nil {
		return netip.Prefix{}, err
	}

	mine, noted := all.noted[generation]

	switch {
	case mine.Held:
		return mine.Block, nil
	case noted && mine.Pool != pool:
		// A search that was cut short, before the catalog changed.
		if err := a.release(ctx, id, generation); err != nil {
			return netip.Prefix{}, err
		}

		return netip.Prefix{}, ErrMoved
	case !noted:
		if err := a.admit(ctx, pool); err != nil {
			return netip.Prefix{}, err
		}
	}

	return a.search(ctx, all, addresses.Holder(id, generation), generation, pool)
}

// search takes the first block in the order of the pool that is free, or that is
// the topology's because an earlier search took it and was cut short.
func (a *Addresses) search(
	ctx context.Context, all *notes[map[int]holding], me string, generation int, pool tenant.AddressPool,
) (netip.Prefix, error) {
	for place, block := range addresses.Order(pool, me) {
		owner, err := a.ownerOf(ctx, block)
		if err != nil {
			return netip.Prefix{}, err
		}

		if owner != "" && owner != me {
			continue
		}

		mine := holding{Pool: pool, Block: block, Reach: max(all.noted[generation].Reach, place)}

		took, err := a.claim(ctx, all, generation, mine, me)
		if took || err != nil {
			return block, err
		}
	}

	if _, noted := all.noted[generation]; noted {
		delete(all.noted, generation)

		if err := a.note(ctx, all); err != nil {
			return netip.Prefix{}, err
		}
	}

	return netip.Prefix{}, exhausted(pool)
}

// claim notes that a block is to be taken, takes it, and notes that it was. It
// reports false if somebody else was faster.
func (a *Addresses) claim(ctx context.Context, all *notes[map[int]holding], generation int, mine holding, me string) (bool, error) {
	all.noted[generation] = mine
	if err := a.note(ctx, all); err != nil {
		return false, err
	}

	_, err := a.rows.write(ctx, blockPrefix+mine.Block.String(), update{
		expression: takeExpression, condition: takeCondition, values: item{":me": text(me)},
	})

	switch {
	case refused(err):
		return false, nil
	case err != nil:
		return false, err
	}

	mine.Held = true
	all.noted[generation] = mine

	return true, a.note(ctx, all)
}

func exhausted(pool tenant.AddressPool) error {
	return &tenant.Failure{
		Kind:    tenant.KindQuota,
		Message: fmt.Sprintf("the address pool %s is full: all of its %d blocks of /%d are held", pool.Range, pool.Blocks(), pool.Prefix),
		Hint:    "give the tier a range that overlaps no other (what has a block keeps it), or delete tenants",
	}
}

// Release gives back the block of a topology that is gone. One that holds none is
// no error.
func (a *Addresses) Release(ctx context.Context, id tenant.ID, generation int) error {
	return a.again(ctx, id, func() error { return a.release(ctx, id, generation) })
}

func (a *Addresses) release(ctx context.Context, id tenant.ID, generation int) error {
	all, err := a.holdings(ctx, id)
	if err != nil {
		return err
	}

	mine, noted := all.noted[generation]
	if !noted {
		return nil
	}

	// From here on nobody believes that the block is held, should the rest fail.
	if mine.Held {
		mine.Held = false
		all.noted[generation] = mine

		if err := a.note(ctx, all); err != nil {
			return err
		}
	}

	me := addresses.Holder(id, generation)

	for place, block := range addresses.Order(mine.Pool, me) {
		if place > mine.Reach {
			break
		}

		if err := a.give(ctx, block, me); err != nil {
			return err
		}
	}

	delete(all.noted, generation)

	return a.note(ctx, all)
}

// give ends the holding of a block by me, if it is one. The item of the block
// stays: there are only so many.
func (a *Addresses) give(ctx context.Context, block netip.Prefix, me string) error {
	owner, err := a.ownerOf(ctx, block)
	if err != nil || owner != me {
		return err
	}

	_, err = a.rows.write(ctx, blockPrefix+block.String(), update{
		expression: giveExpression, condition: giveCondition, values: item{":me": text(me)},
	})
	if refused(err) {
		return nil
	}

	return err
}

func (a *Addresses) ownerOf(ctx context.Context, block netip.Prefix) (string, error) {
	row, err := a.rows.get(ctx, blockPrefix+block.String())
	if err != nil {
		return "", err
	}

	return stringOf(row, "held_by")
}

// admit adds a pool to the list of all that ever were, so that blocks of two sizes
// never come from one range, not even after a change of the catalog.
func (a *Addresses) admit(ctx context.Context, pool tenant.AddressPool) error {
	known, err := readNotes[[]tenant.AddressPool](ctx, a.rows, poolsKey)
	if err != nil {
		return err
	}

	for _, other := range known.noted {
		switch {
		case other == pool:
			return nil
		case other.Range.Overlaps(pool.Range):
			return &tenant.Failure{
				Kind: tenant.KindInvalid,
				Message: fmt.Sprintf("the address pool %s in blocks of /%d overlaps %s, which was given out in blocks of /%d before",
					pool.Range, pool.Prefix, other.Range, other.Prefix),
				Hint: "give the tier the range and prefix that it had, or a range that was never used",
			}
		}
	}

	known.noted = append(known.noted, pool)

	return writeNotes(ctx, a.rows, known)
}

func (a *Addresses) holdings(ctx context.Context, id tenant.ID) (*notes[map[int]holding], error) {
	all, err := readNotes[map[int]holding](ctx, a.rows, networkPrefix+string(id))
	if err == nil && all.noted == nil {
		all.noted = map[int]holding{}
	}

	return all, err
}

func (a *Addresses) note(ctx context.Context, all *notes[map[int]holding]) error {
	return writeNotes(ctx, a.rows, all)
}

// again repeats what another worker came in between of.
func (*Addresses) again(ctx context.Context, id tenant.ID, do func() error) error {
	for conflicts := range maxConflicts {
		if err := yieldToOthers(ctx, conflicts); err != nil {
			return fmt.Errorf("the networks of %s: %w", id, err)
		}

		if err := do(); !errors.Is(err, ErrMoved) {
			return err
		}
	}

	return fmt.Errorf("the networks of %s: %w", id, errContended)
}

// notes are the document of an item as it was read.
type notes[T any] struct {
	key   string
	seen  string
	noted T
}

func readNotes[T any](ctx context.Context, rows *Registry, key string) (*notes[T], error) {
	row, err := rows.get(ctx, key)
	if err != nil {
		return nil, err
	}

	n := &notes[T]{key: key}

	if n.seen, err = stringOf(row, "notes"); err == nil && n.seen != "" {
		err = json.Unmarshal([]byte(n.seen), &n.noted)
	}

	if err != nil {
		return nil, fmt.Errorf("reading the item %s: %w", key, err)
	}

	return n, nil
}

// writeNotes writes a document, unless it is no longer the one that was read: then
// it fails with ErrMoved.
func writeNotes[T any](ctx context.Context, rows *Registry, n *notes[T]) error {
	value, err := document(n.noted)
	if err != nil {
		return err
	}

	u := update{expression: noteExpression, condition: noteFirstCondition, values: item{":notes": value}}
	if n.seen != "" {
		u.condition, u.values[":seen"] = noteNextCondition, text(n.seen)
	}

	_, err = rows.write(ctx, n.key, u)

	switch {
	case refused(err):
		return fmt.Errorf("writing the item %s: %w", n.key, ErrMoved)
	case err != nil:
		return err
	}

	n.seen = textOf(value)

	return nil
}
