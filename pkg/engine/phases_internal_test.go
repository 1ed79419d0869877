package engine

import (
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/phase"
)

// course is a child's phases with a clock that the test turns.
type course struct {
	*phases

	at time.Time
}

func newCourse() *course {
	c := &course{at: time.Unix(1_700_000_000, 0)}
	c.phases = newPhases(func() time.Time { return c.at })

	return c
}

func (c *course) pass(seconds int) { c.at = c.at.Add(time.Duration(seconds) * time.Second) }

func metadata(urn, resourceType string, custom bool) apitype.StepEventMetadata {
	return apitype.StepEventMetadata{
		URN: urn, Type: resourceType, New: &apitype.StepEventStateMetadata{URN: urn, Type: resourceType, Custom: custom},
	}
}

func (c *course) began(urn string) {
	c.saw(eventOf(apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: metadata(urn, "aws:x:X", true)}}))
}

func (c *course) done(urn string) {
	c.saw(eventOf(apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: metadata(urn, "aws:x:X", true)}}))
}

func (c *course) failed(urn string) {
	c.saw(eventOf(apitype.EngineEvent{ResOpFailedEvent: &apitype.ResOpFailedEvent{Metadata: metadata(urn, "aws:x:X", true)}}))
}

func eventOf(e apitype.EngineEvent) events.EngineEvent { return events.EngineEvent{EngineEvent: e} }

// spent are the phases that took time, in seconds.
func (c *course) spent() map[phase.Phase]float64 {
	seconds := map[phase.Phase]float64{}

	for p, d := range c.take() {
		if d != 0 {
			seconds[p] = d.Seconds()
		}
	}

	return seconds
}

func TestPhasesOfACourse(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		course func(c *course)
		want   map[phase.Phase]float64
	}{
		"two processes of the CLI": {
			course: func(c *course) {
				for range 2 {
					c.cliStarted()
					c.pass(2)
					c.request()()
					c.pass(3)
					c.cliEnded()
					c.pass(1)
				}
			},
			want: map[phase.Phase]float64{phase.CLIStart: 4, phase.Engine: 6, phase.Other: 2},
		},
		"the program is the first sign of the CLI": {
			course: func(c *course) {
				c.cliStarted()
				c.pass(1)
				c.cliRuns()
				c.pass(2)
				c.cliRuns()
				c.pass(4)
			},
			want: map[phase.Phase]float64{phase.CLIStart: 1, phase.Engine: 6},
		},
		"any event is": {
			course: func(c *course) {
				c.cliStarted()
				c.pass(1)
				c.saw(eventOf(apitype.EngineEvent{PreludeEvent: &apitype.PreludeEvent{}}))
				c.pass(2)
			},
			want: map[phase.Phase]float64{phase.CLIStart: 1, phase.Engine: 2},
		},
		"resources side by side are counted once": {
			course: func(c *course) {
				c.cliStarted()
				c.began("a")
				c.pass(1)
				c.began("b")
				c.pass(2)
				c.done("a")
				c.pass(4)
				c.failed("b")
				c.pass(8)
				c.cliEnded()
			},
			want: map[phase.Phase]float64{phase.Provider: 7, phase.Engine: 8},
		},
		"a resource that is told of twice ends once": {
			course: func(c *course) {
				c.cliStarted()
				c.began("a")
				c.pass(1)
				c.began("a")
				c.pass(2)
				c.done("a")
				c.pass(4)
				c.done("a")
				c.pass(8)
			},
			want: map[phase.Phase]float64{phase.Provider: 3, phase.Engine: 12},
		},
		"components and providers are no resources": {
			course: func(c *course) {
				c.cliStarted()

				for _, m := range []apitype.StepEventMetadata{metadata("a", "my:Component", false), metadata("b", "pulumi:providers:aws", true)} {
					c.saw(eventOf(apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: m}}))
					c.pass(1)
				}
			},
			want: map[phase.Phase]float64{phase.Engine: 2},
		},
		"a write of the state within a resource's work is no work of the provider": {
			course: func(c *course) {
				c.cliStarted()
				c.began("a")

				written := c.request()

				c.pass(1)
				written()
				c.pass(2)
				c.done("a")
			},
			want: map[phase.Phase]float64{phase.State: 1, phase.Provider: 2},
		},
		"requests side by side are counted once": {
			course: func(c *course) {
				c.cliStarted()

				first := c.request()

				c.pass(1)

				second := c.request()

				c.pass(2)
				first()
				c.pass(4)
				second()
				c.pass(8)
			},
			want: map[phase.Phase]float64{phase.State: 7, phase.Engine: 8},
		},
		"what a killed CLI had begun ends with it": {
			course: func(c *course) {
				c.cliStarted()
				c.began("a")
				c.pass(1)
				c.cliEnded()
				c.pass(2)
				// Such events may still be on their way.
				c.began("b")
				c.pass(4)
				c.cliStarted()
				c.cliRuns()
				c.pass(8)
			},
			want: map[phase.Phase]float64{phase.Provider: 1, phase.Other: 6, phase.Engine: 8},
		},
		"the state is worked on without the CLI": {
			course: func(c *course) {
				removed := c.request()

				c.pass(1)
				removed()
				c.pass(2)
			},
			want: map[phase.Phase]float64{phase.State: 1, phase.Other: 2},
		},
		"opening and closing": {
			course: func(c *course) {
				c.enter(phase.StateOpen)
				c.pass(1)
				c.enter(phase.Other)
				c.pass(2)

				hanging := c.request()

				c.pass(4)
				c.enter(phase.StateClose)
				c.pass(8)
				hanging()
				c.pass(16)
				c.enter(phase.Other)
			},
			want: map[phase.Phase]float64{phase.StateOpen: 1, phase.Other: 2, phase.State: 4, phase.StateClose: 24},
		},
	}

	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newCourse()
			test.course(c)
			require.Equal(t, test.want, c.spent())
		})
	}
}

// Whatever happens in whatever order, each second has one phase.
func TestPhasesAddUp(t *testing.T) {
	t.Parallel()

	urns := []string{"a", "b", "c"}

	rapid.Check(t, func(rt *rapid.T) {
		c := newCourse()
		whole := 0

		var open []func()

		things := []func(){
			c.cliStarted, c.cliEnded, c.cliRuns,
			func() { c.enter(rapid.SampledFrom(phase.All()).Draw(rt, "stage")) },
			func() { open = append(open, c.request()) },
			func() {
				if len(open) > 0 {
					open[0]()
					open = open[1:]
				}
			},
			func() { c.began(rapid.SampledFrom(urns).Draw(rt, "begins")) },
			func() { c.done(rapid.SampledFrom(urns).Draw(rt, "ends")) },
		}

		for range rapid.IntRange(0, 50).Draw(rt, "length") {
			rapid.SampledFrom(things).Draw(rt, "thing")()

			seconds := rapid.IntRange(0, 5).Draw(rt, "seconds")
			c.pass(seconds)

			whole += seconds
		}

		sum := 0.0

		for p, seconds := range c.spent() {
			require.Positive(rt, seconds, p)

			sum += seconds
		}

		require.InDelta(rt, whole, sum, 1e-9)
	})
}
