package engine_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// People look after a tenant with the plain CLI while no operation runs.
func TestTheBucketStaysABackendOfThePlainCLI(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	require.Nil(t, b.Run(t.Context(), 0, b.operation("acme", false, "plain", plan.StepUp), engine.Watch{}).Failure)

	out, err := b.pulumi(t, "stack", "ls")
	require.NoError(t, err, out)
	require.Contains(t, out, "acme")

	out, err = b.pulumi(t, "stack", "export", "--stack", "acme")
	require.NoError(t, err, out)
	require.Contains(t, out, "t1-part0")

	out, err = b.pulumi(t, "stack", "history", "--stack", "acme")
	require.NoError(t, err, out)
	require.Contains(t, out, "lessor operation 01OP")

	t.Log("an up by hand, with the SDK as it is")

	dir := t.TempDir()
	binary, err := tool("pulumi")
	require.NoError(t, err)

	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: rootOf(t, binary), SkipVersionCheck: true})
	require.NoError(t, err)

	stack, err := auto.SelectStackInlineSource(t.Context(), "acme", "lessor", func(ctx *pulumi.Context) error {
		_, err := pulumi.NewStash(ctx, "by-hand", &pulumi.StashArgs{Input: pulumi.String("x")})

		return err
	}, auto.Pulumi(command), auto.PulumiHome(dir), auto.EnvVars(map[string]string{
		"PULUMI_BACKEND_URL":                       engine.BackendURL(tenant.Stack{Shard: b.bucket}, ""),
		"PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true", "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_ACCESS_TOKEN": "",
	}))
	require.NoError(t, err)

	_, err = stack.Up(t.Context())
	require.NoError(t, err)

	t.Log("the next operation goes on from there")

	second := b.operation("acme", true, "plain", plan.StepUp)
	second.ID, second.Fence, second.CleanPredecessor = "02OP", 2, true

	res := b.Run(t.Context(), 0, second, engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, 1, res.Changes["delete"], "what was made by hand")
	require.Equal(t, 2, res.Resources)
}

// rootOf is a directory as the SDK wants it, with the CLI in bin.
func rootOf(t *testing.T, binary string) string {
	t.Helper()

	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o700))
	require.NoError(t, os.Symlink(binary, filepath.Join(root, "bin", "pulumi")))

	return root
}

// While an operation runs, the CLI keeps people out and says who has the stack.
func TestAnOperationKeepsThePlainCLIOut(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	require.Nil(t, b.Run(t.Context(), 0, b.operation("acme", false, "plain", plan.StepUp), engine.Watch{}).Failure)

	file := filepath.Join(t.TempDir(), "go-on")
	op := b.operation("acme", true, "waits", plan.StepUp)
	op.ID, op.Fence, op.CleanPredecessor = "02OP", 2, true
	op.Topologies[0].Parameters = tenant.Parameters{"file": []byte(strconv.Quote(file))}

	begun, ended := make(chan struct{}, 100), make(chan engine.Result, 1)

	go func() {
		ended <- b.Run(t.Context(), 0, op, engine.Watch{Progress: moving(begun)})
	}()

	select {
	case <-begun:
	case <-time.After(time.Minute):
		require.Fail(t, "the operation does not begin")
	}

	out, err := b.pulumi(t, "destroy", "--yes", "--stack", "acme")
	require.Error(t, err)
	require.Contains(t, out, "locked by 1 lock(s)")
	require.Contains(t, out, "created by lessor@")

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Nil(t, (<-ended).Failure)
}
