package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	queueType = "aws:sqs/queue:Queue"
	dbType    = "aws:rds/instance:Instance"
)

func difference(action, typeName, name string) tenant.Difference {
	return tenant.Difference{Type: typeName, Name: name, Action: action}
}

func TestWhatAGuardLetsPass(t *testing.T) {
	t.Parallel()

	var (
		deleteQueue  = difference("delete", queueType, "t1-queue")
		deleteDead   = difference("delete", queueType, "t1-dead")
		replaceQueue = difference("replace", queueType, "t1-jobs")
		deleteDB     = difference("delete", dbType, "t1-old")
		replaceDB    = difference("replace", dbType, "t1-db")
		harmless     = []tenant.Difference{
			difference("create", dbType, "t1-new"), difference("update", dbType, "t1-db"), difference("import", dbType, "t1-db"),
		}
	)

	tests := map[string]struct {
		guard tenant.Guard
		found []tenant.Difference
		over  []tenant.Difference
		says  string
	}{
		"no bounds":          {found: []tenant.Difference{deleteQueue, replaceDB}},
		"nothing is lost":    {guard: tenant.Guard{MaxDeletes: new(0), MaxReplaces: new(0), ProtectedTypes: []string{dbType}}, found: harmless},
		"nothing at all":     {guard: tenant.Guard{MaxDeletes: new(0), MaxReplaces: new(0), ProtectedTypes: []string{dbType}}},
		"as many as may be":  {guard: tenant.Guard{MaxDeletes: new(2)}, found: []tenant.Difference{deleteQueue, deleteDead, replaceDB}},
		"another bound":      {guard: tenant.Guard{MaxReplaces: new(0)}, found: []tenant.Difference{deleteQueue, deleteDB}},
		"another type":       {guard: tenant.Guard{ProtectedTypes: []string{dbType}}, found: []tenant.Difference{deleteQueue, replaceQueue}},
		"a prefix of a type": {guard: tenant.Guard{ProtectedTypes: []string{"aws:sqs/queue:Que"}}, found: []tenant.Difference{deleteQueue}},
		"too many deletes": {
			guard: tenant.Guard{MaxDeletes: new(1)}, found: []tenant.Difference{deleteQueue, replaceDB, deleteDead},
			over: []tenant.Difference{deleteDead, deleteQueue},
			says: "delete 2 resources, where maxDeletes is 1: delete aws:sqs/queue:Queue t1-dead, delete aws:sqs/queue:Queue t1-queue",
		},
		"too many replaces": {
			guard: tenant.Guard{MaxReplaces: new(0)}, found: []tenant.Difference{deleteQueue, replaceQueue},
			over: []tenant.Difference{replaceQueue},
			says: "replace 1 resource, where maxReplaces is 0: replace aws:sqs/queue:Queue t1-jobs",
		},
		"a protected type": {
			guard: tenant.Guard{MaxDeletes: new(1), ProtectedTypes: []string{dbType}}, found: []tenant.Difference{deleteDB, replaceDB, replaceQueue},
			over: []tenant.Difference{replaceDB, deleteDB},
			says: "delete or replace 2 resources of protected types: replace aws:rds/instance:Instance t1-db, delete aws:rds/instance:Instance t1-old",
		},
		"all at once": {
			guard: tenant.Guard{MaxDeletes: new(0), MaxReplaces: new(0), ProtectedTypes: []string{dbType}},
			found: slices.Concat(harmless, []tenant.Difference{deleteQueue, replaceQueue, deleteDB, replaceDB}),
			over:  []tenant.Difference{replaceDB, deleteDB, replaceQueue, deleteQueue},
			says: "delete 2 resources, where maxDeletes is 0, and replace 2 resources, where maxReplaces is 0, and delete or replace 2 resources " +
				"of protected types: replace aws:rds/instance:Instance t1-db, delete aws:rds/instance:Instance t1-old, " +
				"replace aws:sqs/queue:Queue t1-jobs and 1 more",
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			over := engine.Exceeding(test.guard, test.found)
			require.Equal(t, test.over, over)

			if len(over) > 0 {
				require.Equal(t, "the guard of the tier stops an update that would "+test.says, engine.Objection(test.guard, over))
			}
		})
	}
}

func TestWhatAnApprovalCovers(t *testing.T) {
	t.Parallel()

	first, second := difference("delete", queueType, "t1-a"), difference("replace", queueType, "t1-b")
	approved := engine.NewExceeds([]tenant.Difference{first, second})

	tests := map[string]struct {
		approved *engine.Exceeds
		over     []tenant.Difference
		covered  bool
	}{
		"nothing was approved": {over: []tenant.Difference{first}},
		"the same":             {approved: approved, over: []tenant.Difference{first, second}, covered: true},
		"in another order":     {approved: approved, over: []tenant.Difference{second, first}, covered: true},
		"for another reason": {
			approved: approved, covered: true,
			over: []tenant.Difference{first, {Type: queueType, Name: "t1-b", Action: "replace", Properties: []string{"name"}}},
		},
		"what is left of it":     {approved: approved, over: []tenant.Difference{second}, covered: true},
		"another name":           {approved: approved, over: []tenant.Difference{first, difference("replace", queueType, "t1-c")}},
		"another action":         {approved: approved, over: []tenant.Difference{first, difference("delete", queueType, "t1-b")}},
		"another type":           {approved: approved, over: []tenant.Difference{difference("delete", dbType, "t1-a")}},
		"more":                   {approved: approved, over: []tenant.Difference{first, second, difference("delete", queueType, "t1-c")}},
		"more often":             {approved: approved, over: []tenant.Difference{first, first}},
		"a report without proof": {approved: &engine.Exceeds{Digest: "d", Report: approved.Report}, over: []tenant.Difference{first}},
		"the whole of a report that was cut": {
			approved: &engine.Exceeds{Digest: approved.Digest, Report: approved.Report[:1]}, over: []tenant.Difference{first, second}, covered: true,
		},
		"a part of a report that was cut": {
			approved: &engine.Exceeds{Digest: approved.Digest, Report: approved.Report[:1]}, over: []tenant.Difference{first},
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, test.covered, engine.Covers(test.approved, test.over))
		})
	}
}

