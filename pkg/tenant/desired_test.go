package tenant_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestSpec(t *testing.T) {
	t.Parallel()

	active := func(tier string, parameters tenant.Parameters) tenant.Spec {
		return tenant.Spec{Phase: tenant.PhaseActive, Tier: tier, Region: "eu-west-1", Parameters: parameters}
	}

	tests := map[string]struct {
		events []tenant.Event
		want   tenant.Spec
	}{
		"nobody spoke of it": {
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"changes without a creation are no tenant": {
			events: []tenant.Event{
				made(tenant.EventTierChanged, 1, "a", withTier("enterprise")),
				made(tenant.EventUpdated, 2, "b", withParameters(`{"size":1}`)),
				made(tenant.EventResumed, 3, "c"),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"a tier change that overtook the creation counts": {
			events: []tenant.Event{
				made(tenant.EventTierChanged, 2, "b", withTier("enterprise")),
				made(tenant.EventCreated, 1, "a", withTier("free")),
			},
			want: active("enterprise", nil),
		},
		"a tier change brings parameters": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a", withParameters(`{"size":1,"seats":2}`)),
				made(tenant.EventTierChanged, 2, "b", withTier("enterprise"), withParameters(`{"size":9}`)),
			},
			want: active("enterprise", params(`{"size":9,"seats":2}`)),
		},
		"an update replaces a parameter as a whole": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a", withParameters(`{"labels":{"a":1,"b":2}}`)),
				made(tenant.EventUpdated, 2, "b", withParameters(`{"labels":{"c":3}}`)),
			},
			want: active("standard", params(`{"labels":{"c":3}}`)),
		},
		"null removes a parameter": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a", withParameters(`{"size":1,"seats":2}`)),
				made(tenant.EventUpdated, 2, "b", withParameters(`{"size":null}`)),
			},
			want: active("standard", params(`{"seats":2}`)),
		},
		"a removed parameter is not brought back by an older update": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventUpdated, 3, "c", withParameters(`{"size":null}`)),
				made(tenant.EventUpdated, 2, "b", withParameters(`{"size":7}`)),
			},
			want: active("standard", nil),
		},
		"a removed parameter can be set again": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a", withParameters(`{"size":null}`)),
				made(tenant.EventUpdated, 2, "b", withParameters(`{"size":7}`)),
			},
			want: active("standard", params(`{"size":7}`)),
		},
		"suspended and resumed": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventResumed, 3, "c"),
				made(tenant.EventSuspended, 2, "b"),
			},
			want: active("standard", nil),
		},
		"suspended": {
			events: []tenant.Event{
				made(tenant.EventSuspended, 2, "b"),
				made(tenant.EventCreated, 1, "a"),
			},
			want: tenant.Spec{Phase: tenant.PhaseSuspended, Tier: "standard", Region: "eu-west-1"},
		},
		"resume after delete does not resurrect": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventSuspended, 2, "b"),
				made(tenant.EventDeleted, 3, "c"),
				made(tenant.EventResumed, 4, "d"),
				made(tenant.EventUpdated, 5, "e", withParameters(`{"size":1}`)),
				made(tenant.EventTierChanged, 6, "f", withTier("enterprise")),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"requests do not resurrect": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventDeleted, 2, "b"),
				made(tenant.EventReprovision, 3, "c"),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"a deletion that accepts the loss of data": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventDeleted, 2, "b", withDataLoss()),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent, AcceptDataLoss: true},
		},
		"the newest deletion decides on the loss of data": {
			events: []tenant.Event{
				made(tenant.EventDeleted, 3, "c"),
				made(tenant.EventDeleted, 2, "b", withDataLoss()),
				made(tenant.EventCreated, 1, "a"),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"a change that accepts the loss of data": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventTierChanged, 2, "b", withTier("free"), withDataLoss()),
			},
			want: tenant.Spec{Phase: tenant.PhaseActive, Tier: "free", Region: "eu-west-1", AcceptDataLoss: true},
		},
		"the next change has to accept it again": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventTierChanged, 2, "b", withTier("free"), withDataLoss()),
				made(tenant.EventTierChanged, 3, "c", withTier("standard")),
			},
			want: active("standard", nil),
		},
		"a change that accepts the loss does not speak for a deletion": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventTierChanged, 2, "b", withTier("free"), withDataLoss()),
				made(tenant.EventDeleted, 3, "c"),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"answers and wishes do not resurrect": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a"),
				made(tenant.EventDeleted, 2, "b"),
				made(tenant.EventCutoverConfirmed, 3, "c", withToken("one")),
				made(tenant.EventApproved, 4, "d", withOperation("01A")),
				made(tenant.EventRetire, 5, "e"),
				made(tenant.EventDue, 6, "f"),
			},
			want: tenant.Spec{Phase: tenant.PhaseAbsent},
		},
		"a second life starts clean": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "a", withTier("enterprise"), withRegion("us-east-1"), withParameters(`{"size":1}`)),
				made(tenant.EventSuspended, 2, "b"),
				made(tenant.EventDeleted, 3, "c", withDataLoss()),
				made(tenant.EventCreated, 4, "d", withTier("free"), withParameters(`{"seats":3}`)),
			},
			want: active("free", params(`{"seats":3}`)),
		},
		"what was said between two lives is forgotten": {
			events: []tenant.Event{
				made(tenant.EventCreated, 5, "e", withTier("free")),
				made(tenant.EventTierChanged, 4, "d", withTier("enterprise")),
				made(tenant.EventUpdated, 4, "c", withParameters(`{"size":1}`)),
				made(tenant.EventSuspended, 4, "b"),
				made(tenant.EventDeleted, 3, "a"),
			},
			want: active("free", nil),
		},
		"of two creations at the same time the greater id counts": {
			events: []tenant.Event{
				made(tenant.EventCreated, 1, "b", withTier("enterprise")),
				made(tenant.EventCreated, 1, "a", withTier("free"), withParameters(`{"size":1}`)),
			},
			want: active("enterprise", nil),
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for order := range firstPermutations(tt.events) {
				require.Equal(t, tt.want, fold(tenant.Desired{}, order...).Spec(), "order %v", ids(order))
			}
		})
	}
}

