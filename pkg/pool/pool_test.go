package pool_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestTheRowOfThePoolDecides goes through the states that a pool can be in.
func TestTheRowOfThePoolDecides(t *testing.T) {
	t.Parallel()

	stranger, lodger := wanted(acme, "free"), made(acme, "free")
	moving := made(acme, "lone")
	moving.Change = &tenant.Change{Other: tenant.Applied{Blueprint: tenant.Blueprint{Pool: shared}}}
	moving.Desired = wanted(acme, "free").Desired
	parameter := func(rec tenant.Record) tenant.Record {
		rec.DesiredSeq++
		rec.AppliedSeq = rec.DesiredSeq - 1

		return rec
	}
	step := func(name string) func(*tenant.Record) {
		return func(rec *tenant.Record) { rec.Progress = &tenant.Progress{Step: name} }
	}
	held := func(rec *tenant.Record) { rec.Hold = "audit" }
	seen := func(rec *tenant.Record) { rec.Fence = 1 }

	existing := made(shared, "pool-free")

	for name, tt := range map[string]struct {
		pool tenant.Record
		rec  tenant.Record
		// waits is why, "" if the pool serves.
		waits string
		// asks is whether the pool is asked for, sends whether a message is sent.
		asks, sends bool
	}{
		"unknown":           {tenant.Record{}, stranger, "which was asked for", true, true},
		"gone":              {gone(existing), stranger, "which was asked for", true, true},
		"never came to be":  {with(gone(wanted(shared, "pool-free")), func(r *tenant.Record) { r.Applied = nil }), stranger, "which was asked for", true, true},
		"asked for":         {wanted(shared, "pool-free"), stranger, "which was asked for", false, true},
		"asked for, held":   {with(wanted(shared, "pool-free"), held), stranger, "which is on hold (audit)", false, false},
		"in the making":     {with(wanted(shared, "pool-free"), seen), stranger, "which is being made", false, false},
		"made again":        {with(gone(existing), func(r *tenant.Record) { r.Desired = wanted(shared, "pool-free").Desired; r.DesiredSeq++ }), stranger, "which is being made", false, false},
		"there":             {existing, stranger, "", false, false},
		"there, held":       {with(existing, held), stranger, "", false, false},
		"being updated":     {with(parameter(existing), step("up")), stranger, "", false, false},
		"update failed":     {failed(parameter(existing), "no"), stranger, "", false, false},
		"to be deleted":     {deleted(existing), stranger, "which is being deleted", false, false},
		"its lodger":        {deleted(existing), lodger, "", false, false},
		"a moving lodger":   {deleted(existing), moving, "", false, false},
		"deletion refused":  {failed(deleted(existing), "no"), stranger, "", false, false},
		"being prepared":    {with(deleted(existing), step("prepare-delete")), lodger, "which is being deleted", false, false},
		"being destroyed":   {with(deleted(existing), step("destroy")), lodger, "which is being deleted", false, false},
		"called back late":  {with(parameter(existing), step("remove")), stranger, "which is being deleted", false, false},
		"leftovers destroy": {with(deleted(wanted(shared, "pool-free")), seen), stranger, "which is being deleted", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorld(t)
			if tt.pool.ID != "" {
				w.table.rows[shared] = tt.pool
			}

			b, err := w.resolve(tt.rec)
			after := w.table.rows[shared]
			require.Equal(t, tt.asks, after.DesiredSeq > tt.pool.DesiredSeq)

			if tt.asks {
				require.Equal(t, tenant.Spec{Phase: tenant.PhaseActive, Tier: "pool-free", Region: region}, after.Desired.Spec())
			}

			sent := w.take()
			require.Equal(t, tt.sends, len(sent) == 1)

			for _, e := range sent {
				require.Equal(t, shared, e.Tenant)
				require.Equal(t, tenant.EventNudged, e.Type)
			}

			if tt.waits == "" {
				require.NoError(t, err)
				require.Equal(t, shared, b.Pool)
				require.JSONEq(t, `"db:5432"`, string(b.Parameters["sharedEndpoint"]))
				require.JSONEq(t, `"x"`, string(b.Parameters["prefix"]))

				return
			}

			var failure *tenant.Failure

			require.ErrorAs(t, err, &failure)
			require.Equal(t, tenant.KindWaiting, failure.Kind)
			require.Equal(t, "waiting for pool pool-free-eu-west-1, "+tt.waits, failure.Message)
			require.Contains(t, failure.Hint, "enqueue status pool-free-eu-west-1")
		})
	}
}