func drawDifferences(t *rapid.T, label string) []tenant.Difference {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) tenant.Difference {
		return difference(
			rapid.SampledFrom([]string{"delete", "replace", "update", "create"}).Draw(t, "action"),
			rapid.SampledFrom([]string{queueType, dbType}).Draw(t, "type"),
			rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"))
	}), 0, 8).Draw(t, label)
}

func drawBound(t *rapid.T, label string) *int {
	if rapid.Bool().Draw(t, "no "+label) {
		return nil
	}

	return new(rapid.IntRange(0, 4).Draw(t, label))
}

func drawGuard(t *rapid.T) tenant.Guard {
	return tenant.Guard{
		MaxDeletes: drawBound(t, "maxDeletes"), MaxReplaces: drawBound(t, "maxReplaces"),
		ProtectedTypes: rapid.SliceOfDistinct(rapid.SampledFrom([]string{queueType, dbType}), rapid.ID).Draw(t, "types"),
	}
}

// holds reports whether all of part is in whole, counted the slow way.
func holds(whole, part []tenant.Difference) bool {
	rest := slices.Clone(whole)

	for _, d := range part {
		i := slices.IndexFunc(rest, func(r tenant.Difference) bool { return r.Type == d.Type && r.Name == d.Name && r.Action == d.Action })
		if i < 0 {
			return false
		}

		rest = slices.Delete(rest, i, i+1)
	}

	return true
}

func TestGuardProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		guard, found := drawGuard(t), drawDifferences(t, "found")
		over := engine.Exceeding(guard, found)

		require.True(t, holds(found, over), "nothing is made up")
		require.NotContains(t, actions(over), "create")
		require.NotContains(t, actions(over), "update")

		more := slices.Concat(found, drawDifferences(t, "more"))
		require.True(t, holds(engine.Exceeding(guard, more), over), "what is too much stays too much when there is more")

		shuffled := rapid.Permutation(found).Draw(t, "shuffled")
		require.Equal(t, over, engine.Exceeding(guard, shuffled))
		require.Equal(t, engine.NewExceeds(over).Digest, engine.NewExceeds(rapid.Permutation(over).Draw(t, "shuffled again")).Digest)

		stricter := guard
		stricter.MaxDeletes, stricter.MaxReplaces = new(0), new(0)
		require.True(t, holds(engine.Exceeding(stricter, found), over), "a stricter guard stops no less")

		other := drawDifferences(t, "other")
		require.Equal(t, holds(over, other), engine.Covers(engine.NewExceeds(over), other), "an approval covers its parts and nothing else")
	})
}

func actions(differences []tenant.Difference) []string {
	all := make([]string, 0, len(differences))
	for _, d := range differences {
		all = append(all, d.Action)
	}

	return all
}

// A report has bounds. What is lost is the last that it leaves out, and a guard
// counts what it leaves out all the same.
func TestTheBoundsOfAReport(t *testing.T) {
	t.Parallel()

	const (
		many = 220
		few  = 3
	)

	state := map[string]any{"a": 1}
	wide := map[string]any{}

	for i := range many {
		wide[fmt.Sprintf("p%03d", i)] = i
	}

	seen := make([]events.EngineEvent, 0, 2*many)

	for i := range many {
		seen = append(seen, before(metadata(apitype.OpUpdate, queueType, fmt.Sprintf("u%03d", i), state, wide)))
	}

	for i := range few {
		name := fmt.Sprintf("r%d", i)
		seen = append(seen,
			before(metadata(apitype.OpCreateReplacement, dbType, name, state, state)),
			before(metadata(apitype.OpReplace, dbType, name, state, state)),
			before(metadata(apitype.OpDeleteReplaced, dbType, name, state, nil)),
			before(metadata(apitype.OpDelete, queueType, "d"+name, state, nil)),
			before(metadata(apitype.OpDelete, "pulumi:providers:aws", "p"+name, state, nil)))
	}

	report := engine.Collect(plan.StepPreview, 0, seen, true).Differences
	require.Len(t, report, 200)
	require.Equal(t, slices.Concat(
		slices.Repeat([]string{"delete"}, few), slices.Repeat([]string{"replace"}, few), []string{"update"},
	), actions(report[:2*few+1]))
	require.Len(t, report[2*few].Properties, 50)

	over := engine.NewExceeds(slices.Repeat([]tenant.Difference{difference("delete", queueType, "t1-queue")}, many))
	require.Len(t, over.Report, 200)
	require.False(t, engine.Covers(over, over.Report), "nobody knows what was left out")
}