func TestDesiredSurvivesJSON(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		want := fold(tenant.Desired{}, history().Draw(t, "history")...)

		text, err := json.Marshal(want)
		require.NoError(t, err)

		var got tenant.Desired
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
		require.Equal(t, want.Spec(), got.Spec())
	})
}

// A tombstone that got lost on the way through the row would let an older
// update bring the parameter back.
func TestTombstonesSurviveJSON(t *testing.T) {
	t.Parallel()

	text, err := json.Marshal(fold(tenant.Desired{},
		made(tenant.EventCreated, 1, "a"),
		made(tenant.EventUpdated, 3, "c", withParameters(`{"size":null}`)),
	))
	require.NoError(t, err)

	var got tenant.Desired
	require.NoError(t, json.Unmarshal(text, &got))

	got, changed := tenant.Apply(got, made(tenant.EventUpdated, 2, "b", withParameters(`{"size":7}`)))
	require.False(t, changed)
	require.Empty(t, got.Spec().Parameters)
}

func TestNewestIsTheNewestFact(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		events := history().Draw(t, "history")

		var want tenant.Version

		for _, e := range events {
			if isFact(e) && e.Version.After(want) {
				want = e.Version
			}
		}

		got := fold(tenant.Desired{}, events...).Newest()
		require.Equal(t, want, got)
	})
}

// isFact also leaves out an update that says nothing.
func isFact(e tenant.Event) bool {
	switch e.Type {
	case tenant.EventUpdated:
		return len(e.Parameters) > 0
	case tenant.EventCreated, tenant.EventTierChanged, tenant.EventSuspended, tenant.EventResumed, tenant.EventDeleted:
		return true
	case tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire, tenant.EventDue,
		tenant.EventCutoverConfirmed, tenant.EventApproved, tenant.EventNudged:
		return false
	}

	return false
}
