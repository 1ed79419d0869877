package bed

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws"
)

// Ran is what a command took that ran to its end.
type Ran struct {
	Took, CPU time.Duration
	// First is when the first of its output came.
	First time.Duration
	// Memory is the most that it held at once, with what its files back.
	Memory int64
	Output []byte
}

// firstOutput notes when the first of an output came.
type firstOutput struct {
	bytes.Buffer

	began time.Time
	first time.Duration
}

func (o *firstOutput) Write(p []byte) (int, error) {
	if o.first == 0 {
		o.first = time.Since(o.began)
	}

	return o.Buffer.Write(p) //nolint:wrapcheck // it never fails
}

// Run runs one of the tools with an environment, and fails if that does.
func (b *Bed) Run(ctx context.Context, environ []string, tool string, args ...string) (Ran, error) {
	var (
		stdout firstOutput
		stderr bytes.Buffer
	)

	cmd := exec.CommandContext(ctx, filepath.Join(b.BinDir, tool), args...) //nolint:gosec // a tool of ours
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = environ, &stdout, &stderr, b.Dir
	stdout.began = time.Now()

	if err := cmd.Run(); err != nil {
		return Ran{}, fmt.Errorf("running %s: %w\n%s", tool, err, stderr.Bytes())
	}

	ran := Ran{
		Took: time.Since(stdout.began), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		First: stdout.first, Output: stdout.Bytes(),
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		ran.Memory = usage.Maxrss * kibibyte
	}

	return ran, nil
}

// CLI is the environment in which the Pulumi CLI works on a bucket.
func (b *Bed) CLI(bucket string) []string {
	backend := url.URL{Scheme: "s3", Host: bucket, RawQuery: url.Values{
		"region": {localaws.Region}, "endpoint": {b.local.URL()}, "use_path_style": {"true"}, "disable_https": {"true"},
		"response_checksum_validation": {"when_required"},
	}.Encode()}

	return append(b.environ(), "PULUMI_BACKEND_URL="+backend.String(), "PULUMI_HOME="+filepath.Join(b.Dir, "cli"),
		"PULUMI_SKIP_UPDATE_CHECK=true")
}
