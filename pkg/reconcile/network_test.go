package reconcile_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// pooledWorld has two tiers with the same pool, of four blocks.
func pooledWorld() *world {
	w := newWorld()
	w.Addresses = w.rows.Addresses()
	w.catalog["pooled"] = pooled()
	w.catalog["pooled-too"] = pooled()

	return w
}

func pooled() tenant.Blueprint {
	return tenant.Blueprint{
		Program: "silo", Protect: true, OnCreate: tenant.PolicyRollback, OnUpdate: tenant.PolicyRevert, MaxAttempts: attempts,
		Addresses: &tenant.AddressPool{Range: netip.MustParsePrefix("10.64.0.0/18"), Prefix: 20},
	}
}

func createdPooled() tenant.Event {
	e := created(1)
	e.Tier = "pooled"

	return e
}

func (w *world) held(t *testing.T) map[int]string {
	t.Helper()

	blocks, err := w.rows.Addresses().Held(t.Context(), acme)
	require.NoError(t, err)

	held := make(map[int]string, len(blocks))
	for generation, block := range blocks {
		held[generation] = block.String()
	}

	return held
}

// fill has others take all blocks but n.
func (w *world) fill(t *testing.T, but int) {
	t.Helper()

	for i := range pooled().Addresses.Blocks() - but {
		_, err := w.rows.Addresses().Take(t.Context(), "others", i, *pooled().Addresses)
		require.NoError(t, err)
	}
}

func ranges(topologies []engine.Topology) map[int]string {
	given := make(map[int]string, len(topologies))
	for _, top := range topologies {
		given[top.Generation] = top.Network
	}

	return given
}

func TestATopologyHasABlockAsLongAsItStands(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.deliver(t, "m1", createdPooled())

		first := w.held(t)
		require.Len(t, first, 1)
		require.Equal(t, first, ranges(w.engine.operations()[0].Topologies))

		w.deliver(t, "m2", updated(2, "large"))
		require.Equal(t, first, ranges(w.engine.operations()[1].Topologies), "an update keeps it")
		require.Equal(t, first, w.held(t))

		t.Log("a change of tier makes another topology with a block of its own, and gives the old one back at its end")

		w.engine.forget()

		e := moved("pooled-too")
		e.Version = version(3)
		w.deliver(t, "m3", e)

		for range 5 {
			if w.row(t).Change == nil {
				break
			}

			w.deliver(t, "due", event(4, tenant.EventDue))
		}

		require.Nil(t, w.row(t).Change)

		building := ranges(w.engine.operations()[0].Topologies)
		require.Len(t, building, 2)
		require.Equal(t, first[1], building[1])
		require.NotEqual(t, building[1], building[2])
		require.NotEmpty(t, building[2])
		require.Equal(t, map[int]string{2: building[2]}, w.held(t))

		ops := w.engine.operations()
		require.Equal(t, map[int]string{1: first[1]}, ranges(ops[len(ops)-1].Leaving), "what is prepared to go is what stands")

		t.Log("and the last one with the tenant, once that is gone")

		w.engine.will(fail(tenant.KindTransient, "in use"))

		outcome := w.deliver(t, "m5", event(5, tenant.EventDeleted))
		require.Equal(t, map[int]string{2: building[2]}, w.held(t))
		time.Sleep(outcome.Delay)

		_, err := w.settle(t, &message{id: "m5"}, w.row(t))
		require.NoError(t, err)
		require.Empty(t, w.held(t))

		ops = w.engine.operations()
		require.Equal(t, map[int]string{2: building[2]}, ranges(ops[len(ops)-1].Topologies), "what is deleted is what stands")
	})
}

func TestAChangeThatFailsGivesItsBlockBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.deliver(t, "m1", createdPooled())

		first := w.held(t)

		w.engine.will(fail(tenant.KindInvalid, "no"))
		w.deliver(t, "m2", moved("pooled-too"))
		require.Equal(t, first, w.held(t))
		require.Equal(t, 1, w.row(t).Applied.Generation)
	})
}

func TestAFirstProvisionThatFailsGivesItsBlockBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.engine.will(fail(tenant.KindTransient, "no luck"))
		w.deliver(t, "m1", createdPooled())

		first := w.held(t)
		require.Len(t, first, 1, "the next attempt needs it")
		time.Sleep(2 * backoff)

		w.engine.will(fail(tenant.KindInvalid, "no"))

		outcome, err := w.settle(t, &message{id: "m1"}, w.row(t))
		require.NoError(t, err)
		require.Equal(t, reconcile.ReasonFailed, outcome.Reason)
		require.Equal(t, first, ranges(w.engine.operations()[1].Topologies))
		require.Empty(t, w.held(t))
	})
}

