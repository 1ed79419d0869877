package enqueuecli_test

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
)

func TestHelp(t *testing.T) {
	t.Parallel()

	runCases(t, []runCase{
		{name: "root", args: []string{}},
		{name: "help", args: []string{"help"}},
		{name: "provision", args: []string{"provision", "--help"}},
		{name: "help provision", args: []string{"help", "provision"}},
		{name: "exit codes", args: []string{"help", "exit-codes"}},
		{name: "dlq redrive", args: []string{"help", "dlq", "redrive"}},
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()

	got := newWorld().run(t.Context(), "version")
	require.Equal(t, ran{stdout: "enqueue v1.2.3 (" + runtime.Version() + ")\n"}, got)

	got = newWorld().run(t.Context(), "version", "-o", "json")
	require.JSONEq(t, `{"version": "v1.2.3", "go": "`+runtime.Version()+`"}`, got.stdout)
}

func TestCompletion(t *testing.T) {
	t.Parallel()

	catalog := t.TempDir() + "/catalog.yaml"
	write(t, catalog, "version: 1\ntiers:\n  standard: {program: pool}\n  free: {program: pool}\n")

	configured := with(many, func(w *world) {
		w.env["LESSOR_CATALOG"], w.env["LESSOR_REGIONS"] = catalog, "eu-west-1, us-east-1"
	})

	tests := []struct {
		name  string
		args  []string
		world func() *world
		want  string
	}{
		{name: "tenants", args: []string{"status", ""}, world: configured, want: "acme\nearly\nglobex\nheld\n:4\n"},
		{name: "tenants by prefix", args: []string{"update", "g"}, world: configured, want: "globex\n:4\n"},
		{name: "tenants of which something waits for approval", args: []string{"approve", ""}, world: stopped, want: "acme\n:4\n"},
		{name: "tenants of which nothing waits for approval", args: []string{"approve", ""}, world: approved, want: ":4\n"},
		{name: "tenants that wait for their data", args: []string{"confirm", "a"}, world: asking, want: "acme\n:4\n"},
		{name: "tenants that do not wait for their data", args: []string{"confirm", "a"}, world: baking, want: ":4\n"},
		{name: "tenants of which a tier stands by", args: []string{"retire", "a"}, world: baking, want: "acme\n:4\n"},
		{name: "tenants of which no tier stands by", args: []string{"retire", "a"}, world: asking, want: ":4\n"},
		{
			name: "states", args: []string{"list", "--state", ""}, world: many,
			want: "settled\nrunning\npending\nbackoff\nheld\nfailed\nawaiting-creation\nawaiting-approval\nawaiting-cutover\n:4\n",
		},
		{name: "one tenant only", args: []string{"status", "acme", ""}, world: configured, want: ":4\n"},
		{
			name: "tenants of a dead table", args: []string{"status", ""},
			world: with(many, func(w *world) { w.fail["connect"] = errBroken }), want: ":4\n",
		},
		{name: "tier", args: []string{"tier", "acme", ""}, world: configured, want: "free\nstandard\n:4\n"},
		{name: "tier flag", args: []string{"provision", "--tier", ""}, world: configured, want: "free\nstandard\n:4\n"},
		{name: "tier without a catalog", args: []string{"tier", "acme", ""}, world: many, want: ":4\n"},
		{
			name: "tier of a lost catalog", args: []string{"tier", "acme", ""},
			world: with(many, func(w *world) { w.env["LESSOR_CATALOG"] = catalog + ".lost" }), want: ":4\n",
		},
		{name: "region", args: []string{"provision", "--region", ""}, world: configured, want: "eu-west-1\nus-east-1\n:4\n"},
		{name: "output", args: []string{"status", "--output", ""}, world: many, want: "text\njson\n:4\n"},
		{name: "topics", args: []string{"help", "exi"}, world: many, want: "exit-codes\tExit codes\n:4\n"},
		{name: "shells", args: []string{"completion", "z"}, world: many, want: "zsh\n:4\n"},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			got := test.world().run(t.Context(), append([]string{"__complete"}, test.args...)...)
			require.Zero(t, got.code)
			require.Equal(t, test.want, got.stdout)
		})
	}

	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := newWorld().run(t.Context(), "completion", shell)
		require.Zero(t, got.code)
		require.Contains(t, got.stdout, "__complete", shell)
	}
}

// A flag stands above the environment, and that above the default.
func TestPrecedence(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name  string
		env   string
		flags []string
		want  string
	}{
		{name: "default", want: "lessor-tenants"},
		{name: "environment", env: "from-env", want: "from-env"},
		{name: "flag", env: "from-env", flags: []string{"--table", "from-flag"}, want: "from-flag"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			w := withAcme()
			if test.env != "" {
				w.env["LESSOR_TABLE"] = test.env
			}

			got := w.run(t.Context(), append([]string{"suspend", "acme", "--queue-url", "https://other"}, test.flags...)...)
			require.Zero(t, got.code, got.stderr)
			require.Equal(t, map[string]string{"table": test.want, "queue": "https://other"}, w.reached)
		})
	}
}

// A signal ends a call that hangs, and the exit code says so.
func TestInterrupt(t *testing.T) {
	t.Parallel()

	w := withAcme()
	ctx, cancel := context.WithCancel(t.Context())
	w.fail["get"] = context.Canceled

	cancel()

	got := w.run(ctx, "suspend", "acme")
	require.Equal(t, 130, got.code)
	require.Equal(t, "error: interrupted\n", got.stderr)
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()

	w := withAcme()
	w.fail["get"] = context.DeadlineExceeded

	got := w.run(t.Context(), "suspend", "acme")
	require.Equal(t, 7, got.code)
	require.Contains(t, got.stderr, "hint: no answer from AWS")
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

// What could not be written is not done.
func TestStdoutClosed(t *testing.T) {
	t.Parallel()

	for _, args := range [][]string{{"list"}, {"status", "acme", "-o", "json"}, {"version"}, {"suspend", "acme", "-n"}, {"dlq", "list"}} {
		w := withLetters()
		w.records = withAcme().records

		var stderr writer

		code := enqueuecli.Run(t.Context(), enqueuecli.World{
			Stdout: closedPipe{}, Stderr: &stderr, Env: w.env, Connector: w, Now: w.now, NewID: func() string { return "event" },
		}, args...)
		require.Equal(t, 1, code, args)
		require.Equal(t, "error: writing to standard output: file already closed\n", stderr.tail(), args)
	}
}

// writer keeps the last write.
type writer struct{ last []byte }

func (w *writer) Write(p []byte) (int, error) {
	w.last = append(w.last[:0], p...)

	return len(p), nil
}

func (w *writer) tail() string { return string(w.last) }
