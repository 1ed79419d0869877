package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/lessor-dev/lessor/internal/localaws"
)

// Bed is the stand-in for AWS and what is needed to run against it.
type Bed struct {
	Wire *Wire
	// Dir is the benchmark's own directory, BinDir has the tools.
	Dir, BinDir string

	local *localaws.Env
	pages *pages
	// names numbers what must not be the same twice.
	names atomic.Int64
}

// Open starts the stand-in for AWS. log gets a line for each stage.
func Open(ctx context.Context, binDir string, log io.Writer) (*Bed, error) {
	binDir, err := filepath.Abs(binDir)
	if err != nil {
		return nil, fmt.Errorf("finding the tools: %w", err)
	}

	dir, err := os.MkdirTemp("", "lessor-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}

	b := &Bed{Wire: &Wire{calls: Calls{}}, Dir: dir, BinDir: binDir}

	b.local, err = localaws.Start(ctx, localaws.Options{
		BinDir: binDir, Dir: filepath.Join(dir, "aws"), Log: log,
		Intercept: b.wrap,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting local mode: %w", err), os.RemoveAll(dir))
	}

	return b, nil
}

func (b *Bed) wrap(next http.Handler) http.Handler {
	b.pages = newPages(next)

	return b.Wire.wrap(b.pages)
}

// Close stops everything and removes what was written.
func (b *Bed) Close() error { return errors.Join(b.local.Stop(), os.RemoveAll(b.Dir)) }

// AWS is the configuration of the benchmark's own clients, which are not counted
// and not delayed.
func (b *Bed) AWS() aws.Config {
	return aws.Config{
		Region:       localaws.Region,
		BaseEndpoint: aws.String(b.local.URL()),
		Credentials:  credentials.NewStaticCredentialsProvider(observer, observer, ""),
	}
}

// environ is what every process gets: nothing of this one's environment but what
// programs need to run.
func (b *Bed) environ() []string {
	return append(b.local.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "TMPDIR="+b.Dir)
}

// variable is one of those that local mode gives workers.
func (b *Bed) variable(name string) string {
	for _, kv := range b.local.Environ() {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}

	return ""
}

// Bucket is the one that all state is in.
func (b *Bed) Bucket() string {
	first, _, _ := strings.Cut(b.variable("LESSOR_STATE_BUCKETS"), ",")

	return first
}

// Name makes a name that this bed did not use before.
func (b *Bed) Name(what string) string { return fmt.Sprintf("%s-%d", what, b.names.Add(1)) }
