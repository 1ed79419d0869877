package bed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lessor-dev/lessor/pkg/queue"
)

// LoopVariable makes this program the shortest one that empties a queue. Its
// value is how many messages that deletes at once.
const LoopVariable = "BENCH_LOOP"

// Loop is a running program that does nothing but receive and delete.
type Loop struct {
	PID int

	cmd    *exec.Cmd
	stderr *logBuffer
}

// StartLoop runs the shortest program on the fleet's queue.
func (f *Fleet) StartLoop(atOnce int) (*Loop, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}

	l := &Loop{cmd: exec.Command(self), stderr: &logBuffer{}} //nolint:gosec,noctx // it is this program, and ends by a signal
	l.cmd.Stderr = l.stderr

	l.cmd.Env = append(f.bed.environ(), LoopVariable+"="+strconv.Itoa(atOnce), "LESSOR_QUEUE_URL="+f.QueueURL)

	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the loop: %w", err)
	}

	l.PID = l.cmd.Process.Pid

	return l, nil
}

// Stop ends the program.
func (l *Loop) Stop() error {
	// An error means that it has ended.
	_ = l.cmd.Process.Signal(syscall.SIGTERM)

	if err := l.cmd.Wait(); err != nil {
		return fmt.Errorf("ending the loop: %w\n%s", err, l.stderr.bytes())
	}

	return nil
}

// ServeLoop is the shortest program that empties a queue: what everybody's
// consumer has to do at least.
func ServeLoop(ctx context.Context) error {
	atOnce, err := strconv.Atoi(os.Getenv(LoopVariable))
	if err != nil {
		return fmt.Errorf("%s: %w", LoopVariable, err)
	}

	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("loading the AWS configuration: %w", err)
	}

	cfg.HTTPClient = patientClient{awshttp.NewBuildableClient()}
	client, url := sqs.NewFromConfig(cfg), aws.String(os.Getenv("LESSOR_QUEUE_URL"))

	// A poll that is cancelled may take messages with it.
	calls := context.WithoutCancel(ctx)

	for ctx.Err() == nil {
		out, err := client.ReceiveMessage(calls, &sqs.ReceiveMessageInput{
			QueueUrl: url, MaxNumberOfMessages: queue.MaxReceive, WaitTimeSeconds: 1,
		})
		if err != nil {
			return fmt.Errorf("receiving: %w", err)
		}

		if err := deleteAll(calls, client, url, out.Messages, atOnce); err != nil {
			return err
		}
	}

	return nil
}

// patientClient sends bodies that nobody else can close. The SDK closes them as
// soon as there is an answer, and a server on the same machine may answer before
// the transport has seen the end of the body: then that gives up the connection in
// the middle of a long answer, and nobody sees the messages in it for a while.
type patientClient struct{ *awshttp.BuildableClient }

func (c patientClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("reading a request: %w", err)
		}

		r.Body = io.NopCloser(bytes.NewReader(body))
	}

	return c.BuildableClient.Do(r) //nolint:wrapcheck // the SDK looks into it
}

// deleteAll deletes messages, so many at once.
func deleteAll(ctx context.Context, client *sqs.Client, url *string, messages []types.Message, atOnce int) error {
	var running sync.WaitGroup

	places := make(chan struct{}, atOnce)
	errs := make([]error, len(messages))

	for i, m := range messages {
		places <- struct{}{}

		running.Go(func() {
			defer func() { <-places }()

			_, errs[i] = client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle})
		})
	}

	running.Wait()

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("deleting: %w", err)
	}

	return nil
}
