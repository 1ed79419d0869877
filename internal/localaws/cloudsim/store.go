package cloudsim

import (
	"cmp"
	"slices"
	"time"
)

// The functions of this file run under the simulator's lock.

func (c *Cloud) find(typ, region, id string) *Resource { return c.resources[typ][place{region, id}] }

// of returns the resources of a type in a region.
func (c *Cloud) of(typ, region string) []*Resource {
	var list []*Resource

	for at, r := range c.resources[typ] {
		if at.region == region {
			list = append(list, r)
		}
	}

	return list
}

func (c *Cloud) put(r *Resource) {
	ofType := c.resources[r.Type]
	if ofType == nil {
		ofType = map[place]*Resource{}
		c.resources[r.Type] = ofType
	}

	at := place{r.Region, r.ID}
	if before := ofType[at]; before != nil {
		c.drop(before)
	}

	ofType[at] = r
	c.count++

	if !r.settlesAt.IsZero() {
		c.passing[r] = struct{}{}
	}
}

func (c *Cloud) drop(r *Resource) {
	delete(c.resources[r.Type], place{r.Region, r.ID})
	delete(c.passing, r)

	c.count--
}

// lose removes what goes with something else.
func (c *Cloud) lose(r *Resource) {
	c.drop(r)
	c.note(EventDeleted, r, "", false)
}

// pass puts r into a state that ends by itself, if its type has a delay.
func (c *Cloud) pass(r *Resource, state State) {
	delay := c.delays[r.Type]
	if delay <= 0 || r.State == StateCreating && state == StateModifying {
		return
	}

	r.State = state
	r.settlesAt = c.at.Add(delay)
	c.passing[r] = struct{}{}
}

// settle begins an operation: it ends the states whose time is over by now.
func (c *Cloud) settle() {
	now := c.now()

	var over []*Resource

	for r := range c.passing {
		if !r.settlesAt.After(now) {
			over = append(over, r)
		}
	}

	slices.SortFunc(over, inOrderOfSettling)

	for _, r := range over {
		// It happened when its time was over, not when somebody looked.
		c.at = r.settlesAt

		if r.State == StateDeleting {
			c.drop(r)
			c.note(EventDeleted, r, "", false)

			continue
		}

		delete(c.passing, r)

		r.State = StateAvailable
		r.settlesAt = time.Time{}

		if !r.claim() {
			c.note(EventAvailable, r, "", false)
		}
	}

	c.at = now
}

// inOrderOfSettling is by time. Of those at one time, what becomes available comes
// first: a snapshot is there when its database goes.
func inOrderOfSettling(a, b *Resource) int {
	last := func(r *Resource) int {
		if r.State == StateDeleting {
			return 1
		}

		return 0
	}

	return cmp.Or(a.settlesAt.Compare(b.settlesAt), cmp.Compare(last(a), last(b)), cmp.Compare(a.Type+a.ID, b.Type+b.ID))
}
