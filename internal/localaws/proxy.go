package localaws

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const (
	// idleConnections is above what a fleet of workers on one machine opens,
	// so that no request waits for a new connection.
	idleConnections = 128
	// scopeParts are those of a credential scope: key, date, region, service
	// and a constant.
	scopeParts   = 5
	scopeService = 3
	serviceS3    = "s3"
	// maxBody is twice what DynamoDB takes in a batch, the largest of all:
	// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
	maxBody = 32 << 20
)

// proxy is the one endpoint: the simulator under its prefix and for what it
// answers in AWS's words, and the emulator everywhere else.
type proxy struct {
	emulator http.Handler
	cloud    http.Handler
	// transport is the emulator's, kept to close its connections.
	transport *http.Transport

	mu       sync.Mutex
	requests map[string]int64
}

func newProxy(emulator *url.URL, cloud http.Handler, intercept func(http.Handler) http.Handler) *proxy {
	transport := &http.Transport{
		MaxIdleConns:        idleConnections,
		MaxIdleConnsPerHost: idleConnections,
		// What the emulator sends goes on as it is: checksums are of that.
		DisableCompression: true,
	}
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(emulator)
			// The emulator tells buckets by path, but some of its answers
			// repeat the host that the client asked.
			r.Out.Host = r.In.Host
		},
		Transport:      transport,
		ModifyResponse: corrected,
		// A client that went away is no news, and the others see a 502.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the emulator does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}

	p := &proxy{emulator: reverse, cloud: cloud, transport: transport, requests: map[string]int64{}}
	if intercept != nil {
		p.emulator = intercept(reverse)
	}

	return p
}

// corrected mends what the emulator answers otherwise than AWS and what its
// clients mind.
func corrected(res *http.Response) error {
	if strings.HasPrefix(res.Request.Header.Get("X-Amz-Target"), "DynamoDB_") {
		return withChecksum(res)
	}

	return hideDeleteMarkers(res)
}

// withChecksum adds the checksum that DynamoDB sends with every answer. Without
// it the AWS SDK for Go warns of each, since it then expects 0.
func withChecksum(res *http.Response) error {
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}

	res.Body = io.NopCloser(bytes.NewReader(body))
	res.Header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))

	return nil
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, cloudsim.PathPrefix+"/") || strings.HasPrefix(r.Header.Get("X-Amz-Target"), cloudsim.TaggingTarget) {
		p.cloud.ServeHTTP(w, r)

		return
	}

	p.count(Service(r))

	if r.Header.Get("X-Amz-Target") != "" {
		if err := readWhole(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)

			return
		}
	}

	p.emulator.ServeHTTP(w, r)
}

// readWhole reads a body before it is sent on. The emulator answers as soon as it
// has the last byte, when its connection may still look for more: the first part of
// the answer ends the request, which closes the body, and that looks like a failure
// to send it. The connection is closed, and of a long answer only the first part
// arrives. It may have held messages, which nobody sees for a visibility timeout.
func readWhole(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return fmt.Errorf("reading a request: %w", err)
	}

	r.Body = io.NopCloser(bytes.NewReader(body))

	return nil
}

func (p *proxy) count(service string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.requests[service]++
}

func (p *proxy) counts() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()

	return maps.Clone(p.requests)
}

// Service names the AWS service that a request is for, by the scope that it is
// signed with. Requests without a signature are anonymous ones to S3.
func Service(r *http.Request) string {
	_, credential, found := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !found {
		credential = r.URL.Query().Get("X-Amz-Credential")
	}

	credential, _, _ = strings.Cut(credential, ",")
	if parts := strings.Split(credential, "/"); len(parts) == scopeParts {
		return parts[scopeService]
	}

	return serviceS3
}
