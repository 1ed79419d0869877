package chaos_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/registry"
)

// The times of the fleet: short, so that a take-over takes seconds.
const (
	workers       = 3
	visibility    = 10 * time.Second
	leaseDuration = 8 * time.Second
	leaseMargin   = 2 * time.Second
)

// fleet is a number of workers with their queue and table.
type fleet struct {
	t     *testing.T
	local *localaws.Env
	// aws is the checker's access, which no fault touches.
	aws   aws.Config
	env   []string
	dir   string
	logs  string
	work  string
	table string

	queue  *queue.Queue
	dead   *queue.DeadLetters
	rows   *registry.Registry
	shards []string
	// platform are the resources that there were before any tenant.
	platform map[string]bool

	mu      sync.Mutex
	workers []*workerProcess
	started int
}

// workerProcess is one worker. Once it has ended, ended is closed.
type workerProcess struct {
	number int
	pid    int
	admin  string
	log    *os.File
	ended  chan struct{}
	err    error
	frozen bool
}

func (w *workerProcess) running() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}

// newFleet prepares everything and starts no worker.
func newFleet(t *testing.T, local *localaws.Env, dir string) *fleet {
	t.Helper()

	f := &fleet{t: t, local: local, dir: dir, logs: filepath.Join(dir, "logs"), work: filepath.Join(dir, "work"), table: "chaos"}
	f.aws = aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(local.URL()),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}

	require.NoError(t, os.MkdirAll(f.logs, 0o700))

	catalog := filepath.Join(dir, "catalog.yaml")
	require.NoError(t, os.WriteFile(catalog, []byte(chaosCatalog), 0o600))

	events, dead, results := f.makeQueue("fleet-events"), f.makeQueue("fleet-dead"), f.makeQueue("fleet-results")
	f.makeTable()

	cfg := queue.Config{URL: events, DeadLetterURL: dead, VisibilityTimeout: time.Minute, PollWait: time.Second}
	f.queue = queue.New(sqs.NewFromConfig(f.aws), cfg)
	f.dead = queue.NewDeadLetters(sqs.NewFromConfig(f.aws), cfg)
	f.rows = registry.New(dynamodb.NewFromConfig(f.aws), registry.Config{Table: f.table}, time.Now)

	f.platform = map[string]bool{}

	own, err := local.Cloud().List(t.Context(), cloudsim.Filter{})
	require.NoError(t, err)

	for _, r := range own {
		f.platform[placeOf(r.Type, r.ID)] = true
	}

	environ := local.Environ()
	for _, variable := range environ {
		if buckets, ok := strings.CutPrefix(variable, "LESSOR_STATE_BUCKETS="); ok {
			f.shards = strings.Split(buckets, ",")
		}
	}

	require.NotEmpty(t, f.shards)

	f.env = slices.Concat(environ, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, workerVariable + "=1",
		"AWS_ACCESS_KEY_ID=" + fleetKey,
		"LESSOR_QUEUE_URL=" + events, "LESSOR_DEAD_LETTER_QUEUE_URL=" + dead, "LESSOR_RESULT_TARGET=" + results,
		"LESSOR_TABLE=" + f.table, "LESSOR_CATALOG=" + catalog, "LESSOR_WORK_DIR=" + f.work,
		"LESSOR_VISIBILITY_TIMEOUT=" + visibility.String(), "LESSOR_POLL_WAIT=1s",
		"LESSOR_LEASE_DURATION=" + leaseDuration.String(), "LESSOR_LEASE_MARGIN=" + leaseMargin.String(),
		"LESSOR_MEMORY_LIMIT=4Gi", "LESSOR_MAX_SLOTS=2", "LESSOR_BACKOFF_MIN=1s", "LESSOR_BACKOFF_MAX=5s",
		"LESSOR_BREAKER_PAUSE=2s",
		// Often enough for what is due by the clock; what is forgotten has its own age.
		"LESSOR_SWEEP_INTERVAL=2s",
		"LESSOR_OPERATION_TIMEOUT=60s", "LESSOR_INTERRUPT_GRACE=20s", "LESSOR_DRAIN_TIMEOUT=60s", "LESSOR_LOG_LEVEL=debug",
	})

	return f
}

func (f *fleet) makeQueue(name string) string {
	made, err := sqs.NewFromConfig(f.aws).CreateQueue(f.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name)})
	require.NoError(f.t, err)

	return f.local.URL() + "/" + strings.Join(strings.Split(*made.QueueUrl, "/")[3:], "/")
}

func (f *fleet) makeTable() {
	_, err := dynamodb.NewFromConfig(f.aws).CreateTable(f.t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(f.table),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	require.NoError(f.t, err)
}

// start runs one more worker and does not wait for it: a start may fail for the
// trouble of the moment, and who looks after the fleet starts another.
func (f *fleet) start(ctx context.Context) (*workerProcess, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.started++
	w := &workerProcess{number: f.started, admin: freeAddress(ctx), ended: make(chan struct{})}

	var err error

	w.log, err = os.Create(filepath.Join(f.logs, fmt.Sprintf("worker-%02d.log", w.number)))
	if err != nil {
		return nil, err
	}

	cmd := exec.Command(os.Args[0]) //nolint:noctx // it ends by a signal

	cmd.Env = append(append([]string{}, f.env...), "LESSOR_ADMIN_ADDRESS="+w.admin)
	cmd.Stderr = w.log

	if err := cmd.Start(); err != nil {
		return nil, err
	}

	w.pid = cmd.Process.Pid
	f.workers = append(f.workers, w)

	go func() {
		w.err = cmd.Wait()
		_ = w.log.Close()

		close(w.ended)
	}()

	return w, nil
}

// ready reports whether a worker takes work.
func (w *workerProcess) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.admin+"/readyz", http.NoBody)
	if err != nil {
		return false
	}

	res, err := http.DefaultClient.Do(req)

	return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// live are the workers that run, in the order of their start.
func (f *fleet) live() []*workerProcess {
	f.mu.Lock()
	defer f.mu.Unlock()

	var live []*workerProcess

	for _, w := range f.workers {
		if w.running() {
			live = append(live, w)
		}
	}

	return live
}

// tend starts workers in place of those that ended.
func (f *fleet) tend(ctx context.Context) error {
	for len(f.live()) < workers {
		if _, err := f.start(ctx); err != nil {
			return fmt.Errorf("starting a worker: %w", err)
		}
	}

	return nil
}

// drain tells all workers to stop and returns what is wrong with how they did.
func (f *fleet) drain(patience time.Duration) []string {
	live := f.live()
	for _, w := range live {
		_ = syscall.Kill(w.pid, syscall.SIGTERM)
	}

	var wrong []string

	bound := time.After(patience)

	for _, w := range live {
		select {
		case <-w.ended:
			if w.err != nil {
				wrong = append(wrong, fmt.Sprintf("worker %d ended its drain with %v", w.number, w.err))
			}
		case <-bound:
			wrong = append(wrong, fmt.Sprintf("worker %d did not drain within %s", w.number, patience))
			bound = time.After(0)

			signalTree(w.pid, syscall.SIGKILL)
		}
	}

	return wrong
}

// end leaves nothing running, whatever state the run is in.
func (f *fleet) end() {
	for _, w := range f.live() {
		signalTree(w.pid, syscall.SIGKILL)
		<-w.ended
	}

	for _, p := range using(f.dir) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

func freeAddress(ctx context.Context) string {
	var lc net.ListenConfig

	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()

	return l.Addr().String()
}
