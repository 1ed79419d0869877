package chaos_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	serviceSQS      = "sqs"
	serviceDynamoDB = "dynamodb"
	serviceS3       = "s3"
)

// fleetKey is the access key of the workers. The checker and the local provider
// plugin, whose faults are the simulator's business, have another one, and are
// left in peace.
const fleetKey = "fleet"

// window is trouble with one service for a while.
type window struct {
	service string
	what    string
	share   float64
	// after lets the request be done and loses its answer.
	after bool
}

// write is a write of a checkpoint that the bucket took.
type write struct {
	fence     int64
	operation string
	number    int64
	stamped   bool
	removed   bool
	etag      string
	at        time.Time
}

// front stands before the emulator: it makes the trouble of the network and of
// the services, and keeps a journal of what was written to state, which tells
// more than the versions in the bucket, as those of a deleted tenant go.
type front struct {
	mu      sync.Mutex
	random  *rand.Rand
	windows map[int]window
	last    int
	struck  map[string]int
	// keys makes the writes of one object come one after the other, so that
	// the journal has the order of the bucket.
	keys   map[string]*sync.Mutex
	writes map[string][]write
}

func newFront(random *rand.Rand) *front {
	return &front{
		random: random, windows: map[int]window{}, struck: map[string]int{},
		keys: map[string]*sync.Mutex{}, writes: map[string][]write{},
	}
}

// open begins a window and returns what ends it.
func (f *front) open(w window) (shut func()) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.last++
	id := f.last
	f.windows[id] = w

	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()

		delete(f.windows, id)
	}
}

// heal ends all windows.
func (f *front) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()

	clear(f.windows)
}

// counts returns how many requests were hit, by trouble.
func (f *front) counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()

	counts := map[string]int{}
	maps.Copy(counts, f.struck)

	return counts
}

// journal returns the writes of every checkpoint by bucket and key.
func (f *front) journal() map[string][]write {
	f.mu.Lock()
	defer f.mu.Unlock()

	all := map[string][]write{}
	for key, list := range f.writes {
		all[key] = append([]write{}, list...)
	}

	return all
}

func (f *front) strike(service string) (window, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for id := range f.last + 1 {
		w, ok := f.windows[id]
		if ok && w.service == service && f.random.Float64() < w.share {
			f.struck[w.what+" "+service]++

			return w, true
		}
	}

	return window{}, false
}

// intercept is localaws.Options.Intercept.
func (f *front) intercept(emulator http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scope := strings.Split(r.Header.Get("Authorization"), "/")
		if len(scope) < 4 || !strings.HasSuffix(scope[0], "Credential="+fleetKey) {
			emulator.ServeHTTP(w, r)

			return
		}

		service := scope[3]
		hit, struck := f.strike(service)

		if struck && !hit.after {
			spoil(w, r, service, hit.what)

			return
		}

		if struck {
			f.pass(emulator, httptest.NewRecorder(), r)
			spoil(w, r, service, hit.what)

			return
		}

		f.pass(emulator, w, r)
	})
}

