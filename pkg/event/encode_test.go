package event_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestEncode(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, time.March, 1, 12, 0, 0, 5, time.UTC)

	tests := map[string]struct {
		order event.Order
		event tenant.Event
		want  string
	}{
		"created": {
			event.OrderTime,
			tenant.Event{
				ID: "e1", Source: "//s", Type: tenant.EventCreated, Tenant: "acme", Time: at, Tier: "free", Region: "eu-west-1",
				Parameters: tenant.Parameters{"seats": json.RawMessage("5")}, Extensions: map[string]string{"traceparent": "00"},
			},
			`{"specversion":"1.0","id":"e1","source":"//s","type":"lessor.tenant.created.v1","subject":"acme",` +
				`"time":"2026-03-01T12:00:00.000000005Z","datacontenttype":"application/json",` +
				`"data":{"tier":"free","region":"eu-west-1","parameters":{"seats":5}},"traceparent":"00"}`,
		},
		"a fact with its sequence": {
			event.OrderSequence,
			tenant.Event{
				ID: "e1", Source: "//s", Type: tenant.EventSuspended, Tenant: "acme", Time: at,
				Version: tenant.SequenceVersion(0, "e1", "//s"),
			},
			`{"specversion":"1.0","id":"e1","source":"//s","type":"lessor.tenant.suspended.v1","subject":"acme",` +
				`"time":"2026-03-01T12:00:00.000000005Z","datacontenttype":"application/json","data":{"sequence":0}}`,
		},
		"a request has no sequence": {
			event.OrderSequence,
			tenant.Event{
				ID: "e1", Source: "//s", Type: tenant.EventNudged, Tenant: "acme", Time: at,
				Version: tenant.TimeVersion(at, "e1", "//s"),
			},
			`{"specversion":"1.0","id":"e1","source":"//s","type":"lessor.tenant.nudged.v1","subject":"acme",` +
				`"time":"2026-03-01T12:00:00.000000005Z"}`,
		},
		"a refusal": {
			event.OrderSequence,
			tenant.Event{
				ID: "e1", Source: "//s", Type: tenant.EventCutoverConfirmed, Tenant: "acme", Time: at,
				Version: tenant.TimeVersion(at, "e1", "//s"), Token: "6JZ3Q2M5TW7Y4XKD6VQH2C5N3A", Refused: true, Reason: "rows differ",
			},
			`{"specversion":"1.0","id":"e1","source":"//s","type":"lessor.tenant.cutover-confirmed.v1","subject":"acme",` +
				`"time":"2026-03-01T12:00:00.000000005Z","datacontenttype":"application/json",` +
				`"data":{"reason":"rows differ","token":"6JZ3Q2M5TW7Y4XKD6VQH2C5N3A","accepted":false}}`,
		},
		"an approval": {
			event.OrderTime,
			tenant.Event{
				ID: "e1", Source: "//s", Type: tenant.EventApproved, Tenant: "acme", Time: at,
				Version: tenant.TimeVersion(at, "e1", "//s"), Operation: "01JQ8M7C4H8K2V5N9T3W6X0Y1Z",
			},
			`{"specversion":"1.0","id":"e1","source":"//s","type":"lessor.tenant.approved.v1","subject":"acme",` +
				`"time":"2026-03-01T12:00:00.000000005Z","datacontenttype":"application/json",` +
				`"data":{"operation":"01JQ8M7C4H8K2V5N9T3W6X0Y1Z"}}`,
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := event.Encode(tt.event, tt.order)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}

func TestEncodeRefusesWhatADecoderWould(t *testing.T) {
	t.Parallel()

	change := func(f func(*tenant.Event)) tenant.Event {
		e := tenant.Event{ID: "e1", Source: "//s", Type: tenant.EventSuspended, Tenant: "acme", Time: now()}
		f(&e)

		return e
	}

	tests := map[string]struct {
		event tenant.Event
		field string
	}{
		"no id":               {change(func(e *tenant.Event) { e.ID = "" }), "id"},
		"no time":             {change(func(e *tenant.Event) { e.Time = time.Time{} }), "time"},
		"a wrong tenant":      {change(func(e *tenant.Event) { e.Tenant = "a/b" }), "subject"},
		"an unknown type":     {change(func(e *tenant.Event) { e.Type = "born" }), "type"},
		"a tier too much":     {change(func(e *tenant.Event) { e.Tier = "free" }), "data.tier"},
		"no tier":             {change(func(e *tenant.Event) { e.Type = tenant.EventCreated }), "data.tier"},
		"an extension's name": {change(func(e *tenant.Event) { e.Extensions = map[string]string{"trace-id": "1"} }), "trace-id"},
		"a loss too much":     {change(func(e *tenant.Event) { e.AcceptDataLoss = true }), "data.acceptDataLoss"},
		"no token":            {change(func(e *tenant.Event) { e.Type = tenant.EventCutoverConfirmed }), "data.token"},
		"a token too much":    {change(func(e *tenant.Event) { e.Token = "6JZ3Q2M5TW7Y4XKD6VQH2C5N3A" }), "data.token"},
		"no operation":        {change(func(e *tenant.Event) { e.Type = tenant.EventApproved }), "data.operation"},
		"a hidden attribute":  {change(func(e *tenant.Event) { e.Extensions = map[string]string{"subject": "other"} }), "subject"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := event.Encode(tt.event, event.OrderTime)

			var invalid *event.InvalidError

			require.ErrorAs(t, err, &invalid)
			require.Equal(t, tt.field, invalid.Field)
		})
	}
}