func TestPoolThatFailedFailsItsTenants(t *testing.T) {
	t.Parallel()

	w := newWorld(t, failed(wanted(shared, "pool-free"), "rds:CreateDBInstance"))
	_, err := w.resolve(wanted(acme, "free"))

	var invalid *tenant.InvalidError

	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "pool", invalid.Field)
	require.Contains(t, invalid.Message, "pool pool-free-eu-west-1, which the tier's tenants live in, could not be made: denied: rds:CreateDBInstance")
	require.Contains(t, invalid.Advice(), "enqueue reprovision pool-free-eu-west-1 --wait")
	require.Contains(t, invalid.Advice(), "enqueue reprovision acme")
	require.Empty(t, w.take())

	w = newWorld(t, with(failed(wanted(shared, "pool-free"), ""), func(r *tenant.Record) { r.Last = nil }))
	_, err = w.resolve(wanted(acme, "free"))
	require.ErrorContains(t, err, "see its status")
}

// TestManyAskForOnePool: whoever asks says the same, and people say something
// newer.
func TestManyAskForOnePool(t *testing.T) {
	t.Parallel()

	for name, before := range map[string]tenant.Record{"first": {ID: shared}, "again": gone(made(shared, "pool-free"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorld(t, before)

			var all sync.WaitGroup

			for range 20 {
				all.Go(func() {
					_, err := w.resolve(wanted(acme, "free"))
					require.Error(w.t, err)
				})
			}

			all.Wait()

			rec := w.table.rows[shared]
			require.Equal(t, before.DesiredSeq+1, rec.DesiredSeq)

			// As little as possible above what was known.
			require.Equal(t, before.Desired.Newest().N+1, rec.Desired.Newest().N)

			_, changed := tenant.Apply(rec.Desired, tenant.Event{
				Type: tenant.EventDeleted, Tenant: shared, Version: tenant.Version{N: before.Desired.Newest().N + 2},
			})
			require.True(t, changed)
		})
	}
}

func TestTenantsOutOfPools(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.table.fail = errOutage // nobody may look

	b, err := w.resolve(wanted(acme, "lone"))
	require.NoError(t, err)
	require.Equal(t, "any", b.Program)
	require.Empty(t, b.Pool)

	b, err = w.resolve(wanted(shared, "pool-free"))
	require.NoError(t, err)
	require.Empty(t, b.Pool)

	for _, rec := range []tenant.Record{wanted(acme, "pool-free"), wanted(shared, "free"), wanted(shared, "lone")} {
		_, err = w.resolve(rec)

		var invalid *tenant.InvalidError

		require.ErrorAs(t, err, &invalid, rec.ID)
		require.Equal(t, "tier", invalid.Field)
	}

	require.Empty(t, w.take())

	_, err = w.resolve(wanted(acme, "gold"))
	require.ErrorContains(t, err, `no tier "gold"`)
}

func TestPoolIsNotDeletedFromUnderItsTenants(t *testing.T) {
	t.Parallel()

	moved := made("moved", "free")
	moved.Applied.Blueprint.Pool = "pool-free-us-east-1"
	baking := made("baking", "lone")
	baking.Change = &tenant.Change{Other: tenant.Applied{Blueprint: tenant.Blueprint{Pool: shared}}}

	for name, tt := range map[string]struct {
		rows []tenant.Record
		want string
	}{
		"nobody":                {nil, ""},
		"others":                {[]tenant.Record{made("lonely", "lone"), moved, gone(made("gone", "free"))}, ""},
		"one who failed":        {[]tenant.Record{failed(wanted("failed", "free"), "no")}, ""},
		"a tenant":              {[]tenant.Record{made(acme, "free")}, "1 of its tenants are left, such as acme,"},
		"one who moves in":      {[]tenant.Record{wanted(acme, "free")}, "1 of its tenants"},
		"one who is to go":      {[]tenant.Record{deleted(made(acme, "free"))}, "1 of its tenants"},
		"one who moved out":     {[]tenant.Record{baking}, "such as baking,"},
		"many":                  {[]tenant.Record{made("e", "free"), made("d", "free"), made("c", "free"), made("b", "free")}, "4 of its tenants are left, such as b, c, d,"},
		"one whose last failed": {[]tenant.Record{failed(made(acme, "free"), "no")}, "1 of its tenants"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pool := deleted(made(shared, "pool-free"))
			w := newWorld(t, append(tt.rows, pool)...)

			_, err := w.For(t.Context(), pool)
			if tt.want == "" {
				require.NoError(t, err)

				return
			}

			var invalid *tenant.InvalidError

			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "pool", invalid.Field)
			require.Contains(t, invalid.Message, tt.want)
			require.Contains(t, invalid.Advice(), "`enqueue provision pool-free-eu-west-1 --tier pool-free --region eu-west-1`")
		})
	}

	t.Run("leftovers of a pool", func(t *testing.T) {
		t.Parallel()

		w := newWorld(t, wanted(acme, "free"))
		_, err := w.For(t.Context(), deleted(wanted(shared, "pool-free")))
		require.NoError(t, err, "nobody can live there")
	})

	t.Run("a tenant that is no pool", func(t *testing.T) {
		t.Parallel()

		w := newWorld(t)
		w.table.fail = errOutage

		_, err := w.For(t.Context(), deleted(made(acme, "free")))
		require.NoError(t, err)
	})
}

