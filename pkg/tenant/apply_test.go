package tenant_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestApplyGivesTheSameDesiredInAnyOrderAndWithRepetitions(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		events := history().Draw(t, "history")
		want := fold(tenant.Desired{}, events...)

		repeated := slices.Clone(events)
		if len(events) > 0 {
			repeated = append(repeated, rapid.SliceOfN(rapid.SampledFrom(events), 0, maxEvents).Draw(t, "repetitions")...)
		}

		shuffled := rapid.Permutation(repeated).Draw(t, "order")

		require.Equal(t, want, fold(tenant.Desired{}, shuffled...))
	})
}

// Small histories are tried in every order there is, not only in drawn ones.
func TestApplyGivesTheSameDesiredInEveryPermutation(t *testing.T) {
	t.Parallel()

	tests := map[string][]tenant.Event{
		"updates before creation": {
			made(tenant.EventCreated, 2, "a", withTier("free"), withParameters(`{"size":1}`)),
			made(tenant.EventUpdated, 1, "b", withParameters(`{"size":2,"seats":5}`)),
			made(tenant.EventUpdated, 3, "c", withParameters(`{"size":3}`)),
			made(tenant.EventTierChanged, 1, "d", withTier("enterprise")),
			made(tenant.EventTierChanged, 4, "e", withTier("standard")),
		},
		"delete then create": {
			made(tenant.EventCreated, 1, "a", withTier("free"), withParameters(`{"size":1}`)),
			made(tenant.EventSuspended, 2, "b"),
			made(tenant.EventDeleted, 3, "c"),
			made(tenant.EventCreated, 4, "d", withTier("standard"), withParameters(`{"seats":2}`)),
			made(tenant.EventUpdated, 5, "e", withParameters(`{"seats":null}`)),
		},
		"equal times": {
			made(tenant.EventCreated, 1, "b", withTier("free"), withParameters(`{"size":1}`)),
			made(tenant.EventCreated, 1, "d", withTier("standard"), withParameters(`{"size":2}`)),
			made(tenant.EventUpdated, 1, "a", withParameters(`{"size":3}`)),
			made(tenant.EventUpdated, 1, "c", withParameters(`{"size":4}`)),
			made(tenant.EventDeleted, 1, "e"),
		},
		"a creation that wipes every parameter": {
			made(tenant.EventUpdated, 1, "a", withParameters(`{"size":1}`)),
			made(tenant.EventCreated, 2, "b", withTier("free")),
		},
		"requests": {
			made(tenant.EventReprovision, 1, "a"),
			made(tenant.EventReprovision, 2, "b"),
			made(tenant.EventRefresh, 1, "c"),
			made(tenant.EventPreview, 1, "d"),
			made(tenant.EventNudged, 9, "e"),
		},
		"wishes of people and of the clock": {
			made(tenant.EventRetire, 1, "a"),
			made(tenant.EventRetire, 3, "b", withReason("signed off")),
			made(tenant.EventDue, 2, "c"),
			made(tenant.EventDue, 2, "d"),
			made(tenant.EventApproved, 4, "e", withOperation("01B")),
			made(tenant.EventApproved, 3, "f", withOperation("01A")),
		},
		"answers to one hook": {
			made(tenant.EventCutoverConfirmed, 1, "a", withToken("one")),
			made(tenant.EventCutoverConfirmed, 2, "b", withToken("one"), withRefusal("rows differ")),
			made(tenant.EventCutoverConfirmed, 2, "c", withToken("two")),
			made(tenant.EventCutoverConfirmed, 1, "d", withToken("two"), withRefusal("disk full")),
		},
		"changes that do and do not accept the loss of data": {
			made(tenant.EventTierChanged, 2, "a", withTier("free"), withDataLoss()),
			made(tenant.EventTierChanged, 3, "b", withTier("standard")),
			made(tenant.EventTierChanged, 1, "c", withTier("standard"), withDataLoss()),
			made(tenant.EventCreated, 2, "d", withTier("enterprise")),
		},
	}

	for name, events := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			want := fold(tenant.Desired{}, events...)
			count := 0

			for order := range permutations(events) {
				require.Equal(t, want, fold(tenant.Desired{}, order...), "order %v", ids(order))

				count++
			}

			require.Equal(t, factorial(len(events)), count)
		})
	}
}

