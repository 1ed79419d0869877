//go:build linux

package k8s_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	poll           = time.Second / 4
	requestTimeout = 30 * time.Second
)

// client talks to the API server.
type client struct {
	url  string
	http *http.Client
}

// bearer adds the token to every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)

	return b.next.RoundTrip(r)
}

func newClient(t *testing.T, url string, k keys) client {
	t.Helper()

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: k.pool, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true}

	return client{url: url, http: &http.Client{Transport: bearer{token: k.token, next: transport}, Timeout: requestTimeout}}
}

// apply creates or changes an object. Fields that the server does not know are
// refused.
func (c client) apply(t *testing.T, path, object string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch,
		c.url+path+"?fieldManager=e2e-k8s&force=true&fieldValidation=Strict", strings.NewReader(object))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/apply-patch+yaml")

	status, body := c.do(t, request)
	require.Contains(t, []int{http.StatusOK, http.StatusCreated}, status, "%s: %s", path, body)
}

// get reads an object into into, which stays as it is where there is none.
func (c client) get(t *testing.T, path string, into any) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, http.NoBody)
	require.NoError(t, err)

	status, body := c.do(t, request)
	if status == http.StatusNotFound {
		return
	}

	require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	require.NoError(t, json.Unmarshal(body, into))
}

func (c client) do(t *testing.T, request *http.Request) (status int, body []byte) {
	t.Helper()

	answer, err := c.http.Do(request)
	require.NoError(t, err)

	defer answer.Body.Close()

	body, err = io.ReadAll(answer.Body)
	require.NoError(t, err)

	return answer.StatusCode, body
}

// condition reports whether a condition of an object is true.
func (c client) condition(t *testing.T, path, kind string) bool {
	t.Helper()

	var object struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}

	c.get(t, path, &object)

	for _, condition := range object.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == "True"
		}
	}

	return false
}

func answers(t *testing.T, c *http.Client, url string) bool {
	t.Helper()

	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)

	request.Close = true

	answer, err := c.Do(request)

	return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}
