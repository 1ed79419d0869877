package stategate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// lock keeps people at the plain CLI out while an operation runs. It is a lock
// of the CLI's own kind, in its place and form, named by the fence, so that a
// successor knows a dead one from that of a person.
//
// The fence and not the lock keeps lessor's own workers apart.
type lock struct {
	store     Store
	prefix    string
	fence     int64
	operation string
	// traceless has the release remove the versions of the lock as well.
	traceless bool
}

// lockContent is the CLI's form, which `pulumi up` shows to whoever is kept out.
type lockContent struct {
	PID       int       `json:"pid"`
	Username  string    `json:"username"`
	Hostname  string    `json:"hostname"`
	Timestamp time.Time `json:"timestamp"`
}

const lockName = "lessor-"

func (l *lock) key() string {
	return l.prefix + lockName + strconv.FormatInt(l.fence, 10) + "-" + l.operation + ".json"
}

// take writes the lock unless a person has one, and removes those of dead
// operations. It holds once confirm says so.
func (l *lock) take(ctx context.Context) ([]tenant.Repair, error) {
	repairs, err := l.clear(ctx)
	if err != nil {
		return nil, err
	}

	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming the lock's host: %w", err)
	}

	content, err := json.Marshal(lockContent{PID: os.Getpid(), Username: "lessor", Hostname: host, Timestamp: time.Now().UTC()})
	if err != nil {
		return nil, fmt.Errorf("encoding the lock: %w", err)
	}

	if _, err := l.store.Put(ctx, l.key(), content, Stamp{Fence: l.fence, Operation: l.operation}, Condition{}); err != nil {
		if !errors.Is(err, ErrDenied) {
			// It may have landed all the same, and what is left keeps people out.
			_ = l.release(ctx)
		}

		return nil, fmt.Errorf("locking the stack: %w", err)
	}

	return repairs, nil
}

// confirm looks once more. Like the CLI: whoever sees another's lock after
// writing the own gives way, so that of two that come at once both may, but never
// neither.
func (l *lock) confirm(ctx context.Context) error {
	_, err := l.clear(ctx)

	return err
}

// clear removes the locks of dead operations. It fails if a person has one.
func (l *lock) clear(ctx context.Context) ([]tenant.Repair, error) {
	found, err := l.store.List(ctx, l.prefix)
	if err != nil {
		return nil, fmt.Errorf("looking for locks: %w", err)
	}

	var (
		repairs []tenant.Repair
		persons []string
	)

	for _, key := range found {
		if key == l.key() {
			continue
		}

		switch fence, ours := fenceOf(key); {
		case !ours:
			persons = append(persons, key)
		case fence > l.fence:
			return nil, superseded(fence)
		default:
			if err := l.store.Delete(ctx, key); err != nil {
				return nil, fmt.Errorf("removing the lock of a dead operation: %w", err)
			}

			repairs = append(repairs, tenant.Repair{
				Action: tenant.RepairLock, Detail: fmt.Sprintf("of the operation under fence %d", fence),
			})
		}
	}

	if len(persons) > 0 {
		return nil, l.lockedBy(ctx, persons)
	}

	return repairs, nil
}

// fenceOf reads the name of a lock. One that is not ours was made by a CLI.
func fenceOf(key string) (fence int64, ours bool) {
	name, found := strings.CutPrefix(path.Base(key), lockName)
	if !found {
		return 0, false
	}

	number, _, found := strings.Cut(name, "-")
	if !found {
		return 0, false
	}

	fence, err := strconv.ParseInt(number, 10, 64)

	return fence, err == nil
}

func (l *lock) lockedBy(ctx context.Context, persons []string) error {
	holders := make([]string, 0, len(persons))

	for _, key := range persons {
		holder := "somebody"

		if object, err := l.store.Get(ctx, key, ""); err == nil {
			var c lockContent
			if json.Unmarshal(object.Body, &c) == nil && c.Username != "" {
				holder = fmt.Sprintf("%q at %q (pid %d) since %s", c.Username, c.Hostname, c.PID, c.Timestamp.UTC().Format(time.RFC3339))
			}
		}

		holders = append(holders, holder)
	}

	return &tenant.Failure{
		Kind:    tenant.KindLocked,
		Message: "the stack is locked at the plain Pulumi CLI by " + strings.Join(holders, " and by "),
		Hint:    "the operation starts once that command has ended; if it died, `pulumi cancel` removes its lock",
	}
}

// unlockBound is how long the end of an operation waits to unlock the stack. A
// successor removes what is left.
const unlockBound = 20 * time.Second

// release removes the own lock, which nobody else may do for a tenant that has
// nothing more to do. It tries for a while, even if ctx has ended.
func (l *lock) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockBound)
	defer cancel()

	for pause := firstPause; ; pause = min(pause+pause, longestPause) {
		err := l.remove(ctx)
		if err == nil {
			return nil
		}

		if errors.Is(err, ErrDenied) {
			return fmt.Errorf("unlocking the stack: %w", err)
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("unlocking the stack: %w", err)
		case <-time.After(pause):
		}
	}
}

func (l *lock) remove(ctx context.Context) error {
	if err := l.store.Delete(ctx, l.key()); err != nil || !l.traceless {
		return err
	}

	versions, err := l.store.Versions(ctx, l.key())
	if err != nil {
		return err
	}

	return l.store.DeleteVersions(ctx, versions)
}

func superseded(fence int64) error {
	return &tenant.Failure{
		Kind:    tenant.KindLeaseLost,
		Message: fmt.Sprintf("the state belongs to a newer operation, under fence %d", fence),
		Hint:    "nothing to do: that operation goes on with the tenant",
	}
}
