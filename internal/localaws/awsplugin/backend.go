package awsplugin

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const (
	pollInterval = 100 * time.Millisecond
	firstRetry   = 20 * time.Millisecond
	longestRetry = 500 * time.Millisecond
	// dependencyPatience is how long a deletion waits for those that it
	// depends on. The real plugin waits for many minutes, which are of
	// no use on a laptop.
	dependencyPatience = 5 * time.Second
)

// backend is the cloud of local mode: the simulator for every resource, the
// emulator for those with data.
type backend struct {
	settings settings
	cloud    *cloudsim.Client
	clients  *clients
}

func newBackend(s settings) *backend {
	return &backend{settings: s, cloud: cloudsim.NewClient(s.endpoint, nil), clients: newClients(s)}
}

// create claims the resource in the simulator, with its name and the faults of
// the script, and then makes its data. A resource with an id exists even if
// there is an error.
func (b *backend) create(ctx context.Context, t *resourceType, inputs resource.PropertyMap) (cloudsim.Resource, error) {
	values := bag(plainMap(inputs))
	own := values.texts(tags)
	delete(values, tags)

	var made cloudsim.Resource

	err := b.retry(ctx, func() error {
		var err error

		made, err = b.cloud.Create(ctx, cloudsim.Creation{
			Type: t.typ, Region: b.settings.region, Inputs: values, Tags: own, Claim: t.data != nil,
		})

		return err
	}, func(err error) bool { return throttled(err) || resting(err) })
	if err != nil {
		return cloudsim.Resource{}, err
	}

	if t.data != nil {
		if made, err = b.createData(ctx, t, made, values, own); err != nil {
			return cloudsim.Resource{}, err
		}
	}

	available, err := b.await(ctx, t, made.ID)
	if err != nil {
		return made, err
	}

	return available, nil
}

func (b *backend) createData(
	ctx context.Context, t *resourceType, made cloudsim.Resource, values bag, own map[string]string,
) (cloudsim.Resource, error) {
	id, outputs, err := t.data.create(ctx, b.clients, part{id: made.ID, inputs: values, tags: own})
	if err != nil {
		// The claim is given back even when the operation was cancelled.
		release := cloudsim.Removal{Type: t.typ, Region: b.settings.region, ID: made.ID, Behind: true}
		if failed := b.cloud.Remove(context.WithoutCancel(ctx), release); failed != nil {
			return made, fmt.Errorf("%w (and giving the name back: %w)", err, failed)
		}

		return made, err
	}

	made, err = b.cloud.Change(ctx, cloudsim.Change{
		Type: t.typ, Region: b.settings.region, ID: made.ID, Completes: true, NewID: id, Outputs: outputs,
	})
	if err != nil {
		return made, fmt.Errorf("noting what the emulator made: %w", err)
	}

	return made, nil
}

// read returns the resource as it is. A key that waits for its deletion is gone.
func (b *backend) read(ctx context.Context, t *resourceType, id string) (cloudsim.Resource, bool, error) {
	var found cloudsim.Resource

	err := b.retry(ctx, func() error {
		var err error

		found, err = b.cloud.Get(ctx, t.typ, b.settings.region, id)

		return err
	}, throttled)

	switch {
	case cloudsim.IsNotFound(err):
		return cloudsim.Resource{}, false, nil
	case err != nil:
		return cloudsim.Resource{}, false, err
	default:
		return found, found.State != cloudsim.StatePendingDeletion, nil
	}
}

func (b *backend) update(ctx context.Context, t *resourceType, id string, inputs resource.PropertyMap) (cloudsim.Resource, error) {
	values := bag(plainMap(inputs))
	own := values.texts(tags)
	delete(values, tags)

	err := b.retry(ctx, func() error {
		_, err := b.cloud.Change(ctx, cloudsim.Change{Type: t.typ, Region: b.settings.region, ID: id, Inputs: values, Tags: own})

		return err
	}, throttled)
	if err != nil {
		return cloudsim.Resource{}, err
	}

	if t.data != nil && t.data.update != nil {
		if err := t.data.update(ctx, b.clients, part{id: id, inputs: values, tags: own}); err != nil {
			return cloudsim.Resource{}, err
		}
	}

	return b.await(ctx, t, id)
}

// remove deletes the resource and returns when it is gone. One that is not
// there is gone.
func (b *backend) remove(ctx context.Context, t *resourceType, id string, olds resource.PropertyMap) error {
	values := bag(plainMap(olds))
	gone := part{id: id, inputs: values}

	if t.data != nil && t.data.vacate != nil {
		if err := t.data.vacate(ctx, b.clients, gone); err != nil && !absent(err) {
			return err
		}
	}

	if err := b.drain(ctx, t, id); err != nil {
		return err
	}

	patience := time.Now().Add(dependencyPatience)

	err := b.retry(ctx, func() error {
		return b.cloud.Remove(ctx, cloudsim.Removal{Type: t.typ, Region: b.settings.region, ID: id, Arguments: values})
	}, func(err error) bool { return throttled(err) || inUse(err) && time.Now().Before(patience) })
	if err != nil && !cloudsim.IsNotFound(err) {
		return err
	}

	if err := b.awaitGone(ctx, t, id); err != nil {
		return err
	}

	if t.data != nil && t.data.remove != nil {
		if err := t.data.remove(ctx, b.clients, gone); err != nil && !absent(err) {
			return err
		}
	}

	return nil
}

// drain changes a resource so that it can be deleted.
func (b *backend) drain(ctx context.Context, t *resourceType, id string) error {
	if t.drain == nil {
		return nil
	}

	found, exists, err := b.read(ctx, t, id)
	if err != nil || !exists {
		return err
	}

	maps.Copy(found.Inputs, t.drain)

	return b.retry(ctx, func() error {
		_, err := b.cloud.Change(ctx, cloudsim.Change{Type: t.typ, Region: b.settings.region, ID: id, Inputs: found.Inputs})

		return err
	}, throttled)
}

func (b *backend) awaitGone(ctx context.Context, t *resourceType, id string) error {
	for {
		_, exists, err := b.read(ctx, t, id)
		if err != nil || !exists {
			return err
		}

		if err := pause(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// await returns the resource once it is available.
func (b *backend) await(ctx context.Context, t *resourceType, id string) (cloudsim.Resource, error) {
	for {
		r, exists, err := b.read(ctx, t, id)

		switch {
		case err != nil:
			return r, err
		case !exists:
			return r, fmt.Errorf("%w: it vanished while it was waited for", errVanished)
		case r.State == cloudsim.StateAvailable:
			return r, nil
		}

		if err := pause(ctx, pollInterval); err != nil {
			return r, err
		}
	}
}

// retry repeats what AWS's SDK or the real plugin would repeat.
func (b *backend) retry(ctx context.Context, do func() error, again func(error) bool) error {
	delay := firstRetry

	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil || !again(err) || throttled(err) && attempt >= b.settings.maxRetries {
			return err
		}

		if failed := pause(ctx, delay/2+rand.N(delay)); failed != nil { //nolint:gosec // jitter
			return fmt.Errorf("%w, after: %w", failed, err)
		}

		delay = min(2*delay, longestRetry) //nolint:mnd // doubling
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