// Whoever folds two halves apart and replays one onto the other gets what the
// whole would have given.
func TestApplyIsAssociative(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		events := history().Draw(t, "history")
		cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
		first, second := events[:cut], events[cut:]

		whole := fold(tenant.Desired{}, events...)

		require.Equal(t, whole, fold(fold(tenant.Desired{}, first...), second...))
		require.Equal(t, whole, fold(fold(tenant.Desired{}, second...), first...))
		require.Equal(t, whole, fold(whole, second...), "replaying a half onto the whole changes nothing")
	})
}

func TestApplyReportsAChangeExactlyIfThereIsOne(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		desired := fold(tenant.Desired{}, history().Draw(t, "history")...)
		e := event(maxAnswers).Draw(t, "next")

		after, changed := tenant.Apply(desired, e)
		require.Equal(t, !reflect.DeepEqual(desired, after), changed)

		again, changed := tenant.Apply(after, e)
		require.False(t, changed)
		require.Equal(t, after, again)
	})
}

func TestApplyLeavesItsArgumentsAlone(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		events := history().Draw(t, "history")
		desired, twin := fold(tenant.Desired{}, events...), fold(tenant.Desired{}, events...)
		e := event(maxAnswers).Draw(t, "next")

		after, _ := tenant.Apply(desired, e)
		want, err := json.Marshal(after)
		require.NoError(t, err)
		require.Equal(t, twin, desired)

		// Neither does the result share memory with the event.
		for _, value := range e.Parameters {
			for i := range value {
				value[i] = '!'
			}
		}

		got, err := json.Marshal(after)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

// The fold is judged by an interpreter that knows nothing of versions: it gets
// the events in their true order and does what each says.
// A new answer pushes the oldest one out of what is full, in the result alone.
func TestApplyLeavesAFullSetOfConfirmationsAlone(t *testing.T) {
	t.Parallel()

	full := func() tenant.Desired {
		desired := tenant.Desired{}
		for i := range tenant.MaxConfirmations {
			desired = fold(desired, made(tenant.EventCutoverConfirmed, i, "e", withToken(tokens()[i])))
		}

		return desired
	}

	desired := full()
	after := fold(desired, made(tenant.EventCutoverConfirmed, tenant.MaxConfirmations, "e", withToken("new")))
	require.Contains(t, after.Confirmations, tenant.TokenDigest("new"))
	require.Len(t, after.Confirmations, tenant.MaxConfirmations)
	require.Equal(t, full(), desired)
}

func TestApplyMeansWhatTheEventsSayInTheirTrueOrder(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		events := history().Draw(t, "history")

		ordered := slices.Clone(events)
		slices.SortFunc(ordered, func(a, b tenant.Event) int { return a.Version.Compare(b.Version) })

		require.Equal(t, interpret(ordered), fold(tenant.Desired{}, events...).Spec())
	})
}

func TestApplyIgnoresNudges(t *testing.T) {
	t.Parallel()

	desired, changed := tenant.Apply(tenant.Desired{}, made(tenant.EventNudged, 1, "a"))
	require.False(t, changed)
	require.Equal(t, tenant.Desired{}, desired)
}

func TestApplyKeepsTheNewestRequestOfEachKind(t *testing.T) {
	t.Parallel()

	desired := fold(tenant.Desired{},
		made(tenant.EventReprovision, 5, "new", withReason("patch")),
		made(tenant.EventReprovision, 4, "old"),
		made(tenant.EventRefresh, 1, "drift"),
	)

	require.Equal(t, tenant.Request{EventID: "new", Reason: "patch"}, desired.Requests[tenant.RequestReprovision].Value)
	require.Equal(t, tenant.Request{EventID: "drift"}, desired.Requests[tenant.RequestRefresh].Value)
	require.NotContains(t, desired.Requests, tenant.RequestPreview)
	require.True(t, desired.Newest().IsZero(), "requests are no facts")
}

