package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/plan"
)

// forget lets the tenant be worked on by a worker that has none of the programs.
func (l *life) forget() {
	l.t.Helper()

	l.Runner = newRunner(l.t, withoutPrograms)
	require.NotNil(l.t, l.run(plan.StepUp).Failure)
}

// A tenant with data is deleted by the state alone: what kept it from being
// deleted is undone, and what is to stay of its data stays.
func TestSiloIsDeletedWithoutItsProgram(t *testing.T) {
	t.Parallel()

	l := newLife(t, "Acme_Without")
	l.must(plan.StepUp)
	l.top.Protect = true
	l.must(plan.StepUp)
	require.Equal(t, true, l.database().Inputs["deletionProtection"])

	l.forget()
	l.top.FinalSnapshot = l.top.Tenant.Slug(63) + "-final"
	before := l.resources()

	prepared := l.must(plan.StepPrepareDelete)
	require.Equal(t, 2, prepared.Changes["update"], "the database and the key: %v", prepared.Changes)
	require.Zero(t, prepared.Changes["create"]+prepared.Changes["delete"]+prepared.Changes["replace"], "%v", prepared.Changes)
	require.Equal(t, siloResources, prepared.Resources)
	require.Len(t, prepared.Complaints, 1)

	after := l.resources()
	database := after[cloudsim.TypeInstance][0]
	require.Equal(t, false, database.Inputs["deletionProtection"])
	require.Equal(t, before[cloudsim.TypeInstance][0].Tags, database.Tags)
	require.Equal(t, before[cloudsim.TypeInstance][0].Inputs["allocatedStorage"], database.Inputs["allocatedStorage"])

	delete(before, cloudsim.TypeInstance)
	delete(after, cloudsim.TypeInstance)
	delete(before, cloudsim.TypeKey)
	delete(after, cloudsim.TypeKey)
	require.Equal(t, before, after)

	l.must(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)

	left := l.resources()
	require.Len(t, left, 2, "%v", left)
	require.Equal(t, l.top.FinalSnapshot, left[cloudsim.TypeSnapshot][0].ID)
	require.Equal(t, cloudsim.StateAvailable, left[cloudsim.TypeKey][0].State)
	require.Equal(t, l.top.FinalSnapshot, left[cloudsim.TypeKey][0].Tags[inventory.TagKeptFor])
	require.Equal(t, l.top.Tenant.String(), left[cloudsim.TypeKey][0].Tags[inventory.TagTenant])
}

func TestBridgeIsDeletedWithoutItsProgram(t *testing.T) {
	t.Parallel()

	l := newLife(t, "Acme_Without_Bridge")
	l.bridge(commons(t, l.top.Region, "without"))
	with("pointInTimeRecovery", "false")(&l.top)
	l.must(plan.StepUp)
	l.top.Protect = true
	l.must(plan.StepUp)
	require.Equal(t, true, l.one(cloudsim.TypeTable).Inputs["deletionProtectionEnabled"])

	table := l.one(cloudsim.TypeTable).ID

	l.forget()
	l.top.FinalSnapshot = l.top.Tenant.Slug(63) + "-final"

	deleted := l.must(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)
	require.Equal(t, 1, deleted.Changes["update"], "the table: %v", deleted.Changes)
	require.Empty(t, l.resources())
	require.Equal(t, 1, backups(t, table))
}

// Whose data is to go loses it: no snapshot is left, and no key.
func TestSiloIsDeletedWithItsDataWithoutItsProgram(t *testing.T) {
	t.Parallel()

	l := newLife(t, "Acme_Without_Data")
	l.must(plan.StepUp)
	l.top.Protect = true
	l.must(plan.StepUp)
	l.forget()

	l.must(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)
	require.Empty(t, l.resources())
}
