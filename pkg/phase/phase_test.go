package phase_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/phase"
)

// hand is a clock that a test turns.
type hand struct{ time.Time }

func (h *hand) now() time.Time                { return h.Time }
func (h *hand) turn(by time.Duration)         { h.Time = h.Add(by) }
func newHand() *hand                          { return &hand{Time: time.Unix(1_700_000_000, 0)} }
func seconds(n float64) time.Duration         { return time.Duration(n * float64(time.Second)) }
func anyPhase() *rapid.Generator[phase.Phase] { return rapid.SampledFrom(phase.All()) }

func TestEveryPhaseIsNamedOnce(t *testing.T) {
	t.Parallel()

	seen := map[phase.Phase]bool{}
	for _, p := range phase.All() {
		require.False(t, seen[p], p)
		require.Regexp(t, "^[a-z_]+$", string(p))

		seen[p] = true
	}

	require.Len(t, seen, 13)
}

func TestAClockGivesEveryMomentToOnePhase(t *testing.T) {
	t.Parallel()

	h := newHand()
	c := phase.Start(phase.Receive, h.now)

	h.turn(seconds(1))
	c.Enter(phase.Accept)
	h.turn(seconds(2))
	c.Enter(phase.Receive)
	h.turn(seconds(4))
	c.Enter(phase.Other)
	h.turn(seconds(8))

	require.Equal(t, phase.Times{
		phase.Receive: seconds(5), phase.Accept: seconds(2), phase.Other: seconds(8),
	}, c.Take())

	h.turn(seconds(16))
	require.Equal(t, phase.Times{phase.Other: seconds(16)}, c.Take(), "it goes on from zero, in the same phase")
}

func TestAClockIsSplit(t *testing.T) {
	t.Parallel()

	h := newHand()
	c := phase.Start(phase.Accept, h.now)

	h.turn(seconds(1))
	c.Enter(phase.Other)
	h.turn(seconds(10))
	c.Split(phase.Times{phase.Engine: seconds(4), phase.State: seconds(3), phase.Other: seconds(1)})
	h.turn(seconds(2))

	require.Equal(t, phase.Times{
		phase.Accept: seconds(1), phase.Engine: seconds(4), phase.State: seconds(3), phase.Other: seconds(5),
	}, c.Take())
}

func TestAClockThatGoesBackTakesNothingAway(t *testing.T) {
	t.Parallel()

	h := newHand()
	c := phase.Start(phase.Accept, h.now)

	h.turn(seconds(3))
	c.Enter(phase.Accept)
	h.turn(seconds(-2))
	c.Enter(phase.Lease)

	require.Equal(t, seconds(3), c.Take()[phase.Accept])
}

func TestASplitKeepsTheTotal(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.MapOf(anyPhase(), rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, 1000).Draw(t, "time"))
		})).Draw(rt, "times")
		parts := rapid.MapOf(anyPhase(), rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(-100, 1000).Draw(t, "part"))
		})).Draw(rt, "parts")
		whole := anyPhase().Draw(rt, "whole")

		before := phase.Times(times).Total()
		room, wanted := times[whole], time.Duration(0)

		for p, d := range parts {
			if p != whole {
				wanted += max(0, d)
			}
		}

		split := phase.Times(times)
		split.Split(whole, parts)

		require.Equal(rt, before, split.Total())

		for p, d := range split {
			require.GreaterOrEqual(rt, d, time.Duration(0), p)
		}

		if max(0, parts[whole])+wanted <= room {
			require.Equal(rt, room-wanted, split[whole], "what fits is not cut")
		}
	})
}

func TestTimesAreLoggedInMilliseconds(t *testing.T) {
	t.Parallel()

	var text bytes.Buffer

	slog.New(slog.NewJSONHandler(&text, nil)).Info("ended", "phases", phase.Times{
		phase.Engine: 1234567 * time.Microsecond, phase.Commit: 3 * time.Millisecond,
	})

	var line struct {
		Phases map[string]float64 `json:"phases"`
	}

	require.NoError(t, json.Unmarshal(text.Bytes(), &line))
	require.Len(t, line.Phases, len(phase.All()), "those that took no time are there as well")
	require.InDelta(t, 1234.567, line.Phases["engine"], 1e-9)
	require.InDelta(t, 3, line.Phases["commit"], 1e-9)
	require.Zero(t, line.Phases["provider"])
}
