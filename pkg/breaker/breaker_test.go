package breaker_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/breaker"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	region = "eu-west-1"
	tier   = "silo"
	enough = 5
	pause  = time.Minute
)

// world is breakers whose transitions are kept.
type world struct {
	*breaker.Breakers

	mu      sync.Mutex
	changes []string
}

func newWorld() *world {
	w := &world{}
	w.Breakers = breaker.New(breaker.Config{Tenants: enough, Pause: pause}, func(region, tier string, to breaker.State) {
		w.mu.Lock()
		defer w.mu.Unlock()

		w.changes = append(w.changes, region+" "+tier+" "+to.String())
	})

	return w
}

// opened counts how often the breaker opened.
func (w *world) opened() int {
	w.mu.Lock()
	defer w.mu.Unlock()

	n := 0

	for _, c := range w.changes {
		if c == region+" "+tier+" open" {
			n++
		}
	}

	return n
}

// operate runs one operation to its end and reports whether it was let in.
func (w *world) operate(id string, outcome *tenant.Outcome) bool {
	done, _ := w.Allow(region, tier)
	if done == nil {
		return false
	}

	done(tenant.ID(id), outcome)

	return true
}

func fails(kind tenant.Kind) *tenant.Outcome {
	return &tenant.Outcome{Failure: &tenant.Failure{Kind: kind}}
}

func succeeds() *tenant.Outcome { return &tenant.Outcome{} }

// fell makes n different tenants fail.
func (w *world) fell(t *testing.T, n int, kind tenant.Kind) {
	t.Helper()

	for i := range n {
		require.True(t, w.operate(fmt.Sprintf("t%d", i), fails(kind)), "tenant %d", i)
	}
}

func TestManyTenantsThatFailAlikeOpen(t *testing.T) {
	t.Parallel()

	ill := []tenant.Kind{
		tenant.KindTransient, tenant.KindThrottled, tenant.KindQuota, tenant.KindDenied, tenant.KindTimeout, tenant.KindUnknown,
	}

	for _, kind := range tenant.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.fell(t, enough, kind)
				require.Equal(t, !slices.Contains(ill, kind), w.operate("other", succeeds()))
			})
		})
	}
}

func TestPauseAndRecovery(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fell(t, enough, tenant.KindThrottled)

		done, wait := w.Allow(region, tier)
		require.Nil(t, done)
		require.GreaterOrEqual(t, wait, pause)
		require.LessOrEqual(t, wait, 2*pause)

		for _, where := range [][2]string{{"us-east-1", tier}, {region, "pool"}} {
			done, _ := w.Allow(where[0], where[1])
			require.NotNil(t, done, "another place is not paused: %v", where)
			done("acme", nil)
		}

		time.Sleep(pause + time.Second)

		// One is let through, and no other until it is done.
		probe, _ := w.Allow(region, tier)
		require.NotNil(t, probe)

		done, wait = w.Allow(region, tier)
		require.Nil(t, done)
		require.Positive(t, wait)

		// It says nothing of the place, so another one is let through.
		probe("t7", fails(tenant.KindInvalid))

		probe, _ = w.Allow(region, tier)
		require.NotNil(t, probe)
		probe("t8", fails(tenant.KindQuota))
		require.Equal(t, 2, w.opened())
		require.False(t, w.operate("t9", succeeds()))

		time.Sleep(pause + time.Second)
		require.True(t, w.operate("t9", succeeds()))
		require.True(t, w.operate("t9", succeeds()))
		require.Equal(t, region+" "+tier+" closed", w.changes[len(w.changes)-1])
		require.Len(t, w.changes, 5, "each transition is told once: %v", w.changes)

		// All begins anew.
		w.fell(t, enough-1, tenant.KindThrottled)
		require.True(t, w.operate("t9", succeeds()))
	})
}

func TestWhatKeepsItClosed(t *testing.T) {
	t.Parallel()

	tests := map[string]func(w *world){
		"a success between": func(w *world) {
			w.operate("t9", succeeds())
		},
		"the window": func(*world) {
			time.Sleep(16 * time.Minute)
		},
	}

	for name, between := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.fell(t, enough-1, tenant.KindDenied)
				between(w)
				require.True(t, w.operate("t8", fails(tenant.KindDenied)))
				require.True(t, w.operate("t7", succeeds()))
				require.Zero(t, w.opened())
			})
		})
	}
}

// Kinds that say nothing of the place neither count nor reset, and failures of
// different kinds are not alike.
func TestOnlyAlikeCounts(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fell(t, enough-1, tenant.KindDenied)
		w.fell(t, enough-1, tenant.KindQuota)
		require.True(t, w.operate("t8", fails(tenant.KindInvalid)))
		require.True(t, w.operate("t8", nil))
		require.Zero(t, w.opened())
		require.True(t, w.operate("t8", fails(tenant.KindQuota)))
		require.Equal(t, 1, w.opened())
	})
}

