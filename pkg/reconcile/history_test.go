package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// counted is an operation that succeeds and knows what there is then.
func counted(resources int, types map[string]int) act {
	return func(context.Context, engine.Operation, engine.Watch) engine.Result {
		res := good()
		res.Resources, res.Types = resources, types

		return res
	}
}

// uncounted is an operation that fails and does not know what there is.
func uncounted(kind tenant.Kind) act {
	return func(context.Context, engine.Operation, engine.Watch) engine.Result {
		return engine.Result{
			Failure: &tenant.Failure{Kind: kind, Message: "cut off", Step: "up"}, Resources: -1, StackCreated: true, Clean: true,
		}
	}
}

func TestTheRowRemembersOperationsAndTypes(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		types, fewer := map[string]int{"aws:ec2/vpc:Vpc": 1, "aws:ec2/subnet:Subnet": 2}, map[string]int{"aws:ec2/vpc:Vpc": 2}

		w.engine.will(counted(3, types), uncounted(tenant.KindTransient), uncounted(tenant.KindInvalid), counted(2, fewer))
		w.deliver(t, "m1", created(1))
		require.Equal(t, types, w.row(t).Last.Types)

		w.deliver(t, "m2", updated(2, "large"))
		require.Equal(t, -1, w.row(t).Last.Resources)
		require.Equal(t, types, w.row(t).Last.Types, "the last ones that were known")

		// It goes back to what is applied.
		w.deliver(t, "m3", updated(3, "huge"))

		rec := w.row(t)
		require.Equal(t, fewer, rec.Last.Types)
		require.Equal(t, 2, rec.Last.Resources)

		kinds := make([]tenant.Kind, 0, len(rec.History))
		for _, p := range rec.History {
			kinds = append(kinds, p.Kind)
		}

		require.Equal(t, []tenant.Kind{tenant.KindInvalid, tenant.KindTransient, ""}, kinds, "newest first")
		require.Equal(t, []string{"up", "up"}, rec.History[0].Steps)
		require.Equal(t, rec.Last.OperationID, rec.History[0].OperationID)
	})
}

// What failed may have counted before, as a protection that fails after its up.
func TestARollbackLeavesNoTypes(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(func(context.Context, engine.Operation, engine.Watch) engine.Result {
			res := good()
			res.Types = map[string]int{"aws:ec2/vpc:Vpc": 3}
			res.Failure = &tenant.Failure{Kind: tenant.KindInvalid, Message: "the template is wrong", Step: "protect"}

			return res
		}, counted(0, nil))
		w.deliver(t, "m1", created(1))

		require.Zero(t, w.row(t).Last.Resources)
		require.Empty(t, w.row(t).Last.Types)
	})
}