func TestSettledPoolCallsThoseWhoWait(t *testing.T) {
	t.Parallel()

	later := func(id tenant.ID, tier string) tenant.Record {
		return with(wanted(id, tier), func(r *tenant.Record) { r.NotBefore = time.Now().Add(time.Hour) })
	}
	elsewhere := later("elsewhere", "free")
	elsewhere.Desired.Region.Value = "us-east-1"

	pool := made(shared, "pool-free")
	pool.Last.StartedAt, pool.Last.Duration = time.Now().Add(-time.Hour).UTC(), time.Minute

	w := newWorld(t, pool, later("a", "free"), later("b", "free"), later("lone", "lone"), elsewhere, made("settled", "free"),
		wanted("soon", "free"), failed(later("given-up", "free"), "no"), deleted(later("deleted", "free")))

	for round := range 2 {
		require.NoError(t, w.Settled(t.Context(), pool))

		sent := w.take()
		require.Len(t, sent, 2)

		for i, id := range []tenant.ID{"b", "a"} {
			require.Equal(t, id, sent[i].Tenant)
			require.Equal(t, tenant.EventDue, sent[i].Type)

			// A change of what is desired is what ends a wait.
			_, changed, err := w.table.Accept(t.Context(), sent[i])
			require.NoError(t, err)
			require.Equal(t, round == 0, changed)
		}
	}

	pool.Last.OperationID, pool.Last.StartedAt = "02OP", time.Now().UTC()
	require.NoError(t, w.Settled(t.Context(), pool))

	sent := w.take()
	require.Len(t, sent, 2)

	_, changed, err := w.table.Accept(t.Context(), sent[0])
	require.NoError(t, err)
	require.True(t, changed, "another operation is another reason to look")
}

func TestSettledTenantCallsNobody(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.table.fail = errOutage

	require.NoError(t, w.Settled(t.Context(), made(acme, "free")))
	require.NoError(t, w.Settled(t.Context(), wanted(shared, "pool-free")))
	require.ErrorIs(t, w.Settled(t.Context(), made(shared, "pool-free")), errOutage)
}

// TestOutagesAreNoVerdict: what cannot be read or sent says nothing of the tenant.
func TestOutagesAreNoVerdict(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		rows, sends error
		pool        tenant.Record
	}{
		"table":              {errOutage, nil, tenant.Record{ID: shared}},
		"queue":              {nil, errOutage, tenant.Record{ID: shared}},
		"queue, asked again": {nil, errOutage, wanted(shared, "pool-free")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorld(t, tt.pool)
			w.table.fail, w.fail = tt.rows, tt.sends

			_, err := w.resolve(wanted(acme, "free"))
			require.ErrorIs(t, err, errOutage)

			var (
				failure *tenant.Failure
				invalid *tenant.InvalidError
			)

			require.False(t, errors.As(err, &failure) || errors.As(err, &invalid))
		})
	}

	w := newWorld(t)
	w.table.fail = errOutage

	_, err := w.For(t.Context(), deleted(made(shared, "pool-free")))
	require.ErrorIs(t, err, errOutage)

	w = newWorld(t, with(wanted(acme, "free"), func(r *tenant.Record) { r.NotBefore = time.Now().Add(time.Hour) }))
	w.fail = errOutage
	require.ErrorIs(t, w.Settled(t.Context(), made(shared, "pool-free")), errOutage)
}
