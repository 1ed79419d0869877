package localaws

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func TestServiceIsReadFromTheSignature(t *testing.T) {
	t.Parallel()

	const scheme = "AWS4-HMAC-SHA256 Credential="

	for name, c := range map[string]struct{ target, authorization, service string }{
		"signed header": {"/", scheme + "local/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=x", "sqs"},
		"signed query":  {"/b/k?X-Amz-Credential=local%2F20260101%2Fus-east-1%2Fkms%2Faws4_request", "", "kms"},
		"anonymous":     {"/bucket/key", "", "s3"},
		"foreign":       {"/", "Bearer x", "s3"},
		"cut short":     {"/", scheme + "local/20260101", "s3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.target, http.NoBody)
			r.Header.Set("Authorization", c.authorization)
			require.Equal(t, c.service, Service(r))
		})
	}
}

func TestProxyTellsSimulatorAndEmulatorApart(t *testing.T) {
	t.Parallel()

	answer := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	intercept := func(http.Handler) http.Handler { return answer(http.StatusAccepted) }
	p := newProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}, answer(http.StatusTeapot), intercept)

	for path, status := range map[string]int{
		"/_cloud/resources": http.StatusTeapot,
		"/":                 http.StatusAccepted,
		"/_cloudy/key":      http.StatusAccepted,
		"/bucket/_cloud/":   http.StatusAccepted,
	} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, status, w.Code, path)
	}

	for target, status := range map[string]int{
		cloudsim.TaggingTarget + "GetResources": http.StatusTeapot,
		"DynamoDB_20120810.GetItem":             http.StatusAccepted,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.Header.Set("X-Amz-Target", target)
		p.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, target)
	}

	require.Equal(t, map[string]int64{"s3": 4}, p.counts())
}

func TestProxyAnswersWhenTheEmulatorIsGone(t *testing.T) {
	t.Parallel()

	gone := httptest.NewServer(http.NotFoundHandler())
	target, err := url.Parse(gone.URL)
	require.NoError(t, err)
	gone.Close()

	w := httptest.NewRecorder()
	p := newProxy(target, http.NotFoundHandler(), nil)
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	require.Equal(t, http.StatusBadGateway, w.Code)
}

func TestOnlyLoopbackIsSpokenTo(t *testing.T) {
	t.Parallel()

	for _, good := range []string{"http://127.0.0.1:4566", "http://[::1]:4566"} {
		_, err := loopbackURL(good)
		require.NoError(t, err, good)
	}

	for _, bad := range []string{
		"https://sqs.us-east-1.amazonaws.com", "http://10.0.0.1:80", "http://localhost.example:80", "http://", "%",
	} {
		_, err := loopbackURL(bad)
		require.Error(t, err, bad)
	}
}

func TestVariablesShutOutWhatIsReal(t *testing.T) {
	t.Parallel()

	l := layout{pulumi: "p", plugins: "q", work: "w", catalog: "c"}
	environ := list(awsVariables("http://127.0.0.1:9"), workerVariables(l, "http://127.0.0.1:9", map[string]string{
		"LESSOR_QUEUE_URL": "http://localhost:4566/000000000000/events",
		"LESSOR_TABLE":     "tenants",
	}))

	for _, want := range []string{
		"AWS_ENDPOINT_URL=http://127.0.0.1:9",
		"AWS_ENDPOINT_URL_SQS=", "AWS_PROFILE=", "AWS_SESSION_TOKEN=", "AWS_CONFIG_FILE=/dev/null",
		"LESSOR_QUEUE_URL=http://127.0.0.1:9/000000000000/events",
		"LESSOR_TABLE=tenants",
		"LESSOR_CATALOG=c",
	} {
		require.Contains(t, environ, want)
	}

	require.IsIncreasing(t, environ)
}

// The emulator answers faster than a connection sees the end of a body.
func TestBodiesAreReadBeforeTheyAreSentOn(t *testing.T) {
	t.Parallel()

	var (
		body  io.ReadCloser
		early error
		got   []byte
	)

	emulator := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		early = body.Close() // nothing more is to come
		got, _ = io.ReadAll(r.Body)
	})
	p := newProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}, http.NotFoundHandler(), func(http.Handler) http.Handler { return emulator })

	send := func(size int) int {
		reader, writer := io.Pipe()
		body = reader

		go func() {
			_, _ = writer.Write(make([]byte, size))
			_ = writer.Close()
		}()

		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", reader)
		r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")

		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		require.NoError(t, reader.Close())

		return w.Code
	}

	require.Equal(t, http.StatusOK, send(100_000))
	require.NoError(t, early)
	require.Len(t, got, 100_000)
	require.Equal(t, http.StatusBadRequest, send(maxBody+1))
}
