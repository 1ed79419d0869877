package tenant_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	maxEvents  = 12
	maxAnswers = 20
	// Few instants for many events, so that equal times are common.
	instants = 6
)

func epoch() time.Time { return time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC) }

// at is the n-th second after the epoch of these tests.
func at(n int) time.Time { return epoch().Add(time.Duration(n) * time.Second) }

func fold(desired tenant.Desired, events ...tenant.Event) tenant.Desired {
	for _, e := range events {
		desired, _ = tenant.Apply(desired, e)
	}

	return desired
}

// history generates the events of one tenant. Ids are unique; times are not.
func history() *rapid.Generator[[]tenant.Event] {
	return rapid.OneOf(life(), life(), confirmations())
}

// life generates events of all types.
func life() *rapid.Generator[[]tenant.Event] {
	return rapid.Custom(func(t *rapid.T) []tenant.Event {
		n := rapid.IntRange(0, maxEvents).Draw(t, "events")
		events := make([]tenant.Event, n)

		// The order of ids must not follow the order of generation.
		ids := rapid.Permutation(numbers(n)).Draw(t, "ids")
		for i := range events {
			events[i] = event(ids[i]).Draw(t, "event")
		}

		return events
	})
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}

	return out
}

func event(id int) *rapid.Generator[tenant.Event] {
	return rapid.Custom(func(t *rapid.T) tenant.Event {
		e := tenant.Event{
			ID:     fmt.Sprintf("e%02d", id),
			Source: "//billing",
			Type:   eventType().Draw(t, "type"),
			Tenant: "acme",
			Time:   at(rapid.IntRange(0, instants).Draw(t, "second")),
		}
		e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)

		//nolint:exhaustive // The other types carry nothing.
		switch e.Type {
		case tenant.EventCreated:
			e.Tier = rapid.SampledFrom([]string{"free", "standard", "enterprise"}).Draw(t, "tier")
			e.Region = rapid.SampledFrom([]string{"eu-west-1", "us-east-1"}).Draw(t, "region")
			e.Parameters = parameters().Draw(t, "parameters")
		case tenant.EventTierChanged:
			e.Tier = rapid.SampledFrom([]string{"free", "standard", "enterprise"}).Draw(t, "tier")
			e.AcceptDataLoss = rapid.Bool().Draw(t, "acceptDataLoss")
			e.Parameters = parameters().Draw(t, "parameters")
		case tenant.EventUpdated:
			e.Parameters = parameters().Draw(t, "parameters")
		case tenant.EventDeleted:
			e.AcceptDataLoss = rapid.Bool().Draw(t, "acceptDataLoss")
			e.Reason = rapid.SampledFrom([]string{"", "contract ended"}).Draw(t, "reason")
		case tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire:
			e.Reason = rapid.SampledFrom([]string{"", "drill"}).Draw(t, "reason")
		case tenant.EventApproved:
			e.Operation = rapid.SampledFrom([]string{"01A", "01B"}).Draw(t, "operation")
		case tenant.EventCutoverConfirmed:
			e.Token = rapid.SampledFrom(tokens()).Draw(t, "token")
			e.Refused = rapid.Bool().Draw(t, "refused")
		}

		return e
	})
}

func eventType() *rapid.Generator[tenant.EventType] {
	return rapid.SampledFrom([]tenant.EventType{
		tenant.EventCreated, tenant.EventCreated, tenant.EventDeleted, tenant.EventUpdated, tenant.EventUpdated,
		tenant.EventTierChanged, tenant.EventSuspended, tenant.EventResumed, tenant.EventReprovision,
		tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire, tenant.EventDue, tenant.EventApproved,
		tenant.EventCutoverConfirmed, tenant.EventNudged,
	})
}

// tokens are a few more than Desired keeps.
func tokens() []string {
	out := make([]string, tenant.MaxConfirmations+3)
	for i := range out {
		out[i] = fmt.Sprintf("token-%02d", i)
	}

	return out
}

// confirmations generates answers to hooks alone, so that there are more than
// are kept.
func confirmations() *rapid.Generator[[]tenant.Event] {
	return rapid.Custom(func(t *rapid.T) []tenant.Event {
		ids := rapid.Permutation(numbers(rapid.IntRange(0, maxAnswers).Draw(t, "events"))).Draw(t, "ids")
		events := make([]tenant.Event, len(ids))

		for i, id := range ids {
			token := rapid.SampledFrom(tokens()).Draw(t, "token")
			events[i] = made(tenant.EventCutoverConfirmed, rapid.IntRange(0, instants).Draw(t, "second"),
				fmt.Sprintf("e%02d", id), withToken(token))
		}

		return events
	})
}

// parameters include tombstones: null removes a name.
func parameters() *rapid.Generator[tenant.Parameters] {
	return rapid.Custom(func(t *rapid.T) tenant.Parameters {
		names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"size", "seats", "labels"}), rapid.ID).Draw(t, "names")
		if len(names) == 0 {
			return nil
		}

		out := tenant.Parameters{}

		for _, name := range names {
			value := rapid.SampledFrom([]string{`null`, `1`, `"large"`, `{"team":"a"}`, `[1,2]`}).Draw(t, name)
			out[name] = json.RawMessage(value)
		}

		return out
	})
}
