package enqueuecli

import (
	"fmt"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// source is where events of this program come from, in CloudEvents' sense.
const source = "/lessor/enqueue"

// message is an event that was checked and is ready to be sent.
type message struct {
	event tenant.Event
	body  []byte
	// line is where it stands in its file, 0 if it was made here.
	line int
}

// compose stamps an event, encodes it and checks the result as a worker would.
func (a *app) compose(e tenant.Event, rec tenant.Record, order event.Order) (message, error) {
	now := a.now().UTC()
	e.Source = source
	stamp(&e, rec.Desired, order, now)

	body, err := event.Encode(e, order)
	if err != nil {
		return message{}, fmt.Errorf("encoding the event: %w", err)
	}

	decoded, err := event.NewDecoder(order, a.now).Decode(body)
	if err != nil {
		if e.Time.After(now) {
			return message{}, fail(exitConflict, "set the clock of this machine right",
				"what is known of %s is of %s, but here it is %s: an event from here would be stale, or refused as one from the future",
				e.Tenant, e.Time.Format(time.RFC3339), now.Format(time.RFC3339))
		}

		return message{}, fmt.Errorf("checking the event: %w", err)
	}

	return message{event: decoded, body: body}, nil
}

// stamp gives the event a time and a version that win over every fact the row
// knows, so that an engineer is never locked out by events with a time ahead
// of this clock or with a high sequence.
func stamp(e *tenant.Event, desired tenant.Desired, order event.Order, now time.Time) {
	newest, fact := rival(*e, desired)
	if !fact {
		order = event.OrderTime
	}

	e.Time = now

	if order == event.OrderSequence {
		e.Version = tenant.SequenceVersion(newest.N+1, e.ID, e.Source)

		return
	}

	if e.Type != tenant.EventNudged && newest.N >= now.UnixNano() {
		e.Time = time.Unix(0, newest.N+1).UTC()
	}

	e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)
}

// rival is the version that an event has to win over, and whether it is one of
// facts. Requests and answers compete with their kind only.
func rival(e tenant.Event, desired tenant.Desired) (newest tenant.Version, fact bool) {
	switch kind, request := requestKind(e.Type); {
	case request:
		return desired.Requests[kind].Version, false
	case e.Type == tenant.EventCutoverConfirmed:
		return desired.Confirmations[tenant.TokenDigest(e.Token)].Version, false
	case e.Type == tenant.EventApproved:
		return desired.Approval.Version, false
	}

	return desired.Newest(), true
}

func requestKind(t tenant.EventType) (tenant.RequestKind, bool) {
	switch t {
	case tenant.EventReprovision:
		return tenant.RequestReprovision, true
	case tenant.EventRefresh:
		return tenant.RequestRefresh, true
	case tenant.EventPreview:
		return tenant.RequestPreview, true
	case tenant.EventRetire:
		return tenant.RequestRetire, true
	case tenant.EventDue:
		return tenant.RequestDue, true
	case tenant.EventCreated, tenant.EventUpdated, tenant.EventTierChanged, tenant.EventSuspended, tenant.EventResumed,
		tenant.EventDeleted, tenant.EventCutoverConfirmed, tenant.EventApproved, tenant.EventNudged:
	}

	return "", false
}

// versions lists the version of everything that desired remembers.
func versions(d tenant.Desired) []tenant.Version {
	all := slices.Grow([]tenant.Version{
		d.Existence.Version, d.Suspended.Version, d.Tier.Version, d.Region.Version, d.Floor, d.Approval.Version,
	}, len(d.Parameters)+len(d.Requests)+len(d.Confirmations))

	for _, p := range d.Parameters {
		all = append(all, p.Version)
	}

	for _, r := range d.Requests {
		all = append(all, r.Version)
	}

	for _, c := range d.Confirmations {
		all = append(all, c.Version)
	}

	return all
}

// contains reports whether something that the event says is what desired says.
func contains(d tenant.Desired, e tenant.Event) bool {
	return slices.Contains(versions(d), e.Version)
}

// accepted reports whether an event of this id was accepted before, whatever
// its time.
func accepted(d tenant.Desired, id string) bool {
	tie := tenant.SequenceVersion(0, id, source).Tie
	for _, v := range versions(d) {
		if v.Tie == tie {
			return true
		}
	}

	return false
}

// verdict is what became of an event.
type verdict string

const (
	// verdictSent: the queue has it.
	verdictSent verdict = "sent"
	// verdictDuplicate: it was accepted before.
	verdictDuplicate verdict = "duplicate"
	// verdictStale: all it says is older than what is known.
	verdictStale verdict = "stale"
	// verdictKept: it is known, but the tenant was never created.
	verdictKept verdict = "kept"
	// verdictSettled and verdictFailed: how the work ended.
	verdictSettled verdict = "settled"
	verdictFailed  verdict = "failed"
)

// foresee says what an event will change in this row: a duplicate and a stale
// event change nothing, and only a row that was read before the event was sent
// can tell them from one that was just accepted.
func foresee(rec tenant.Record, e tenant.Event) verdict {
	if e.Type == tenant.EventNudged {
		return verdictSent
	}

	if _, changed := tenant.Apply(rec.Desired, e); changed {
		return verdictSent
	}

	if contains(rec.Desired, e) {
		return verdictDuplicate
	}

	return verdictStale
}
