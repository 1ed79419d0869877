package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Health is what the admin server asks the worker.
type Health struct {
	// Live fails if the worker cannot help itself and should be restarted.
	Live func() error
	// Ready fails if the worker cannot take work. Joined errors are shown one
	// by one.
	Ready func(ctx context.Context) error
	// Operations is what runs, as JSON.
	Operations func() any
}

const (
	// readyFor spares what a probe of readiness looks at: whoever asks within
	// this time gets the same answer.
	readyFor = time.Second
	// readyTimeout bounds one look.
	readyTimeout = 10 * time.Second

	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	idleTimeout       = time.Minute
	writeTimeout      = 30 * time.Second
	// profileTimeout lets a profile of the default 30 seconds be written.
	profileTimeout = 2 * time.Minute
	maxHeaderBytes = 16 << 10
)

// Admin is the admin server: /metrics, /healthz, /readyz, /debug/operations,
// and /debug/pprof/ where that is wanted.
type Admin struct {
	listener net.Listener
	server   *http.Server
	served   chan struct{}
	start    sync.Once
	stop     sync.Once
	err      error
}

// NewAdmin opens the listener, so that a port in use is an error at once and
// nothing is lost between here and Start.
func NewAdmin(cfg Config, reg *prometheus.Registry, health Health) (*Admin, error) {
	var listen net.ListenConfig

	listener, err := listen.Listen(context.Background(), "tcp", cfg.AdminAddress)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: reg, EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, verdictOf(health.Live())) })
	mux.Handle("GET /readyz", &readiness{look: health.Ready})
	mux.HandleFunc("GET /debug/operations", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, health.Operations())
	})

	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// What it would say is about broken clients.
		ErrorLog: log.New(io.Discard, "", 0),
	}

	if cfg.PProf {
		server.WriteTimeout = profileTimeout

		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}

	return &Admin{listener: listener, server: server, served: make(chan struct{})}, nil
}

// Addr is where the server listens.
func (a *Admin) Addr() string { return a.listener.Addr().String() }

// Start serves until Stop. A second call does nothing.
func (a *Admin) Start() {
	a.start.Do(func() {
		go func() {
			defer close(a.served)

			if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
				a.err = fmt.Errorf("serving: %w", err)
			}
		}()
	})
}

// Stop lets requests in flight end, until ctx does, and returns what went wrong
// since Start. It may be called twice, and without Start.
func (a *Admin) Stop(ctx context.Context) error {
	// Never started: there is nothing to wait for but the listener to close.
	a.start.Do(func() { close(a.served) })

	a.stop.Do(func() {
		if err := a.server.Shutdown(ctx); err != nil {
			a.server.Close() // the error of Shutdown tells more
			<-a.served

			a.err = errors.Join(a.err, fmt.Errorf("shutting down: %w", err))
		}

		<-a.served

		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			a.err = errors.Join(a.err, fmt.Errorf("closing the listener: %w", err))
		}
	})

	return a.err
}

// verdict is the body of /healthz and /readyz.
type verdict struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons,omitempty"`
}

func verdictOf(err error) verdict {
	if err == nil {
		return verdict{OK: true}
	}

	return verdict{Reasons: reasons(err)}
}

// reasons takes joined errors apart, but not those that say more than their
// parts.
func reasons(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}

	var parts, flat []string
	for _, e := range joined.Unwrap() {
		parts = append(parts, e.Error())
		flat = append(flat, reasons(e)...)
	}

	if strings.Join(parts, "\n") != err.Error() {
		return []string{err.Error()}
	}

	return flat
}

func answer(w http.ResponseWriter, v verdict) {
	if v.OK {
		write(w, http.StatusOK, v)

		return
	}

	write(w, http.StatusServiceUnavailable, v)
}

func write(w http.ResponseWriter, status int, body any) {
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		http.Error(w, "encoding the answer: "+err.Error(), http.StatusInternalServerError)

		return
	}

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(data, '\n')) //nolint:errcheck // the client went away
}

// readiness keeps an answer for a while. Those who ask meanwhile wait for the
// one who looks.
type readiness struct {
	look func(ctx context.Context) error

	mu      sync.Mutex
	seen    time.Time
	verdict verdict
}

// ServeHTTP answers whether the worker is ready.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer(w, r.current(request.Context()))
}

func (r *readiness) current(ctx context.Context) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()

	if !r.seen.IsZero() && time.Since(r.seen) < readyFor {
		return r.verdict
	}

	// The answer is for others too, so it must not depend on whether the one
	// who asked is still there.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()

	r.verdict = verdictOf(r.look(ctx))
	r.seen = time.Now()

	return r.verdict
}
