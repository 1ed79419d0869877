package tenant_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// settings is an event that sets as many parameters.
func settings(kind tenant.EventType, second, n int) tenant.Event {
	e := made(kind, second, strconv.Itoa(second))
	e.Parameters = make(tenant.Parameters, n)

	for i := range n {
		e.Parameters[fmt.Sprintf("setting%02d", i)] = fmt.Appendf(nil, `{"value":%d}`, second)
	}

	return e
}

// known is a tenant of whom a few things were said, in the seconds up to 10.
func known(parameters int) tenant.Desired {
	return fold(tenant.Desired{}, settings(tenant.EventCreated, 1, parameters),
		made(tenant.EventSuspended, 2, "s"), made(tenant.EventResumed, 3, "r"), made(tenant.EventRefresh, 4, "f"),
		settings(tenant.EventUpdated, 10, parameters))
}

func BenchmarkApply(b *testing.B) {
	const few, many = 3, 64

	for _, bench := range []struct {
		name       string
		parameters int
		event      tenant.Event
		changes    bool
	}{
		{"first", 0, settings(tenant.EventCreated, 1, few), true},
		{"changing", few, settings(tenant.EventUpdated, 11, few), true},
		{"changing/64", many, settings(tenant.EventUpdated, 11, many), true},
		{"changing/1of64", many, settings(tenant.EventUpdated, 11, 1), true},
		{"duplicate", few, settings(tenant.EventUpdated, 10, few), false},
		{"duplicate/64", many, settings(tenant.EventUpdated, 10, many), false},
		{"stale", few, settings(tenant.EventUpdated, 5, few), false},
		{"stale/64", many, settings(tenant.EventUpdated, 5, many), false},
		{"stale/suspended", many, made(tenant.EventSuspended, 1, "old"), false},
		{"request", few, made(tenant.EventRefresh, 11, "new"), true},
		{"request/stale", few, made(tenant.EventRefresh, 1, "old"), false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			desired := tenant.Desired{}
			if bench.name != "first" {
				desired = known(bench.parameters)
			}

			b.ReportAllocs()

			for b.Loop() {
				_, changed := tenant.Apply(desired, bench.event)
				if changed != bench.changes {
					b.Fatal("it says whether it changes anything wrongly")
				}
			}
		})
	}
}

func BenchmarkSpec(b *testing.B) {
	for _, n := range []int{3, 64} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			desired := known(n)

			b.ReportAllocs()

			for b.Loop() {
				desired.Spec()
			}
		})
	}
}

// Every message is delivered twice at times, and Accept applies an event once for
// each writer that was faster: what changes nothing must cost nothing.
func TestApplyOfWhatChangesNothingAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	desired := known(64)

	for name, e := range map[string]tenant.Event{
		"duplicate":     settings(tenant.EventUpdated, 10, 64),
		"stale":         settings(tenant.EventUpdated, 5, 64),
		"stale request": made(tenant.EventRefresh, 1, "old"),
		"suspended":     made(tenant.EventSuspended, 1, "old"),
		"created":       settings(tenant.EventCreated, 1, 64),
	} {
		require.Zero(t, testing.AllocsPerRun(100, func() { tenant.Apply(desired, e) }), name)
	}
}
