package localaws

import (
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
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
)

// proxy is the one endpoint: the simulator under its prefix, and the emulator
// everywhere else.
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
		ModifyResponse: withoutDeleteMarkers,
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

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, cloudsim.PathPrefix+"/") {
		p.cloud.ServeHTTP(w, r)

		return
	}

	p.count(service(r))
	p.emulator.ServeHTTP(w, r)
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

// service names the AWS service that a request is for, by the scope that it is
// signed with. Requests without a signature are anonymous ones to S3.
func service(r *http.Request) string {
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
