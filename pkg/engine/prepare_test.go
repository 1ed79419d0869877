package engine_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// protected makes a tenant of the program plain, whose inputs hold secrets.
func (b *bed) protected(t *testing.T, id tenant.ID) checkpoint.State {
	t.Helper()

	op := b.operation(id, false, "plain", plan.StepUp)
	op.Topologies[0].Protect = true
	require.Nil(t, b.Run(t.Context(), 0, op, engine.Watch{}).Failure)

	refused := b.Run(t.Context(), 0, b.operation(id, true, "plain", plan.StepDestroy), engine.Watch{})
	require.NotNil(t, refused.Failure)

	b.operations(t)

	return b.state(t, id)
}

func (b *bed) state(t *testing.T, id tenant.ID) checkpoint.State {
	t.Helper()

	state, err := checkpoint.Read([]byte(ciphertext.ReplaceAllString(b.checkpoint(t, id.String()), `$1"`)))
	require.NoError(t, err)

	return state
}

// ciphertext differs whenever it is written.
var ciphertext = regexp.MustCompile(`("ciphertext":")[^"]+"`)

// What stood can be deleted, whatever became of its program.
func TestADeletionNeedsNoProgram(t *testing.T) {
	t.Parallel()

	cases := []struct {
		program string
		ups     int
		because string
	}{
		{program: "gone", ups: 1, because: `program "gone" is not built into this worker`},
		{program: "refuses", ups: 2, because: "parameters.color: unknown parameter"},
		{program: "panics", ups: 2, because: "program panics panicked: the sky fell on us"},
	}

	for _, test := range cases {
		t.Run(test.program, func(t *testing.T) {
			t.Parallel()

			b := newBed(t)
			before := b.protected(t, "acme")
			run := func(steps ...plan.Step) engine.Result {
				op := b.operation("acme", true, test.program, steps...)
				op.Topologies[0].Parameters = tenant.Parameters{"color": json.RawMessage(`"blue"`)}

				return b.Run(t.Context(), 0, op, engine.Watch{})
			}

			res := run(plan.StepPrepareDelete)
			require.Nil(t, res.Failure)
			require.Equal(t, strings.Split(strings.Repeat("up ", test.ups), " ")[:test.ups], b.operations(t))
			require.Len(t, res.Complaints, 1)
			require.Contains(t, res.Complaints[0], test.because)
			require.Zero(t, res.Changes["create"]+res.Changes["delete"]+res.Changes["replace"], res.Changes)
			requireNoSecret(t, res)
			requireSameButProtection(t, before, b.state(t, "acme"))

			res = run(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)
			require.Nil(t, res.Failure)
			require.Zero(t, res.Resources)
			require.False(t, res.StackCreated)
		})
	}
}

func requireSameButProtection(t *testing.T, before, after checkpoint.State) {
	t.Helper()

	was, is := byURN(before), byURN(after)
	for urn, r := range is {
		require.False(t, r.Protect, urn)

		// Those of the inputs are among the others.
		r.Protect, r.PropertyDependencies = was[urn].Protect, was[urn].PropertyDependencies
		is[urn] = r
	}

	require.Equal(t, was, is)
}

func byURN(state checkpoint.State) map[string]checkpoint.Resource {
	resources := map[string]checkpoint.Resource{}

	for _, r := range state.Resources {
		if r.Type != "pulumi:pulumi:Stack" {
			resources[r.URN] = r
		}
	}

	return resources
}

// What depends on what, and on which provider, is what a destroy goes by.
func TestADeletionKeepsTheOrder(t *testing.T) {
	t.Parallel()

	c := newCloudBed(t, time.Minute)
	require.Nil(t, (<-c.run(t.Context(), c.operation("acme", false, "cloud", plan.StepUp))).Failure)

	before := c.state(t, "acme")
	first := "urn:pulumi:acme::lessor::aws:ec2/vpc:Vpc::t1-net0"
	require.Equal(t, []string{first}, byURN(before)["urn:pulumi:acme::lessor::aws:ec2/vpc:Vpc::t1-net1"].Dependencies)
	require.Contains(t, byURN(before)[first].Provider, "::default_")

	res := <-c.run(t.Context(), c.operation("acme", true, "gone", plan.StepRefresh, plan.StepPrepareDelete))
	require.Nil(t, res.Failure)
	require.Equal(t, map[string]int{"same": 6}, res.Changes, "of a refresh and an up")
	requireSameButProtection(t, before, c.state(t, "acme"))

	t.Log("what somebody deleted is not made again")

	vpcs, err := c.cloud.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeVPC})
	require.NoError(t, err)
	require.NoError(t, c.cloud.Remove(t.Context(), cloudsim.Removal{
		Type: vpcs[0].Type, Region: vpcs[0].Region, ID: vpcs[0].ID, Behind: true,
	}))

	res = <-c.run(t.Context(), c.operation("acme", true, "gone", plan.StepRefresh, plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove))
	require.Nil(t, res.Failure)
	require.Zero(t, res.Changes["create"], res.Changes)

	vpcs, err = c.cloud.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeVPC})
	require.NoError(t, err)
	require.Empty(t, vpcs)
}

