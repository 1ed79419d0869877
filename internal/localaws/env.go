package localaws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/internal/localaws/emulator"
)

const (
	loopback          = "127.0.0.1"
	readHeaderTimeout = 10 * time.Second
)

// Env is a running stand-in for AWS with the fleet's platform in it.
type Env struct {
	endpoint string
	environ  []string
	proxy    *proxy
	client   *cloudsim.Client
	stop     func() error
}

// Start runs everything and returns once the platform stands. ctx bounds the
// start alone. If it fails, nothing is left running.
func Start(ctx context.Context, o Options) (*Env, error) {
	l, err := o.layout()
	if err != nil {
		return nil, err
	}

	if err := l.prepare(); err != nil {
		return nil, err
	}

	if o.Log == nil {
		o.Log = io.Discard
	}

	e, err := serve(ctx, o, l)
	if err != nil {
		return nil, err
	}

	note(o.Log, "deploying the platform")

	aws := awsVariables(e.endpoint)

	platform, err := deployPlatform(ctx, l, aws)
	if err != nil {
		return nil, errors.Join(err, e.Stop())
	}

	e.environ = list(aws, workerVariables(l, e.endpoint, platform))

	return e, nil
}

// URL is the endpoint of every service.
func (e *Env) URL() string { return e.endpoint }

// Environ returns the variables, as NAME=value, with which worker, enqueue and
// any other client use the stand-in. Put them after those of the process,
// because some of them are empty to shut out real credentials.
func (e *Env) Environ() []string { return slices.Clone(e.environ) }

// Cloud talks to the simulator: what there is, what happened, what shall fail.
func (e *Env) Cloud() *cloudsim.Client { return e.client }

// Requests counts the requests to the emulator by service: s3, sqs, dynamodb,
// kms, sns.
func (e *Env) Requests() map[string]int64 { return e.proxy.counts() }

// Stop ends every process and connection. It may be called again.
func (e *Env) Stop() error { return e.stop() }

// serve starts the emulator, the simulator and the endpoint before them.
func serve(ctx context.Context, o Options, l layout) (*Env, error) {
	note(o.Log, "starting the emulator and the cloud simulator")

	emu, err := emulator.Start(ctx, emulator.Options{Binary: l.emulator, Dir: l.dir})
	if err != nil {
		return nil, fmt.Errorf("starting local mode: %w", err)
	}

	target, err := loopbackURL(emu.URL())
	if err != nil {
		emu.Stop()

		return nil, err
	}

	var lc net.ListenConfig

	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(o.Port)))
	if err != nil {
		emu.Stop()

		return nil, fmt.Errorf("opening the endpoint: %w", err)
	}

	cloud := cloudsim.New(o.Cloud)
	front := newProxy(target, cloud.Handler(), o.Intercept)
	server := &http.Server{
		Handler:           front,
		ReadHeaderTimeout: readHeaderTimeout,
		// Clients that are killed in the middle of a request are what this is for.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	served := make(chan error, 1)

	go func() { served <- server.Serve(listener) }()

	e := &Env{endpoint: "http://" + listener.Addr().String(), proxy: front}
	e.client = cloudsim.NewClient(e.endpoint, nil)
	e.stop = sync.OnceValue(func() error {
		cloud.Close()
		e.client.Close()

		// Close and not Shutdown: long polls would be waited for.
		err := server.Close()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}

		emu.Stop()
		front.transport.CloseIdleConnections()

		if err != nil {
			return fmt.Errorf("stopping local mode: %w", err)
		}

		return nil
	})

	return e, nil
}

var errNotLoopback = errors.New("local mode talks to nothing but this machine")

func loopbackURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("parsing the emulator's address: %w", err)
	}

	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%w, not to %s", errNotLoopback, u.Host)
	}

	return u, nil
}

func note(w io.Writer, line string) {
	_, _ = fmt.Fprintln(w, line) // who does not listen misses nothing
}
