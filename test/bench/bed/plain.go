package bed

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// PlainVariable makes this program the one that uses the Automation API as its
// documentation shows.
const PlainVariable = "BENCH_PLAIN"

// PlainOrder asks for one operation of the plain Automation API.
type PlainOrder struct {
	Tenant     tenant.ID         `json:"tenant"`
	Program    string            `json:"program"`
	Parameters map[string]string `json:"parameters"`
	Destroy    bool              `json:"destroy"`
	// Bucket has the state, by default the one of the bed, and Project is that of
	// the stack, by default one that no fleet uses. Secrets is the URL of the key.
	Bucket  string `json:"bucket"`
	Project string `json:"project"`
	Secrets string `json:"secrets"`
	// Beside are run at the same time.
	Beside []PlainOrder `json:"beside"`
}

// PlainAnswer says how it went.
type PlainAnswer struct {
	Took  time.Duration `json:"took"`
	Error string        `json:"error"`
}

// Plain is a running program that uses the plain Automation API.
type Plain struct {
	PID int

	bed    *Bed
	cmd    *exec.Cmd
	orders io.WriteCloser
	lines  *bufio.Scanner
	stderr *logBuffer
}

// NewPlain starts the program. counter may be nil.
func (b *Bed) NewPlain(counter *Counter) (*Plain, error) {
	const private = 0o700

	home := filepath.Join(b.Dir, b.Name("plain"))
	if err := os.MkdirAll(filepath.Join(home, "tmp"), private); err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}

	if err := os.Symlink(filepath.Join(b.BinDir, "plugins"), filepath.Join(home, "plugins")); err != nil {
		return nil, fmt.Errorf("installing the provider plugin: %w", err)
	}

	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}

	cli := b.BinDir
	if counter != nil {
		cli = counter.dir
	}

	p := &Plain{bed: b, cmd: exec.Command(self), stderr: &logBuffer{}} //nolint:gosec,noctx // it ends with its standard input
	p.cmd.Stderr = p.stderr

	p.cmd.Env = append(b.environ(), PlainVariable+"=1", "PATH="+cli+":"+os.Getenv("PATH"), "PULUMI_HOME="+home,
		"TMPDIR="+filepath.Join(home, "tmp"),
		// Without the first an awskms stack cannot be used again; without the
		// others the CLI looks for what is not here.
		"PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER=true", "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_DISABLE_REGISTRY_RESOLVE=true")

	if p.orders, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the plain program: %w", err)
	}

	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the plain program: %w", err)
	}

	p.lines = bufio.NewScanner(stdout)

	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the plain program: %w", err)
	}

	p.PID = p.cmd.Process.Pid

	return p, nil
}

var errPlain = errors.New("the plain Automation API failed")

// Run runs one operation, or several at the same time, and returns how long that
// took in the program itself.
func (p *Plain) Run(o PlainOrder, beside ...PlainOrder) (time.Duration, error) {
	o = p.complete(o)

	for _, other := range beside {
		o.Beside = append(o.Beside, p.complete(other))
	}

	if err := json.NewEncoder(p.orders).Encode(o); err != nil {
		return 0, fmt.Errorf("asking the plain program: %w", err)
	}

	if !p.lines.Scan() {
		return 0, fmt.Errorf("%w: it ended\n%s", errPlain, p.stderr.bytes())
	}

	var answer PlainAnswer
	if err := json.Unmarshal(p.lines.Bytes(), &answer); err != nil {
		return 0, fmt.Errorf("reading the answer of the plain program: %w", err)
	}

	if answer.Error != "" {
		return 0, fmt.Errorf("%w: %s", errPlain, answer.Error)
	}

	return answer.Took, nil
}

func (p *Plain) complete(o PlainOrder) PlainOrder {
	o.Bucket = cmp.Or(o.Bucket, p.bed.Bucket())
	o.Project = cmp.Or(o.Project, plainProject)
	o.Secrets = p.bed.variable("LESSOR_SECRETS_PROVIDER")

	return o
}

// Close ends the program.
func (p *Plain) Close() error {
	if err := p.orders.Close(); err != nil {
		return fmt.Errorf("ending the plain program: %w", err)
	}

	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("ending the plain program: %w\n%s", err, p.stderr.bytes())
	}

	return nil
}

// ServePlain is the plain program: it takes orders from stdin until that ends.
func ServePlain(ctx context.Context, programs engine.Programs, stdin io.Reader, stdout io.Writer) error {
	orders, answers := json.NewDecoder(stdin), json.NewEncoder(stdout)

	for {
		var o PlainOrder
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading an order: %w", err)
		}

		var answer PlainAnswer

		began := time.Now()

		if err := runAllPlain(ctx, programs, o); err != nil {
			answer.Error = err.Error()
		}

		answer.Took = time.Since(began)

		if err := answers.Encode(answer); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
}

func runAllPlain(ctx context.Context, programs engine.Programs, o PlainOrder) error {
	var all sync.WaitGroup

	failures := make([]error, 1+len(o.Beside))

	for i, one := range append([]PlainOrder{o}, o.Beside...) {
		all.Go(func() { failures[i] = runPlain(ctx, programs, one) })
	}

	all.Wait()

	return errors.Join(failures...)
}
