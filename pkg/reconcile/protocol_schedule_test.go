package reconcile_test

import (
	"context"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// visible is how many messages can be received.
func (f *fleet) visible() int {
	name := types.QueueAttributeNameApproximateNumberOfMessages

	out, err := f.sqs.GetQueueAttributes(context.Background(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(f.url), AttributeNames: []types.QueueAttributeName{name},
	})
	f.requiref(err == nil, "counting messages: %v", err)

	n, err := strconv.Atoi(out.Attributes[string(name)])
	f.requiref(err == nil, "counting messages: %v", err)

	return n
}

// ready are the calls that can go on now. A poll of an empty queue waits.
func (f *fleet) ready() []*call {
	open := f.network.open()
	if f.visible() > 0 {
		return open
	}

	return slices.DeleteFunc(open, func(c *call) bool { return c.kind == callReceive && !c.done })
}

// step lets one thing happen.
func (f *fleet) step() {
	synctest.Wait()
	f.check()
	f.thaw(false)

	straight := f.course.strikes != nil || f.calm

	switch {
	case len(f.unsent) == 0:
	case f.soon && f.row.Lease.Owner == "":
		f.soon = false
		f.acceptNext()
	case f.due(straight):
		f.send()
	}

	if f.course.holds && !f.calm && f.row.Exists() && f.chance(0.02) {
		f.hold(f.row.Hold == "")
	}

	ready := f.ready()

	switch {
	case len(ready) == 0 && f.chance(0.5):
		f.land()
		f.network.wait(10 * time.Second)
	case len(ready) == 0:
		f.network.wait(10 * time.Second)
	case straight:
		f.progress(ready[0])
	case f.chance(f.landing()):
		f.land()
	case f.chance(0.06):
		time.Sleep(pick(f, []time.Duration{10 * time.Millisecond, time.Second, 6 * time.Second, 20 * time.Second}))
	default:
		f.progress(pick(f, ready))
	}
}

// due is whether the next event is sent.
func (f *fleet) due(straight bool) bool {
	if f.course.strikes != nil {
		return f.calls >= len(f.sent)*f.course.apart
	}

	// These have the later events come at the worst moment.
	if !f.calm && len(f.sent) > 0 {
		switch {
		case f.course.busy || f.course.sleepy:
			return f.chance(0.002)
		case f.course.slow:
			return f.chance(0.01)
		}
	}

	return straight || f.chance(0.03)
}

// landing is how likely it is that a stray call lands now.
func (f *fleet) landing() float64 {
	if f.course.slow {
		return 0.01
	}

	return 0.04
}

// land has a stray call land, or vanish.
func (f *fleet) land() {
	c := f.network.takeStray(f.random.IntN)
	if c == nil {
		return
	}

	if f.course.strikes == nil && f.chance(0.2) {
		f.notef("a stray %s of %s vanishes", c.kind, c.worker.name)

		return
	}

	_, err := c.do(context.Background())
	f.notef("a stray %s of %s lands: %v", c.kind, c.worker.name, outcomeOf(err))
}

// progress moves a call on by a step: to the store, and then back.
func (f *fleet) progress(c *call) {
	if c.done {
		f.network.reply(c, nil)

		return
	}

	number := f.calls
	f.calls++

	if c.kind == callSettle && len(f.unsent) > 0 && f.course.busy && f.chance(0.9) {
		f.acceptNext()
	}

	if strike, ok := f.strike(number, c); ok {
		f.notef("%s %s: %s", c.worker.name, c.kind, strike)
		f.hit(c, strike)

		return
	}

	f.perform(c)

	if f.course.strikes != nil || f.calm || f.chance(0.7) {
		f.network.reply(c, nil)
	}
}

func (f *fleet) perform(c *call) {
	f.network.deliver(c)
	f.notef("%s %s: %s", c.worker.name, c.kind, outcomeOf(c.err))
}

func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}

	return err.Error()
}
