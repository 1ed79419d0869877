package engine_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// What a worker may find of the state when it takes a tenant over.
func TestADamagedStateIsPutRight(t *testing.T) { //nolint:tparallel // the cases are turns of one stack
	t.Parallel()

	const key = "/.pulumi/stacks/lessor/acme.json"

	b := newBed(t)
	require.Nil(t, b.Run(t.Context(), 0, b.operation("acme", false, "plain", plan.StepUp), engine.Watch{}).Failure)

	whole := b.checkpoint(t, "acme")
	fence := int64(1)

	again := func(t *testing.T) engine.Result {
		t.Helper()

		fence++
		op := b.operation("acme", true, "plain", plan.StepUp)
		op.ID, op.Fence = "OP-"+t.Name(), fence

		return b.Run(t.Context(), 0, op, engine.Watch{})
	}

	t.Run("a dangling reference", func(t *testing.T) { //nolint:paralleltest // as said
		damaged := strings.Replace(whole, `"type":"pulumi:index:Stash"`,
			`"dependencies":["urn:pulumi:acme::lessor::a:b:C::gone"],"type":"pulumi:index:Stash"`, 1)
		require.NotEqual(t, whole, damaged)
		call(t, http.MethodPut, "/"+b.bucket+key, "", damaged)

		res := again(t)
		require.Nil(t, res.Failure)
		require.Len(t, res.Repairs, 1)
		require.Equal(t, tenant.RepairMended, res.Repairs[0].Action)
		require.Contains(t, res.Repairs[0].Detail, "gone")
		require.Equal(t, 2, res.Resources)
		require.Zero(t, res.Changes["create"])
	})

	t.Run("a creation of what no provider knows", func(t *testing.T) { //nolint:paralleltest // as said
		var file map[string]any
		require.NoError(t, json.Unmarshal([]byte(whole), &file))

		latest := file["checkpoint"].(map[string]any)["latest"].(map[string]any) //nolint:forcetypeassert // it panics
		latest["pending_operations"] = []any{map[string]any{"type": "creating", "resource": map[string]any{
			"urn": "urn:pulumi:acme::lessor::pulumi:index:Stash::t1-part9", "custom": true, "type": "pulumi:index:Stash",
			"inputs": map[string]any{"input": "x"},
		}}}
		pending, err := json.Marshal(file)
		require.NoError(t, err)
		call(t, http.MethodPut, "/"+b.bucket+key, "", string(pending))

		res := again(t)
		require.Nil(t, res.Failure)
		require.Len(t, res.Repairs, 1)
		require.Equal(t, tenant.RepairCleared, res.Repairs[0].Action)
		require.Contains(t, res.Repairs[0].Detail, "pulumi:index:Stash t1-part9")
		require.Equal(t, 2, res.Resources)
		require.NotContains(t, b.checkpoint(t, "acme"), "pending_operations")
	})

	t.Run("a creation of the stack that was cut short", func(t *testing.T) { //nolint:paralleltest // as said
		call(t, http.MethodPut, "/"+b.bucket+"/.pulumi/stacks/lessor/half.json", "", `{"version":0,"checkpoint":{"stack":"organization/lessor/half"}}`)

		res := b.Run(t.Context(), 0, b.operation("half", false, "plain", plan.StepUp), engine.Watch{})
		require.Nil(t, res.Failure)
		require.True(t, res.StackCreated)
		require.Contains(t, b.checkpoint(t, "half"), `"secrets_providers":{"type":"cloud"`)
	})

	t.Run("nothing at all", func(t *testing.T) { //nolint:paralleltest // as said
		call(t, http.MethodDelete, "/"+b.bucket+key, "", "")

		res := again(t)
		require.NotNil(t, res.Failure)
		require.Equal(t, tenant.KindIntegrity, res.Failure.Kind, res.Failure)
		require.Contains(t, res.Failure.Message, "it was missing")
		require.Zero(t, res.Processes)
		require.True(t, res.StackCreated, "it must not be created anew")
	})
}
