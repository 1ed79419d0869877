package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// deployCloud makes a network, waits for a file if it is told to, and makes
// another, with the provider plugin.
func deployCloud(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	p := struct {
		Await string `json:"await"`
	}{}
	if err := engine.Decode(t.Parameters, &p); err != nil {
		return nil, err
	}

	var former []pulumi.Resource

	for i := range 2 {
		var vpc pulumi.CustomResourceState

		err := ctx.RegisterResource(cloudsim.TypeVPC, t.Name(fmt.Sprintf("net%d", i)), pulumi.Map{
			"cidrBlock": pulumi.String(fmt.Sprintf("10.%d.0.0/16", i)),
			"tags":      pulumi.StringMap{"Name": pulumi.String(t.Name(fmt.Sprintf("net%d", i)))},
		}, &vpc, pulumi.Version(awsplugin.Version), pulumi.DependsOn(former))
		if err != nil {
			return nil, err
		}

		former = append(former, &vpc)

		for p.Await != "" && i == 0 {
			if _, err := os.Stat(p.Await); err == nil {
				break
			}

			time.Sleep(20 * time.Millisecond)
		}
	}

	return pulumi.Map{}, nil
}

// cloudBed is a bed whose CLI has the provider plugin and a cloud of its own.
type cloudBed struct {
	*bed

	cloud *cloudsim.Client
}

func newCloudBed(t *testing.T, grace time.Duration, opts ...engine.Option) *cloudBed {
	t.Helper()

	b := newBed(t)
	emulator, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	require.NoError(t, err)

	simulated := cloudsim.New(cloudsim.Options{})
	transport := &http.Transport{}
	mux := http.NewServeMux()
	mux.Handle(cloudsim.PathPrefix+"/", simulated.Handler())
	mux.Handle("/", &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(emulator)
		r.Out.Host = r.In.Host
	}})

	server := httptest.NewServer(mux)
	c := &cloudBed{bed: b, cloud: cloudsim.NewClient(server.URL, nil)}

	t.Cleanup(func() {
		simulated.Close()
		c.cloud.Close()
		server.Close()
		transport.CloseIdleConnections()
	})

	binary, err := tool("pulumi")
	require.NoError(t, err)
	plugins, err := tool("plugins")
	require.NoError(t, err)

	cfg := validConfig(t.TempDir())
	cfg.Pulumi, cfg.SecretsProvider, cfg.PluginDir, cfg.InterruptGrace = filepath.Join(cfg.WorkDir, "..", "pulumi"), newKey(t), plugins, grace
	script := fmt.Sprintf("#!/bin/bash\nexport AWS_ENDPOINT_URL=%s\nexec %s \"$@\"\n", server.URL, binary)
	require.NoError(t, os.WriteFile(cfg.Pulumi, []byte(script), 0o700))

	c.dir = filepath.Dir(cfg.WorkDir)
	c.Runner = newRunner(t, cfg, append(opts, engine.WithGraces(5*time.Second, time.Second, 2*time.Second))...)

	return c
}

// run begins an operation on the program cloud.
func (c *cloudBed) run(ctx context.Context, op engine.Operation) <-chan engine.Result {
	ended := make(chan engine.Result, 1)

	go func() { ended <- c.Run(ctx, 0, op, engine.Watch{}) }()

	return ended
}

// awaitStruck waits until a fault has struck.
func (c *cloudBed) awaitStruck(t *testing.T) {
	t.Helper()

	require.Eventually(t, func() bool {
		faults, err := c.cloud.Faults(t.Context())

		return err == nil && faults[0].Struck > 0
	}, time.Minute, 20*time.Millisecond)
}

// process finds the operation's process with a name.
func (c *cloudBed) process(t *testing.T, name string) int {
	t.Helper()

	// The kernel keeps no more of it.
	short := name[:min(len(name), 15)]

	for _, path := range processesIn(t, slotOf(c.dir, 0)) {
		if comm, err := os.ReadFile(filepath.Join(path, "comm")); err == nil && strings.TrimSpace(string(comm)) == short {
			pid, err := strconv.Atoi(filepath.Base(path))
			require.NoError(t, err)

			return pid
		}
	}

	require.Fail(t, "no process has the name "+name)

	return 0
}

