package plan_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// maxPlans is more than any tenant needs that nothing disturbs.
const maxPlans = 10

// rest does what is left to do while nothing goes wrong.
func (l *life) rest(t *rapid.T, answers bool) {
	l.faultless = true
	started := l.operations

	for range maxPlans {
		l.due(t)

		if !l.rec.NeedsWork() && l.rec.DueAt.After(l.now) && l.rec.FailedSeq <= l.rec.AppliedSeq {
			l.now = l.rec.DueAt

			continue
		}

		if !l.rec.NeedsWork() {
			l.atRest(t, started)

			return
		}

		if c := l.rec.Change; answers && l.now.Before(l.rec.NotBefore) && c != nil && c.Stage == tenant.StageCutover {
			l.tell(tenant.Event{Type: tenant.EventCutoverConfirmed, Token: l.tokens[len(l.tokens)-1]})
		}

		if l.now.Before(l.rec.NotBefore) {
			l.now = l.rec.NotBefore
		}

		l.act(t)
	}

	require.Fail(t, "the plans do not end")
}

// atRest holds once nothing is left to do.
func (l *life) atRest(t *rapid.T, started int) {
	spec := l.rec.Desired.Spec()

	if l.rec.FailedSeq > l.rec.AppliedSeq {
		failure := l.rec.Last.Failure
		if l.operations == started || failure.Kind == tenant.KindInvalid {
			return
		}

		require.Equal(t, tenant.KindCutover, failure.Kind, "%v", failure)
		require.True(t, l.rec.Change == nil || l.rec.Change.Stage == tenant.StageBaking)

		return
	}

	require.Nil(t, l.rec.Change)

	if spec.Phase == tenant.PhaseAbsent {
		require.Empty(t, l.world)

		return
	}

	require.Equal(t, []int{l.rec.Applied.Generation}, slices.Collect(maps.Keys(l.world)))
	require.Equal(t, spec.Tier, l.rec.Applied.Spec.Tier)
	require.Equal(t, spec.Phase, l.rec.Applied.Spec.Phase)
}

// copied is a life that goes on by itself.
func (l *life) copied(t *rapid.T) *life {
	c := *l
	c.t = t
	c.world, c.forgotten, c.tokens = maps.Clone(l.world), maps.Clone(l.forgotten), slices.Clone(l.tokens)

	return &c
}

func TestLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		t.Repeat(map[string]func(*rapid.T){
			"event":  l.event,
			"answer": l.answer,
			"time":   l.pass,
			"due":    l.due,
			"act":    l.act,
			// Twice more, or there are more events than work.
			"act 2": l.act,
			"act 3": l.act,
			"": func(t *rapid.T) {
				if l.clock%2 == 0 {
					l.copied(t).rest(t, false)

					return
				}

				restarted := l.copied(t)
				restarted.tell(tenant.Event{Type: tenant.EventReprovision})
				restarted.rest(t, true)
			},
		})
	})
}