// spoil answers in place of the emulator, or not at all. net/http documents the
// panic as the way to cut a connection.
func spoil(w http.ResponseWriter, r *http.Request, service, what string) {
	if what == cut {
		panic(http.ErrAbortHandler)
	}

	if service == serviceS3 {
		status, code := http.StatusInternalServerError, "InternalError"
		if what == throttle {
			status, code = http.StatusServiceUnavailable, "SlowDown"
		}

		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)

		if r.Method != http.MethodHead {
			fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>chaos</Message><RequestId>0</RequestId></Error>`, code)
		}

		return
	}

	codes := map[string][2]string{
		serviceSQS:      {"InternalFailure", "RequestThrottled"},
		serviceDynamoDB: {"InternalServerError", "ProvisionedThroughputExceededException"},
	}

	status, code := http.StatusInternalServerError, codes[service][0]
	if what == throttle {
		status, code = http.StatusBadRequest, codes[service][1]
	}

	body, _ := json.Marshal(map[string]string{"__type": "com.amazonaws." + service + "#" + code, "message": "chaos"})

	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// pass has the emulator do it, and notes a write of state that it took.
func (f *front) pass(emulator http.Handler, w http.ResponseWriter, r *http.Request) {
	key, ok := checkpointKey(r)
	if !ok {
		emulator.ServeHTTP(w, r)

		return
	}

	f.mu.Lock()

	lock := f.keys[key]
	if lock == nil {
		lock = &sync.Mutex{}
		f.keys[key] = lock
	}

	f.mu.Unlock()

	lock.Lock()
	defer lock.Unlock()

	seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	emulator.ServeHTTP(seen, r)

	if seen.status/100 != 2 {
		return
	}

	noted := write{removed: r.Method == http.MethodDelete, etag: w.Header().Get("ETag"), at: time.Now()}
	noted.operation = r.Header.Get("X-Amz-Meta-Lessor-Operation")

	fence, err := strconv.ParseInt(r.Header.Get("X-Amz-Meta-Lessor-Fence"), 10, 64)
	noted.fence, noted.stamped = fence, err == nil
	noted.number, _ = strconv.ParseInt(r.Header.Get("X-Amz-Meta-Lessor-Write"), 10, 64)

	f.mu.Lock()
	defer f.mu.Unlock()

	f.writes[key] = append(f.writes[key], noted)
}

// checkpointKey is bucket and key of the checkpoint that a request changes.
func checkpointKey(r *http.Request) (string, bool) {
	if r.Method != http.MethodPut && r.Method != http.MethodDelete {
		return "", false
	}

	key := strings.TrimPrefix(r.URL.Path, "/")

	return key, strings.Contains(key, "/.pulumi/stacks/") && strings.HasSuffix(key, ".json")
}

type statusWriter struct {
	http.ResponseWriter

	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the proxy flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestFront(t *testing.T) {
	t.Parallel()

	done := 0
	emulator := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done++

		if r.Header.Get("If-Match") == "old" {
			w.WriteHeader(http.StatusPreconditionFailed)
		}
	})
	f := newFront(rand.New(rand.NewPCG(1, 1)))
	server := httptest.NewServer(f.intercept(emulator))
	t.Cleanup(server.Close)

	ask := func(method, path, key, service string, headers ...string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/us-east-1/"+service+"/aws4_request, x=y")

		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}

		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}

		return res.StatusCode, res.Body.Close()
	}

	for _, tt := range []struct {
		window

		status, done int
	}{
		{window{serviceS3, refuse, 1, false}, 500, 0},
		{window{serviceS3, throttle, 1, true}, 503, 1},
		{window{serviceSQS, throttle, 1, false}, 400, 0},
		{window{serviceDynamoDB, refuse, 1, true}, 500, 1},
		{window{serviceDynamoDB, cut, 1, true}, 0, 1},
		{window{serviceSQS, cut, 1, false}, 0, 0},
	} {
		shut := f.open(tt.window)
		done = 0

		status, err := ask(http.MethodPost, "/", fleetKey, tt.service)
		require.Equal(t, tt.status == 0, err != nil, "%+v", tt)
		require.Equal(t, tt.status, status, "%+v", tt)
		require.Equal(t, tt.done, done, "%+v", tt)

		status, err = ask(http.MethodPost, "/", "local", tt.service)
		require.NoError(t, err, "others are left in peace")
		require.Equal(t, http.StatusOK, status)

		shut()

		status, err = ask(http.MethodPost, "/", fleetKey, tt.service)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
	}

	require.Equal(t, map[string]int{
		"5xx s3": 1, "throttle s3": 1, "throttle sqs": 1, "5xx dynamodb": 1, "cut dynamodb": 1, "cut sqs": 1,
	}, f.counts())

	const path = "/shard/.pulumi/stacks/lessor/acme.json"

	stamp := []string{"X-Amz-Meta-Lessor-Fence", "7", "X-Amz-Meta-Lessor-Operation", "op", "X-Amz-Meta-Lessor-Write", "3"}
	for _, headers := range [][]string{stamp, nil, append([]string{"If-Match", "old"}, stamp...)} {
		_, err := ask(http.MethodPut, path, fleetKey, serviceS3, headers...)
		require.NoError(t, err)
	}

	_, err := ask(http.MethodPut, path+".bak", fleetKey, serviceS3)
	require.NoError(t, err)

	list := f.journal()["shard/.pulumi/stacks/lessor/acme.json"]
	require.Len(t, list, 2, "a refused write is none, and a backup neither")
	require.Equal(t, write{fence: 7, operation: "op", number: 3, stamped: true, at: list[0].at}, list[0])
	require.False(t, list[1].stamped)
	require.Len(t, f.journal(), 1)
}