// What the engine never began is given back with the tenant all the same.
func TestATenantThatNeverCameToBeGivesItsBlockBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		_, err := w.rows.Addresses().Take(t.Context(), acme, 1, *pooled().Addresses)
		require.NoError(t, err)

		w.accept(t, createdPooled())
		w.deliver(t, "m2", event(2, tenant.EventDeleted))
		require.Empty(t, w.held(t))
	})
}

// Another range would replace the network, and all that is in it.
func TestWhatStandsKeepsItsRange(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.provision(t, "silo")

		b := w.catalog["silo"]
		b.Addresses = pooled().Addresses
		w.catalog["silo"] = b

		w.deliver(t, "m2", updated(2, "large"))
		w.deliver(t, "m3", updated(3, "larger"))

		for _, op := range w.engine.operations() {
			require.Equal(t, map[int]string{1: ""}, ranges(op.Topologies), "it was made without")
		}

		require.Empty(t, w.held(t))
	})

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.deliver(t, "m1", createdPooled())

		first := w.held(t)
		w.catalog["pooled"] = tenant.Blueprint{Program: "silo", MaxAttempts: attempts}

		w.deliver(t, "m2", updated(2, "large"))
		require.Equal(t, first, ranges(w.engine.operations()[1].Topologies), "it was made with it")

		other := pooled()
		other.Addresses = &tenant.AddressPool{Range: netip.MustParsePrefix("10.128.0.0/16"), Prefix: 24}
		w.catalog["pooled"] = other

		w.deliver(t, "m3", updated(3, "larger"))
		require.Equal(t, first, ranges(w.engine.operations()[2].Topologies))
		require.Equal(t, first, w.held(t))
	})
}

func TestAFullPoolFailsTheTenant(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.fill(t, 0)

		outcome := w.deliver(t, "m1", createdPooled())
		require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)

		rec := w.row(t)
		require.Equal(t, tenant.KindQuota, rec.Last.Failure.Kind)
		require.Contains(t, rec.Last.Failure.Message, "10.64.0.0/18 is full")
		require.NotEmpty(t, rec.Last.Failure.Hint)
		require.Equal(t, "up", rec.Last.Failure.Step)
		require.Equal(t, 1, rec.Attempts)
		require.False(t, rec.Stack.Created)
		require.Empty(t, w.engine.operations(), "nothing is begun")
		require.Empty(t, w.held(t))

		require.NoError(t, w.rows.Addresses().Release(t.Context(), "others", 0))
		time.Sleep(outcome.Delay)

		outcome, err := w.settle(t, &message{id: "m1"}, w.row(t))
		require.NoError(t, err)
		require.Equal(t, reconcile.ReasonSettled, outcome.Reason)
		require.Len(t, w.held(t), 1)
	})

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		w.fill(t, 1)
		w.deliver(t, "m1", createdPooled())

		first := w.held(t)
		w.engine.forget()

		t.Log("a change that finds no block leaves the tenant as it is")
		w.deliver(t, "m2", moved("pooled-too"))

		for range attempts {
			time.Sleep(time.Hour)

			_, err := w.settle(t, &message{id: "m2"}, w.row(t))
			require.NoError(t, err)
		}

		rec := w.row(t)
		require.False(t, rec.NeedsWork())
		require.Equal(t, tenant.KindQuota, rec.Last.Failure.Kind)
		require.Equal(t, "pooled", rec.Applied.Spec.Tier)
		require.Equal(t, first, w.held(t))

		for _, op := range w.engine.operations() {
			require.Equal(t, first, ranges(op.Topologies), "nothing but the way back")
		}
	})
}

// Trouble with the table is none of the tenant's.
func TestNoOperationBeginsWithoutItsRange(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := pooledWorld()
		rec := w.accept(t, createdPooled())

		began := false

		w.table.Intercept(func(string) error {
			// Once the operation shows in the row.
			if item := w.table.Item("tenant#acme"); item["progress"] != nil && !began {
				began = true

				return errOutage
			}

			return nil
		}, nil)

		_, err := w.settle(t, &message{id: "m1"}, rec)
		require.ErrorIs(t, err, errOutage)
		require.Empty(t, w.engine.operations())
		require.Zero(t, w.row(t).Attempts)
		require.Len(t, w.observer.started, 1)
		require.Len(t, w.observer.finished, 1, "it is not shown as running for ever")
		require.Equal(t, tenant.KindTransient, w.observer.finished[0].Failure.Kind)

		_, err = w.settle(t, &message{id: "m1"}, w.row(t))
		require.NoError(t, err)
		require.Len(t, w.held(t), 1)
	})
}
