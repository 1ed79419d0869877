package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const guardedCatalog = `version: 1
tiers:
  guarded:
    program: silo
    guard:
      maxDeletes: 0
      protectedTypes: ["aws:rds/instance:Instance"]
`

// The database of a tenant would be replaced by an empty one. The guard of its
// tier stops that, nothing is touched, and it waits until somebody approves it.
func TestGuardWaitsForApproval(t *testing.T) {
	t.Parallel()

	const careful = tenant.ID("careful")

	path := filepath.Join(t.TempDir(), "guarded.yaml")
	require.NoError(t, os.WriteFile(path, []byte(guardedCatalog), 0o600))

	f := newFleet(t, 2, "LESSOR_CATALOG="+path)
	set := func(name, value string) {
		f.send(f.event(tenant.EventUpdated, careful, time.Now(), func(e *tenant.Event) {
			e.Parameters = tenant.Parameters{name: json.RawMessage(value)}
		}))
	}

	f.create(careful, "guarded")
	before := f.applied(careful, 1)
	database, mutations := databaseOf(t, careful), mutationsOf(t, careful)

	t.Log("the update stops")
	set("databaseName", `"other"`)

	f.await("the update to be given up on", time.Minute, func() bool { return f.settled(careful).FailedSeq == 2 })
	rec := f.settled(careful)
	require.Equal(t, tenant.KindApproval, rec.Last.Failure.Kind, rec.Last.Failure)
	require.Equal(t, mutations, mutationsOf(t, careful), "nothing was touched")
	require.Equal(t, before.Outputs, rec.Outputs)
	require.Equal(t, []tenant.Difference{{
		Type: cloudsim.TypeInstance, Name: "t1-db", Action: "replace", Properties: rec.Pending.Report[0].Properties,
	}}, rec.Pending.Report)
	require.Contains(t, rec.Pending.Report[0].Properties, "dbName")

	t.Log("people see what waits")

	_, text := f.enqueue("status", careful.String())
	require.Contains(t, text, "awaiting-approval")
	require.Contains(t, text, "t1-db")

	_, text = f.enqueue("list", "--state", "awaiting-approval")
	require.Contains(t, text, careful.String())

	t.Log("taken back, it needs no approval and no operation")
	set("databaseName", "null")
	require.Equal(t, int64(3), f.applied(careful, 3).AppliedSeq)
	require.Len(t, started(f.operations(careful)), 2)

	code, text := f.enqueue("approve", careful.String())
	require.NotZero(t, code)
	require.Contains(t, text, "waits for approval")

	t.Log("wanted again, it stops again, and goes on once it is approved")
	set("databaseName", `"other"`)
	f.await("the update to be given up on", time.Minute, func() bool { return f.settled(careful).FailedSeq == 4 })
	require.Equal(t, database, databaseOf(t, careful))

	code, text = f.enqueue("approve", careful.String(), "--reason", "it is empty", "--wait")
	require.Zero(t, code, text)
	require.Contains(t, text, "replace aws:rds/instance:Instance t1-db")

	rec = f.applied(careful, 5)
	require.Nil(t, rec.Pending)
	require.NotEqual(t, database, databaseOf(t, careful), "it is another one")
	require.JSONEq(t, `"other"`, string(rec.Outputs["databaseName"]))

	t.Log("what takes nothing away is not stopped")
	set("multiAz", "true")
	f.applied(careful, 6)

	f.idle(time.Minute)
	requireResults(t, f, "lessor.tenant.failed.v1", "approval", 2)
}

// databaseOf tells one database of a tenant from another.
func databaseOf(t *testing.T, id tenant.ID) time.Time {
	t.Helper()

	all, err := local.Cloud().OfTenant(t.Context(), id.String())
	require.NoError(t, err)

	i := slices.IndexFunc(all, func(r cloudsim.Resource) bool { return r.Type == cloudsim.TypeInstance })
	require.GreaterOrEqual(t, i, 0)

	return all[i].CreatedAt
}

// mutationsOf counts what was done to a tenant's resources.
func mutationsOf(t *testing.T, id tenant.ID) (n int) {
	t.Helper()

	log, err := local.Cloud().Log(t.Context(), 0)
	require.NoError(t, err)

	for _, entry := range log {
		if entry.Tenant == id.String() {
			n++
		}
	}

	return n
}

// requireResults counts the results of a type and reason that were sent.
func requireResults(t *testing.T, f *fleet, typ, reason string, want int) {
	t.Helper()

	have := 0

	for {
		messages, err := f.results.Receive(t.Context(), 10)
		require.NoError(t, err)

		if len(messages) == 0 {
			break
		}

		for _, m := range messages {
			if body := string(m.Body); strings.Contains(body, `"type":"`+typ+`"`) && strings.Contains(body, `"reasonCode":"`+reason+`"`) {
				require.Contains(t, body, `"action":"replace"`, "it says what it would do")

				have++
			}
		}
	}

	require.Equal(t, want, have)
}
