package cutover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// callTimeout bounds one call of a hook: it takes a request, and works on it
	// afterwards.
	callTimeout = 15 * time.Second
	// maxAnswer is as much of an answer as is read, so that the connection can be
	// used again.
	maxAnswer = 64 << 10
)

var errRefused = errors.New("the data hook did not take the request")

// Queue sends messages; the client of SQS is one.
type Queue interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Asker asks data hooks. It is safe for concurrent use.
type Asker struct {
	queue  Queue
	client *http.Client
	now    func() time.Time
}

// New makes an Asker that sends messages with queue.
func New(queue Queue) *Asker {
	return &Asker{queue: queue, now: time.Now, client: &http.Client{
		Timeout: callTimeout,
		// A token is for the hook that the catalog names and for nobody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Ask returns nil once the hook took the request. No error of it holds the token,
// or anything else of the request or of what the hook said.
func (a *Asker) Ask(ctx context.Context, hook tenant.Hook, request Request) error {
	body, err := Encode(request, a.now())
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	if hook.URL != "" {
		return a.post(ctx, hook.URL, body)
	}

	_, err = a.queue.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: aws.String(hook.Queue), MessageBody: aws.String(string(body)),
	})
	if err != nil {
		return fmt.Errorf("sending to the data hook's queue %s: %w", hook.Queue, err)
	}

	return nil
}

func (a *Asker) post(ctx context.Context, address string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("calling the data hook: %w", err)
	}

	request.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	request.Header.Set("User-Agent", source)

	answer, err := a.client.Do(request)
	if err != nil {
		// The error of the client names the whole address, query and all.
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}

		return fmt.Errorf("calling the data hook at %s: %w", request.URL.Host, err)
	}
	defer answer.Body.Close()

	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)

	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%w: %s answered %s", errRefused, request.URL.Host, answer.Status)
	}

	return nil
}