func TestEncodeRefusesParametersThatAreNoJSON(t *testing.T) {
	t.Parallel()

	_, err := event.Encode(tenant.Event{
		ID: "e1", Source: "//s", Type: tenant.EventUpdated, Tenant: "acme", Time: now(),
		Parameters: tenant.Parameters{"a": json.RawMessage("{")},
	}, event.OrderTime)
	require.ErrorContains(t, err, `encoding event "e1"`)
}

func TestWhatIsEncodedDecodesToTheSame(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]event.Order{event.OrderTime, event.OrderSequence}).Draw(t, "order")
		want := validEvent(order).Draw(t, "event")

		body, err := event.Encode(want, order)
		require.NoError(t, err)

		got, err := newDecoder(order).Decode(body)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func validEvent(order event.Order) *rapid.Generator[tenant.Event] {
	return rapid.Custom(func(t *rapid.T) tenant.Event {
		e := tenant.Event{
			ID:     rapid.StringMatching(`[ -~é]{1,40}`).Draw(t, "id"),
			Source: rapid.StringMatching(`//[a-z]{1,9}(/[a-z0-9?&=%<>]{0,0}[a-z]{1,9})?`).Draw(t, "source"),
			Type:   rapid.SampledFrom(event.Types()).Draw(t, "type"),
			Tenant: tenant.ID(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.-]{0,62}`).Draw(t, "tenant")),
			Time:   now().Add(-time.Duration(rapid.Int64Range(0, int64(time.Hour)*24*365*20).Draw(t, "age"))),
		}

		e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)

		values := rapid.SampledFrom([]string{`null`, `1`, `-2.50`, `"\u003c \\ \n é"`, `{"a":[{}],"b":false}`, `[]`})

		//nolint:exhaustive // The other types carry nothing.
		switch e.Type {
		case tenant.EventCreated:
			e.Tier, e.Region = "enterprise", "eu-west-1"
			e.Parameters = parameters(values).Draw(t, "parameters")
		case tenant.EventTierChanged:
			e.Tier = "free"
			e.AcceptDataLoss = rapid.Bool().Draw(t, "loss")
			e.Parameters = parameters(values).Draw(t, "parameters")
		case tenant.EventUpdated:
			e.Parameters = parameters(values).Draw(t, "parameters")
		case tenant.EventDeleted:
			e.AcceptDataLoss = rapid.Bool().Draw(t, "loss")
			e.Reason = rapid.StringN(0, 20, 200).Draw(t, "reason")
		case tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire:
			e.Reason = rapid.StringN(0, 20, 200).Draw(t, "reason")
		case tenant.EventCutoverConfirmed:
			e.Token = rapid.StringMatching(`[A-Za-z0-9_-]{20,128}`).Draw(t, "token")
			e.Refused = rapid.Bool().Draw(t, "refused")
			e.Reason = rapid.StringN(0, 20, 200).Draw(t, "reason")
		case tenant.EventApproved:
			e.Operation = rapid.StringMatching(`[0-9A-HJKMNP-TV-Z]{26}`).Draw(t, "operation")
			e.Reason = rapid.StringN(0, 20, 200).Draw(t, "reason")
		}

		if order == event.OrderSequence && hasSequence(e.Type) {
			e.Version = tenant.SequenceVersion(rapid.Int64Min(0).Draw(t, "sequence"), e.ID, e.Source)
		}

		if rapid.Bool().Draw(t, "extended") {
			e.Extensions = map[string]string{"traceparent": rapid.StringN(0, 20, 200).Draw(t, "traceparent")}
		}

		return e
	})
}

// hasSequence is true of facts alone: what is asked for, answered or told by
// the clock is ordered by time.
func hasSequence(t tenant.EventType) bool {
	return !strings.HasSuffix(string(t), "-requested") && !slices.Contains([]tenant.EventType{
		tenant.EventCutoverConfirmed, tenant.EventApproved, tenant.EventNudged, tenant.EventDue,
	}, t)
}

func parameters(values *rapid.Generator[string]) *rapid.Generator[tenant.Parameters] {
	return rapid.Custom(func(t *rapid.T) tenant.Parameters {
		var out tenant.Parameters

		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching(`[A-Za-z][A-Za-z0-9_]{0,9}`), rapid.ID).Draw(t, "names") {
			if out == nil {
				out = tenant.Parameters{}
			}

			out[name] = json.RawMessage(values.Draw(t, name))
		}

		return out
	})
}
