package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/registry"
)

// stage is local mode with one worker.
type stage struct {
	binDir string
	dir    string
	local  *localaws.Env
	env    []string
	admin  string

	worker *exec.Cmd
	exited chan error
	logs   *os.File

	rows  *registry.Registry
	queue *queue.Queue
	aws   aws.Config

	before metrics
}

const readyTimeout = time.Minute

func openStage(ctx context.Context, binDir string) (*stage, error) {
	dir, err := os.MkdirTemp("", "lessor-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the demo: %w", err)
	}

	s := &stage{binDir: binDir, dir: dir}
	s.sayf("starting local mode: the emulator, the cloud simulator, and the platform by Pulumi")

	if s.local, err = localaws.Start(ctx, localaws.Options{BinDir: binDir, Dir: filepath.Join(dir, "aws")}); err != nil {
		return nil, errors.Join(fmt.Errorf("starting local mode: %w", err), os.RemoveAll(dir))
	}

	s.sayf("queue, tables, buckets and key stand at %s", s.local.URL())

	if err := s.startWorker(ctx); err != nil {
		s.keepLog()

		return nil, errors.Join(err, s.close())
	}

	return s, nil
}

func (s *stage) startWorker(ctx context.Context) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}

	s.admin = "http://" + address
	s.env = append(s.local.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"),
		"LESSOR_ADMIN_ADDRESS="+address, "LESSOR_WORK_DIR="+filepath.Join(s.dir, "work"),
		"LESSOR_POLL_WAIT=2s", "LESSOR_MAX_SLOTS=3", "LESSOR_MEMORY_LIMIT=4Gi")

	if s.logs, err = os.Create(filepath.Join(s.dir, "worker.log")); err != nil {
		return fmt.Errorf("opening the worker's log: %w", err)
	}

	s.worker = exec.Command(filepath.Join(s.binDir, "worker")) //nolint:gosec,noctx // our own; it ends by a signal
	s.worker.Env = s.env
	s.worker.Stderr = s.logs

	if err := s.worker.Start(); err != nil {
		return fmt.Errorf("starting the worker: %w (run `make build`)", err)
	}

	s.exited = make(chan error, 1)
	go func() { s.exited <- s.worker.Wait() }()

	s.connect()

	if err := s.awaitReady(ctx); err != nil {
		return err
	}

	s.before, err = s.scrape(ctx)
	if err != nil {
		return err
	}

	s.sayf("a worker with 3 slots is ready at %s", s.admin)

	return nil
}

// connect makes clients from the same variables that the worker gets.
func (s *stage) connect() {
	s.aws = aws.Config{
		Region:       s.variable("AWS_REGION"),
		BaseEndpoint: aws.String(s.variable("AWS_ENDPOINT_URL")),
		Credentials:  credentials.NewStaticCredentialsProvider(s.variable("AWS_ACCESS_KEY_ID"), s.variable("AWS_SECRET_ACCESS_KEY"), ""),
	}
	s.rows = registry.New(dynamodb.NewFromConfig(s.aws), registry.Config{Table: s.variable("LESSOR_TABLE")}, time.Now)
	s.queue = queue.New(sqs.NewFromConfig(s.aws), queue.Config{
		URL:           s.variable("LESSOR_QUEUE_URL"),
		DeadLetterURL: s.variable("LESSOR_DEAD_LETTER_QUEUE_URL"),
	})
}

func (s *stage) variable(name string) string {
	for _, kv := range s.env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}

	return ""
}

func (s *stage) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()

	return poll(ctx, "the worker to be ready", func() (bool, error) {
		select {
		case err := <-s.exited:
			s.exited <- err

			return false, fmt.Errorf("the worker ended: %w", err)
		default:
		}

		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.admin+"/readyz", http.NoBody)
		if err != nil {
			return false, fmt.Errorf("asking whether the worker is ready: %w", err)
		}

		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}

		return res.StatusCode == http.StatusOK, res.Body.Close()
	})
}

// enqueue runs the command-line tool as a person would.
func (s *stage) enqueue(ctx context.Context, args ...string) error {
	quoted := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			arg = "'" + arg + "'"
		}

		quoted = append(quoted, arg)
	}

	s.sayf("$ enqueue %s", strings.Join(quoted, " "))

	var stderr bytes.Buffer

	cmd := exec.CommandContext(ctx, filepath.Join(s.binDir, "enqueue"), args...) //nolint:gosec // our own tool
	cmd.Env = s.env
	cmd.Stderr = &stderr

	if err := cmd.Run(); err != nil {
		return fmt.Errorf("enqueue %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}

	return nil
}

// drain ends the worker as Kubernetes would.
func (s *stage) drain(ctx context.Context) error {
	if err := s.worker.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("sending SIGTERM: %w", err)
	}

	select {
	case err := <-s.exited:
		s.worker = nil

		if err != nil {
			return fmt.Errorf("the worker should have ended with 0: %w", err)
		}

		s.sayf("the worker drained and ended with 0")

		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the worker to end: %w", ctx.Err())
	}
}

// close ends what was started and looks for processes that were left.
func (s *stage) close() error {
	var errs []error

	if s.worker != nil {
		errs = append(errs, s.hurry())
	}

	errs = append(errs, s.local.Stop())

	left, err := processesOf(s.dir)
	errs = append(errs, err)

	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("processes were left: %s", strings.Join(left, ", ")))
	} else if err == nil {
		s.sayf("no process is left")
	}

	if s.logs != nil {
		errs = append(errs, s.logs.Close())
	}

	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// hurry ends a worker whose operations are of no interest any more.
func (s *stage) hurry() error {
	const patience = 30 * time.Second

	for range 2 {
		if err := s.worker.Process.Signal(syscall.SIGTERM); err != nil {
			break // it has ended
		}
	}

	select {
	case err := <-s.exited:
		return err
	case <-time.After(patience):
	}

	if err := s.worker.Process.Kill(); err != nil {
		return fmt.Errorf("killing the worker: %w", err)
	}

	return <-s.exited
}

// keepLog shows the end of the worker's log, for the reader of a failure.
func (s *stage) keepLog() {
	if s.logs == nil {
		return
	}

	const lines = 30

	log, err := os.ReadFile(s.logs.Name())
	if err != nil {
		return
	}

	all := strings.Split(strings.TrimSpace(string(log)), "\n")
	fmt.Fprintf(os.Stderr, "\nthe last lines of the worker's log:\n%s\n", strings.Join(all[max(0, len(all)-lines):], "\n"))
}

func (*stage) sayf(format string, args ...any) { fmt.Printf("   "+format+"\n", args...) }

// freeAddress finds a loopback port that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig

	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}

	return l.Addr().String(), l.Close()
}

// processesOf lists the processes whose environment names dir.
func processesOf(dir string) ([]string, error) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}

	var left []string

	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, []byte(dir)) {
			continue // it ended meanwhile, or is not ours to read
		}

		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue
		}

		left = append(left, strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))))
	}

	return left, nil
}

const pollInterval = 200 * time.Millisecond

// poll asks until ok, an error, or the end of ctx.
func poll(ctx context.Context, what string, ask func() (bool, error)) error {
	for {
		ok, err := ask()
		if err != nil || ok {
			return err
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
}