// Operations that began before a pause end during it: they change nothing.
func TestOldOperationsDoNotCount(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		early, _ := w.Allow(region, tier)
		late, _ := w.Allow(region, tier)
		w.fell(t, 1, tenant.KindDenied)

		old, _ := w.Allow(region, tier)
		w.fell(t, enough, tenant.KindDenied)
		require.False(t, w.operate("t9", succeeds()))

		early("t8", succeeds())
		old("t7", succeeds())
		require.False(t, w.operate("t9", succeeds()), "it is still paused")

		time.Sleep(pause + time.Second)
		late("t6", fails(tenant.KindDenied))
		require.Equal(t, 1, w.opened())

		probe, _ := w.Allow(region, tier)
		require.NotNil(t, probe, "it did not take the place of the one that is let through")
	})
}

// The longer it lasts, the wider messages are spread.
func TestWaitsGrow(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fell(t, enough, tenant.KindDenied)

		longest := func() time.Duration {
			longest := time.Duration(0)

			for range 200 {
				_, wait := w.Allow(region, tier)
				longest = max(longest, wait)
			}

			return longest
		}

		require.LessOrEqual(t, longest(), 2*pause)

		for range 20 {
			time.Sleep(pause + time.Second)
			require.True(t, w.operate("t9", fails(tenant.KindDenied)))
		}

		require.Greater(t, longest(), 5*pause)
		require.LessOrEqual(t, longest(), 9*pause)

		// The next time it begins anew.
		time.Sleep(pause + time.Second)
		require.True(t, w.operate("t9", succeeds()))
		w.fell(t, enough, tenant.KindDenied)
		require.LessOrEqual(t, longest(), 2*pause)
	})
}

func TestZeroTenantsTurnsItOff(t *testing.T) {
	t.Parallel()

	w := &world{Breakers: breaker.New(breaker.Config{Pause: pause}, nil)}
	w.fell(t, 100, tenant.KindDenied)
}

// Rows may name any region, so what is remembered is bounded.
func TestBounded(t *testing.T) {
	t.Parallel()

	b := breaker.New(breaker.Config{Tenants: 2, Pause: pause}, nil)
	paused := 0

	for place := range 1000 {
		where := fmt.Sprintf("region-%d", place)

		for i := range 2 {
			done, _ := b.Allow(where, tier)
			done(tenant.ID(fmt.Sprintf("t%d", i)), fails(tenant.KindDenied))
		}

		if done, _ := b.Allow(where, tier); done == nil {
			paused++
		}
	}

	require.Equal(t, 256, paused)
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()

	w := newWorld()
	done := make(chan struct{})

	for i := range 50 {
		go func() {
			w.operate(fmt.Sprintf("t%d", i), fails(tenant.KindDenied))

			done <- struct{}{}
		}()
	}

	for range 50 {
		<-done
	}

	require.Equal(t, 1, w.opened())
}

// However it fails and whatever else goes on, fewer tenants than it takes never
// pause the others: with one, a tenant that fails for ever.
func TestFewTenantsNeverOpen(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		sick := rapid.IntRange(1, enough-1).Draw(t, "sick")
		running := []func(tenant.ID, *tenant.Outcome){}

		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				done, _ := w.Allow(region, tier)
				if done == nil {
					t.Fatal("turned away")
				}

				running = append(running, done)
			},
			"end": func(t *rapid.T) {
				if len(running) == 0 {
					t.Skip("nothing runs")
				}

				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				id := tenant.ID(fmt.Sprintf("t%d", rapid.IntRange(0, sick-1).Draw(t, "tenant")))
				outcome := fails(rapid.SampledFrom(tenant.Kinds()).Draw(t, "kind"))

				if rapid.Bool().Draw(t, "other") {
					id, outcome = "healthy", rapid.SampledFrom([]*tenant.Outcome{nil, succeeds(), fails(tenant.KindInvalid)}).Draw(t, "outcome")
				}

				running[i](id, outcome)
				running = slices.Delete(running, i, i+1)
			},
			"": func(t *rapid.T) {
				if w.opened() > 0 {
					t.Fatal("opened")
				}
			},
		})
	})
}

// As many tenants as it takes that fail alike do pause, in whatever order and
// however often, if none succeeds.
func TestEnoughTenantsOpen(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		ids := rapid.SliceOfN(rapid.IntRange(0, 2*enough), 1, 60).Draw(t, "tenants")
		different := map[int]bool{}

		for _, id := range ids {
			open := !w.operate(fmt.Sprintf("t%d", id), fails(tenant.KindQuota))
			if open != (len(different) >= enough) {
				t.Fatalf("%d different tenants failed; open is %t", len(different), open)
			}

			different[id] = true
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()

	require.NoError(t, breaker.Config{Tenants: 2, Pause: time.Second}.Validate())
	require.NoError(t, breaker.Config{}.Validate())
	require.ErrorContains(t, breaker.Config{Tenants: 1, Pause: time.Second}.Validate(), "LESSOR_BREAKER_TENANTS is 1, set it to 2 or more")
	require.ErrorContains(t, breaker.Config{Tenants: -1}.Validate(), "LESSOR_BREAKER_TENANTS is -1")
	require.ErrorContains(t, breaker.Config{Tenants: 5}.Validate(), "LESSOR_BREAKER_PAUSE is 0s, set it to")
}
