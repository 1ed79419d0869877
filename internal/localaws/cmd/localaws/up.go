package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/internal/localaws"
)

const (
	privateDir  = 0o700
	privateFile = 0o600
	envFile     = "env"
)

type upOptions struct {
	binDir, dir string
	port        int
	worker      bool
}

func newUp() *cobra.Command {
	o := upOptions{binDir: ownDir()}
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Start everything and run until Ctrl-C",
		Long:    "Start everything, write a file with the variables for worker and enqueue, and run until Ctrl-C.",
		Example: "  localaws up\n  localaws up --worker --dir /tmp/fleet --port 4566",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return up(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&o.binDir, "bin-dir", o.binDir, "where the tools and the worker were built to")
	cmd.Flags().StringVar(&o.dir, "dir", filepath.Join(".cache", "localaws"),
		"directory for logs and state; what a former run left there is replaced")
	cmd.Flags().IntVar(&o.port, "port", 0, "port of the endpoint on 127.0.0.1, 0 for a free one")
	cmd.Flags().BoolVar(&o.worker, "worker", false, "run a worker beside it, its log in DIR/worker.log")

	return cmd
}

// ownDir is where this program was built to, which is where the others are.
func ownDir() string {
	path, err := os.Executable()
	if err != nil {
		return ".bin"
	}

	return filepath.Dir(path)
}

func up(ctx context.Context, o upOptions, out io.Writer) (err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return fmt.Errorf("finding the directory: %w", err)
	}

	if err := os.MkdirAll(dir, privateDir); err != nil {
		return fmt.Errorf("making the directory: %w", err)
	}

	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()

	env, err := localaws.Start(ctx, localaws.Options{BinDir: o.binDir, Dir: dir, Log: out, Port: o.port})
	if err != nil {
		return fmt.Errorf("starting local mode: %w", err)
	}

	defer func() { err = errors.Join(err, env.Stop()) }()

	variables := filepath.Join(dir, envFile)
	if err := os.WriteFile(variables, exports(env.Environ()), privateFile); err != nil {
		return fmt.Errorf("writing the variables: %w", err)
	}

	// The variables lead to an endpoint that is gone afterwards.
	defer func() { err = errors.Join(err, os.Remove(variables)) }()

	var w *workerProcess

	if o.worker {
		if w, err = startWorker(ctx, filepath.Join(o.binDir, "worker"), dir, env.Environ()); err != nil {
			return err
		}
	}

	_, _ = fmt.Fprint(out, guide(env.URL(), variables, o.binDir, w))

	if w == nil {
		<-ctx.Done()

		return nil
	}

	return w.runUntil(ctx, out)
}

// exports writes variables as a shell reads them.
func exports(environ []string) []byte {
	var b strings.Builder

	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		fmt.Fprintf(&b, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}

	return []byte(b.String())
}

// guide says what there is and what to try.
func guide(endpoint, variables, binDir string, w *workerProcess) string {
	var b strings.Builder

	fmt.Fprintf(&b, "\nLocal mode stands at %s; Ctrl-C ends it and everything in it.\n", endpoint)

	if w != nil {
		fmt.Fprintf(&b, "A worker runs beside it: log %s, metrics %s/metrics\n", w.log, w.admin)
	}

	enqueue := filepath.Join(shorten(binDir), "enqueue")
	fmt.Fprintf(&b, "\nTry next, in another terminal:\n\n  source %s\n", shorten(variables))

	if w == nil {
		fmt.Fprintf(&b, "  %s &\n", filepath.Join(shorten(binDir), "worker"))
	}

	for _, command := range []string{
		"provision acme --tier free --region us-east-1 --wait",
		"provision globex --tier enterprise --region us-east-1 --wait",
		"status globex",
		"tier acme enterprise --wait",
		"deprovision acme --confirm acme --accept-data-loss --wait",
	} {
		fmt.Fprintf(&b, "  %s %s\n", enqueue, command)
	}

	fmt.Fprintf(&b, "  curl -s %s/_cloud/resources    # what the tenants have\n\n", endpoint)

	return b.String()
}

// shorten gives a path as one would type it.
func shorten(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}

	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}

	if relative, err := filepath.Rel(wd, absolute); err == nil && filepath.IsLocal(relative) {
		return relative
	}

	return absolute
}
