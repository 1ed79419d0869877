package bed

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws"
)

// observer is the access key of the benchmark's own clients: what they ask is
// neither counted nor delayed.
const observer = "observer"

// Call is a kind of request.
type Call struct {
	// Service is as in the request's signature: s3, kms, dynamodb, sqs.
	Service string
	// Operation is AWS's name.
	Operation string
	// Checkpoint reports that it is about a stack's checkpoint in S3.
	Checkpoint bool
}

// Calls counts requests by their kind.
type Calls map[Call]int

// Of counts the requests to a service.
func (c Calls) Of(service string) int {
	return c.Where(func(call Call) bool { return call.Service == service })
}

// Where counts the requests that match.
func (c Calls) Where(match func(Call) bool) int {
	sum := 0

	for call, n := range c {
		if match(call) {
			sum += n
		}
	}

	return sum
}

// Wire is what every request to the stand-in goes through.
type Wire struct {
	delay      atomic.Int64
	queueDelay atomic.Int64

	mu    sync.Mutex
	calls Calls
}

// SetDelay makes every answer of S3, KMS and DynamoDB come later.
func (w *Wire) SetDelay(d time.Duration) { w.delay.Store(int64(d)) }

// SetQueueDelay makes every answer of SQS come later.
func (w *Wire) SetQueueDelay(d time.Duration) { w.queueDelay.Store(int64(d)) }

// Calls are all requests so far.
func (w *Wire) Calls() Calls {
	w.mu.Lock()
	defer w.mu.Unlock()

	return maps.Clone(w.calls)
}

// Since are the requests that came after an earlier count.
func (w *Wire) Since(before Calls) Calls {
	since := w.Calls()
	for call, n := range before {
		if since[call] -= n; since[call] == 0 {
			delete(since, call)
		}
	}

	return since
}

func (w *Wire) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Authorization"), "Credential="+observer+"/") {
			next.ServeHTTP(rw, r)

			return
		}

		call := callOf(r)

		w.mu.Lock()
		w.calls[call]++
		w.mu.Unlock()

		if call.Service == "sqs" {
			wait(r, time.Duration(w.queueDelay.Load()))
		} else {
			wait(r, time.Duration(w.delay.Load()))
		}

		next.ServeHTTP(rw, r)
	})
}

func wait(r *http.Request, delay time.Duration) {
	if delay == 0 {
		return
	}

	timer := time.NewTimer(delay)
	defer timer.Stop()

	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

func callOf(r *http.Request) Call {
	call := Call{Service: localaws.Service(r)}

	if _, operation, found := strings.Cut(r.Header.Get("X-Amz-Target"), "."); found {
		call.Operation = operation

		return call
	}

	query := r.URL.Query()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")

	switch {
	case key == "" && r.Method == http.MethodGet && query.Has("versions"):
		call.Operation = "ListObjectVersions"
	case key == "" && r.Method == http.MethodGet:
		call.Operation = "ListObjectsV2"
	case key == "" && r.Method == http.MethodPost:
		call.Operation = "DeleteObjects"
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		call.Operation = "CopyObject"
	default:
		call.Operation = strings.ToUpper(r.Method[:1]) + strings.ToLower(r.Method[1:]) + "Object"
	}

	call.Checkpoint = strings.HasPrefix(key, ".pulumi/stacks/") && strings.HasSuffix(key, ".json")

	return call
}
