package bed

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws"
)

// Ran is what a command took that ran to its end.
type Ran struct {
	Took, CPU time.Duration
	// First is when the first of its output came.
	First time.Duration
	// Memory is the most that it held at once, with what its files back, as far as
	// was seen while it ran.
	Memory int64
	Output []byte
}

// firstOutput notes when the first of an output came.
type firstOutput struct {
	all   bytes.Buffer
	began time.Time
	first time.Duration
}

func (o *firstOutput) Write(p []byte) (int, error) {
	if o.first == 0 {
		o.first = time.Since(o.began)
	}

	return o.all.Write(p) //nolint:wrapcheck // a buffer takes everything
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

	if err := cmd.Start(); err != nil {
		return Ran{}, fmt.Errorf("running %s: %w", tool, err)
	}

	ended := make(chan error, 1)

	go func() { ended <- cmd.Wait() }()

	ran := Ran{Memory: watchResident(cmd.Process.Pid, ended)}

	if err := <-ended; err != nil {
		return Ran{}, fmt.Errorf("running %s: %w\n%s", tool, err, stderr.Bytes())
	}

	ran.Took = time.Since(stdout.began)
	ran.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	ran.First, ran.Output = stdout.first, stdout.all.Bytes()

	return ran, nil
}

// watchResident is the highest memory of a process until it ends. What the kernel
// says of it afterwards has in it that of this program, which it was before it
// became another.
func watchResident(pid int, ended chan error) int64 {
	const often = 2 * time.Millisecond

	ticker := time.NewTicker(often)
	defer ticker.Stop()

	var peak int64

	for {
		select {
		case err := <-ended:
			ended <- err

			return peak
		case <-ticker.C:
			peak = max(peak, highestResident(pid))
		}
	}
}

// highestResident is VmHWM of man 5 proc, 0 once the process has ended.
func highestResident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}

	for line := range bytes.Lines(text) {
		var n int64
		if _, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &n); err == nil {
			return n * kibibyte
		}
	}

	return 0
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