func TestApplyKeepsWishesOfPeopleAndOfTheClockApart(t *testing.T) {
	t.Parallel()

	desired := fold(tenant.Desired{},
		made(tenant.EventRetire, 1, "people", withReason("signed off")),
		made(tenant.EventDue, 9, "clock"),
	)

	require.Equal(t, tenant.Request{EventID: "people", Reason: "signed off"}, desired.Requests[tenant.RequestRetire].Value)
	require.Equal(t, tenant.Request{EventID: "clock"}, desired.Requests[tenant.RequestDue].Value)
	require.Len(t, desired.Requests, 2)
}

func TestApplyKeepsTheNewestApproval(t *testing.T) {
	t.Parallel()

	desired := fold(tenant.Desired{},
		made(tenant.EventApproved, 5, "a", withOperation("01B"), withReason("seen")),
		made(tenant.EventApproved, 4, "b", withOperation("01A")),
	)

	require.Equal(t, tenant.Approval{Operation: "01B", Reason: "seen"}, desired.Approval.Value)
	require.True(t, desired.Newest().IsZero(), "answers are no facts")
}

// The row must not say how a hook may be answered.
func TestApplyKeepsNoToken(t *testing.T) {
	t.Parallel()

	const token = "7KX4R3N6VX8Z5YME7WRJ3D6P4B"

	desired := fold(tenant.Desired{},
		made(tenant.EventCutoverConfirmed, 1, "a", withToken(token), withRefusal("rows differ")))

	require.Equal(t, tenant.Confirmation{Refused: true, Reason: "rows differ"},
		desired.Confirmations[tenant.TokenDigest(token)].Value)
	require.True(t, desired.Newest().IsZero(), "answers are no facts")

	text, err := json.Marshal(desired)
	require.NoError(t, err)
	require.NotContains(t, string(text), token)
}

// What somebody without a token sends can push no newer answer out, nor fill
// the row.
func TestApplyKeepsTheNewestConfirmations(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		answers := confirmations().Draw(t, "answers")

		newest := map[string]tenant.Version{}
		for _, e := range answers {
			if token := tenant.TokenDigest(e.Token); e.Version.After(newest[token]) {
				newest[token] = e.Version
			}
		}

		order := slices.SortedFunc(maps.Values(newest), func(a, b tenant.Version) int { return b.Compare(a) })
		want := order[:min(len(order), tenant.MaxConfirmations)]

		desired := fold(tenant.Desired{}, rapid.Permutation(answers).Draw(t, "order")...)

		got := make([]tenant.Version, 0, len(desired.Confirmations))

		for token, field := range desired.Confirmations {
			require.Equal(t, newest[token], field.Version)

			got = append(got, field.Version)
		}

		require.ElementsMatch(t, want, got)
	})
}

// interpret is the reference: one event after the other, oldest first.
func interpret(events []tenant.Event) tenant.Spec {
	var (
		state     tenant.Spec
		exists    bool
		dropsAll  bool
		suspended bool
	)

	for _, e := range events {
		switch e.Type {
		case tenant.EventCreated:
			exists, suspended = true, false
			state = tenant.Spec{Tier: e.Tier, Region: e.Region}
			state.Parameters = merge(state.Parameters, e.Parameters)
		case tenant.EventDeleted:
			exists, dropsAll = false, e.AcceptDataLoss
		case tenant.EventTierChanged:
			state.Tier, state.AcceptDataLoss = e.Tier, e.AcceptDataLoss
			state.Parameters = merge(state.Parameters, e.Parameters)
		case tenant.EventUpdated:
			state.Parameters = merge(state.Parameters, e.Parameters)
		case tenant.EventSuspended:
			suspended = true
		case tenant.EventResumed:
			suspended = false
		case tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire, tenant.EventDue,
			tenant.EventCutoverConfirmed, tenant.EventApproved, tenant.EventNudged:
		}
	}

	switch {
	case !exists:
		return tenant.Spec{Phase: tenant.PhaseAbsent, AcceptDataLoss: dropsAll}
	case suspended:
		state.Phase = tenant.PhaseSuspended
	default:
		state.Phase = tenant.PhaseActive
	}

	return state
}

func merge(into, from tenant.Parameters) tenant.Parameters {
	out := tenant.Parameters{}

	for _, parameters := range []tenant.Parameters{into, from} {
		for name, value := range parameters {
			if string(value) == "null" {
				delete(out, name)
			} else {
				out[name] = value
			}
		}
	}

	if len(out) == 0 {
		return nil
	}

	return out
}