// inState lists the names of the networks that the state of acme knows.
func (c *cloudBed) inState(t *testing.T) []string {
	t.Helper()

	out, err := c.pulumi(t, "stack", "export", "--stack", "acme")
	require.NoError(t, err, out)

	var state struct {
		Deployment struct {
			Resources []struct {
				URN  string `json:"urn"`
				Type string `json:"type"`
			} `json:"resources"`
		} `json:"deployment"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &state))

	names := []string{}

	for _, r := range state.Deployment.Resources {
		if r.Type == cloudsim.TypeVPC {
			names = append(names, r.URN[strings.LastIndex(r.URN, "::")+2:])
		}
	}

	return names
}

func (c *cloudBed) requireNothingLeft(t *testing.T) {
	t.Helper()

	require.Empty(t, processesIn(t, slotOf(c.dir, 0)))
	requireNoFiles(t, filepath.Join(c.dir, "work"))
}

// TestAnInterruptedUp ends an up between two resources, of which the second
// hangs.
func TestAnInterruptedUp(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name string
		// frozen keeps the provider from heeding that it shall end too.
		frozen   bool
		grace    time.Duration
		deadline time.Duration
		clean    bool
	}{
		{name: "the provider gives up", grace: time.Minute, clean: true},
		{name: "the provider does not, until the second signal", frozen: true, grace: time.Second},
		{name: "the provider does not, until the deadline", frozen: true, grace: time.Hour, deadline: 8 * time.Second},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			c := newCloudBed(t, test.grace)
			_, err := c.cloud.SetFault(t.Context(), cloudsim.Fault{
				Effect: cloudsim.EffectHang, Operation: cloudsim.OperationCreate, Type: cloudsim.TypeVPC, Nth: 2,
			})
			require.NoError(t, err)

			ctx, cancel := cancelled(t)
			op := c.operation("acme", false, "cloud", plan.StepUp)

			if test.deadline > 0 {
				op.Deadline = time.Now().Add(test.deadline)
			}

			ended := c.run(ctx, op)
			c.awaitStruck(t)

			if test.frozen {
				require.NoError(t, syscall.Kill(c.process(t, "pulumi-resource-aws"), syscall.SIGSTOP))
			}

			cancel(engine.ErrInterrupt)

			res := <-ended
			require.NotNil(t, res.Failure)
			require.Equal(t, tenant.KindInterrupted, res.Failure.Kind, res.Failure)
			require.Equal(t, test.clean, res.Clean)
			require.True(t, res.StackCreated || test.deadline > 0)
			c.requireNothingLeft(t)
			require.Len(t, c.inState(t), 1, "what was done is in the state")

			if !test.clean {
				return
			}

			require.NoError(t, c.cloud.ClearFaults(t.Context(), ""))

			res = <-c.run(t.Context(), c.operation("acme", true, "cloud", plan.StepUp))
			require.Nil(t, res.Failure, "the stack is not locked")
			require.Equal(t, []string{"t1-net0", "t1-net1"}, c.inState(t))
		})
	}
}

// TestAKilledPlugin has the provider die between two resources.
func TestAKilledPlugin(t *testing.T) {
	t.Parallel()

	c := newCloudBed(t, time.Minute)
	file := filepath.Join(t.TempDir(), "go")
	op := c.operation("acme", false, "cloud", plan.StepUp)
	op.Topologies[0].Parameters = tenant.Parameters{"await": json.RawMessage(strconv.Quote(file))}

	ended := c.run(t.Context(), op)

	require.Eventually(t, func() bool {
		found, err := c.cloud.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeVPC})

		return err == nil && len(found) == 1
	}, time.Minute, 20*time.Millisecond)

	require.NoError(t, syscall.Kill(c.process(t, "pulumi-resource-aws"), syscall.SIGKILL))
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	res := <-ended
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindTransient, res.Failure.Kind, res.Failure)
	require.True(t, res.Clean, "the CLI saved its state and ended")
	c.requireNothingLeft(t)

	res = <-c.run(t.Context(), c.operation("acme", true, "cloud", plan.StepUp))
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"t1-net0", "t1-net1"}, c.inState(t))
}

// TestAKilledCLI has the real CLI die in the middle of an up, whose plugin goes
// on alone.
func TestAKilledCLI(t *testing.T) {
	t.Parallel()

	c := newCloudBed(t, time.Minute)
	_, err := c.cloud.SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectHang, Operation: cloudsim.OperationCreate, Type: cloudsim.TypeVPC,
	})
	require.NoError(t, err)

	ended := c.run(t.Context(), c.operation("acme", false, "cloud", plan.StepUp))
	c.awaitStruck(t)
	require.NotZero(t, c.process(t, "pulumi-resource-aws"))
	require.NoError(t, syscall.Kill(c.process(t, "pulumi"), syscall.SIGKILL))

	res := <-ended
	require.NotNil(t, res.Failure)
	require.Contains(t, res.Failure.Message, "the Pulumi CLI was ended by signal: killed")
	require.False(t, res.Clean)
	c.requireNothingLeft(t)
}