// Of two topologies the one goes by the state and the other by its program.
func TestADeletionWithOneOfTwoPrograms(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	run := func(created, protect bool, programs [2]string, leaving int, steps ...plan.Step) engine.Result {
		op := b.operation("acme", created, programs[0], steps...)
		second := op.Topologies[0]
		second.Generation, second.Program = 2, programs[1]
		both := []engine.Topology{op.Topologies[0], second}

		for i := range both {
			both[i].Protect = protect
		}

		op.Leaving, op.Topologies = both[:leaving], both[leaving:]

		return b.Run(t.Context(), 0, op, engine.Watch{})
	}

	require.Nil(t, run(false, true, [2]string{"plain", "plain"}, 0, plan.StepUp).Failure)

	before := b.state(t, "acme")

	t.Log("what stays needs its program, or the next up would remove it")

	res := run(true, true, [2]string{"plain", "gone"}, 1, plan.StepPrepareDelete)
	require.NotNil(t, res.Failure)
	require.Contains(t, res.Failure.Message, `program "gone" is not built into this worker`)
	require.Equal(t, byURN(before), byURN(b.state(t, "acme")))

	t.Log("a failure that may pass is no reason to go without the program")

	res = run(true, true, [2]string{"fails", "plain"}, 1, plan.StepPrepareDelete)
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindThrottled, res.Failure.Kind)
	require.Empty(t, res.Complaints)
	require.Equal(t, byURN(before), byURN(b.state(t, "acme")))

	t.Log("what leaves goes by the state, and what stays is protected still")

	res = run(true, true, [2]string{"gone", "plain"}, 1, plan.StepPrepareDelete)
	require.Nil(t, res.Failure)
	require.Len(t, res.Complaints, 1)
	require.JSONEq(t, "2", string(res.Outputs["generation"]))

	for urn, r := range byURN(b.state(t, "acme")) {
		require.Equal(t, strings.Contains(urn, "Stash::t2-"), r.Protect, urn)
	}

	t.Log("a deletion of both")

	res = run(true, true, [2]string{"plain", "gone"}, 0, plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)
	require.Nil(t, res.Failure)
	require.Len(t, res.Complaints, 1)
	require.Contains(t, res.Complaints[0], "t2-*")
	require.Zero(t, res.Resources)
}

// A state that cannot be declared is only gone without if nothing is to be kept.
func TestADeletionOfWhatCannotBeDeclared(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	b.protected(t, "acme")

	// An engine that calls things otherwise.
	renamed := strings.ReplaceAll(b.checkpoint(t, "acme"), "test:index:Group$pulumi:index:Stash", "pulumi:index:Stash")
	call(t, http.MethodPut, "/"+b.bucket+"/.pulumi/stacks/lessor/acme.json", "", renamed)

	op := b.operation("acme", true, "gone", plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)

	res := b.Run(t.Context(), 0, op, engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindInvalid, res.Failure.Kind)
	require.Equal(t, "prepare-delete", res.Failure.Step)
	require.Contains(t, res.Failure.Message, "its parent is another")
	require.Contains(t, res.Failure.Hint, "acceptDataLoss")

	for _, r := range b.state(t, "acme").Resources {
		require.Equal(t, r.Type == "pulumi:index:Stash", r.Protect)
	}

	op.Topologies[0].FinalSnapshot = ""

	res = b.Run(t.Context(), 0, op, engine.Watch{})
	require.Nil(t, res.Failure)
	require.Len(t, res.Complaints, 2)
	require.Contains(t, res.Complaints[1], "AWS may still refuse")
	require.Zero(t, res.Resources)
}
