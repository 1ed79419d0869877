package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

// kind is a reason for which an event needs no operation.
type kind int

const (
	duplicate kind = iota
	stale
	handedOver
)

func (k kind) String() string { return [...]string{"duplicate", "stale", "handed over"}[k] }

// idle is a fleet whose events need no operation: some of its tenants are
// settled, and others are held by somebody who is not a worker of it.
type idle struct {
	fleet   *bed.Fleet
	counter *bed.Counter
	client  *sqs.Client

	settled, held []tenant.ID
	// created are the events that made the settled ones.
	created [][]byte
	sent    int
}

const (
	// idleTenants are as many as are settled, and as are held. Neighbours in the
	// queue are of different tenants.
	idleTenants = 8
	// idleSlots are few enough that what a worker receives at once fits into one
	// read of its connection. A server on the same machine answers so soon that the
	// SDK closes the connection in the middle of a longer answer now and then, as
	// bed.Loop tells, and the messages in it are lost for a visibility timeout.
	idleSlots = 3
)

func newIdle(ctx context.Context, l *lab) (*idle, error) {
	counter, err := l.NewCounter()
	if err != nil {
		return nil, err
	}

	f, err := l.NewFleet(ctx, bed.FleetOptions{
		Catalog: benchCatalog, Counter: counter,
		Variables: []string{fmt.Sprintf("LESSOR_MAX_SLOTS=%d", idleSlots), "LESSOR_POLL_WAIT=1s", "LESSOR_VISIBILITY_TIMEOUT=20s"},
	})
	if err != nil {
		return nil, err
	}

	i := &idle{fleet: f, counter: counter, client: sqs.NewFromConfig(l.AWS())}

	if err := i.settle(ctx, l); err != nil {
		return nil, errors.Join(err, f.Close())
	}

	if err := i.hold(ctx, l); err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return i, nil
}

// settle makes tenants with which everything is done, and leaves no worker.
func (i *idle) settle(ctx context.Context, l *lab) error {
	if _, err := i.fleet.Start(ctx); err != nil {
		return err
	}

	for range idleTenants {
		id := tenant.ID(l.Name("settled"))

		body, err := i.fleet.Event(tenant.EventCreated, id, func(e *tenant.Event) { e.Tier = bare })
		if err != nil {
			return err
		}

		if _, err := i.fleet.Queue.Send(ctx, body); err != nil {
			return err
		}

		i.settled, i.created = append(i.settled, id), append(i.created, body)
	}

	for _, id := range i.settled {
		if _, err := i.fleet.Settled(ctx, id, 1); err != nil {
			return err
		}
	}

	return i.fleet.Close()
}

// hold takes the leases of tenants that have work to do, as another worker does
// for the time of an operation.
func (i *idle) hold(ctx context.Context, l *lab) error {
	const duration, margin = time.Hour, time.Minute

	leases := lease.New(dynamodb.NewFromConfig(l.AWS()), i.fleet.Table, lease.Config{Duration: duration, Margin: margin})
	decoder := event.NewDecoder(event.OrderTime, time.Now)

	for range idleTenants {
		id := tenant.ID(l.Name("held"))

		body, err := i.fleet.Event(tenant.EventCreated, id, func(e *tenant.Event) { e.Tier = bare })
		if err != nil {
			return err
		}

		e, err := decoder.Decode(body)
		if err != nil {
			return fmt.Errorf("reading an event: %w", err)
		}

		rec, _, err := i.fleet.Rows.Accept(ctx, e)
		if err != nil {
			return err
		}

		if _, err := leases.Acquire(ctx, rec, "of another worker"); err != nil {
			return err
		}

		i.held = append(i.held, id)
	}

	return nil
}

// body makes the next event of a kind.
func (i *idle) body(k kind) ([]byte, error) {
	i.sent++
	at := i.sent % idleTenants

	switch k {
	case duplicate:
		return i.created[at], nil
	case stale:
		return i.fleet.Event(tenant.EventUpdated, i.settled[at], func(e *tenant.Event) {
			e.Time = e.Time.Add(-time.Hour)
			e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)
			e.Parameters = tenant.Parameters{parameterColor: quote("late")}
		})
	case handedOver:
	}

	return i.fleet.Event(tenant.EventUpdated, i.held[at], func(e *tenant.Event) {
		e.Parameters = tenant.Parameters{parameterNote: quote(strconv.Itoa(i.sent))}
	})
}

// fill puts events of a kind into the queue.
func (i *idle) fill(ctx context.Context, k kind, events int) error {
	const batch = 10

	for done := 0; done < events; done += batch {
		entries := make([]types.SendMessageBatchRequestEntry, min(batch, events-done))

		for n := range entries {
			body, err := i.body(k)
			if err != nil {
				return err
			}

			entries[n] = types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(n)), MessageBody: aws.String(string(body))}
		}

		out, err := i.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &i.fleet.QueueURL, Entries: entries})
		if err != nil {
			return fmt.Errorf("sending events: %w", err)
		}

		if len(out.Failed) > 0 {
			return fmt.Errorf("sending events: %s", *out.Failed[0].Code) //nolint:err113 // nobody handles it
		}
	}

	return nil
}

// emptied is how a process emptied the queue.
type emptied struct {
	// events are those that were measured, without the first.
	events    int
	took, cpu time.Duration
	calls     bed.Calls
	// processes are those of the CLI for all of them.
	processes int
}

func (e emptied) rate() float64 { return float64(e.events) / e.took.Seconds() }

func (e emptied) cpuEach() float64 { return e.cpu.Seconds() / float64(e.events) }

// each is how often an operation of AWS was called for one event.
func (e emptied) each(operation string) float64 {
	return hundredth(float64(e.calls.Where(func(c bed.Call) bool { return c.Operation == operation })) / float64(e.events))
}

// hundredth rounds requests per event: a worker also looks at the fleet's own row
// now and then.
func hundredth(value float64) float64 {
	const hundredths = 100

	return math.Round(hundredths*value) / hundredths
}

// empty watches a process delete so many messages. The first tenth does not
// count: connections are made and a worker gets ready.
func empty(ctx context.Context, l *lab, events int, start func() (pid int, err error)) (emptied, error) {
	const warm = 10

	before := l.Wire.Calls()

	pid, err := start()
	if err != nil {
		return emptied{}, err
	}

	first, err := deleted(ctx, l, before, events/warm, pid)
	if err != nil {
		return emptied{}, err
	}

	last, err := deleted(ctx, l, before, events, pid)
	if err != nil {
		return emptied{}, err
	}

	for call, n := range first.calls {
		last.calls[call] -= n
	}

	return emptied{events: last.events - first.events, took: last.took - first.took, cpu: last.cpu - first.cpu, calls: last.calls}, nil
}

// deleted returns once so many messages were deleted, with all figures since
// before; took is a moment.
func deleted(ctx context.Context, l *lab, before bed.Calls, events, pid int) (emptied, error) {
	const (
		lookEvery = 2 * time.Millisecond
		patience  = 2 * time.Minute
	)

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()

	for {
		calls := l.Wire.Since(before)
		count := calls.Where(func(c bed.Call) bool { return c.Operation == "DeleteMessage" })

		if count >= events {
			cpu, err := bed.CPU(pid)

			return emptied{events: count, took: time.Duration(time.Now().UnixNano()), cpu: cpu, calls: calls}, err
		}

		select {
		case <-ctx.Done():
			return emptied{}, fmt.Errorf("waiting for %d of %d events: %w", events-count, events, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
