package localaws

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListingHasNoDeletedObjects(t *testing.T) {
	t.Parallel()

	const (
		marker = `<Contents><Key>gone</Key><ETag></ETag><Size>0</Size></Contents>`
		object = `<Contents><Key>here</Key><ETag>&#34;5d41&#34;</ETag><Size>5</Size></Contents>`
	)

	listing := func(count, contents string) string {
		return `<ListBucketResult><Name>b</Name><KeyCount>` + count + `</KeyCount>` + contents + `</ListBucketResult>`
	}

	for name, tc := range map[string]struct{ method, path, answer, want string }{
		"marker":         {http.MethodGet, "/b?list-type=2", listing("2", marker+object), listing("1", object)},
		"only markers":   {http.MethodGet, "/b/?prefix=x", listing("2", marker+marker), listing("0", "")},
		"only objects":   {http.MethodGet, "/b", listing("2", object+object), listing("2", object+object)},
		"empty":          {http.MethodGet, "/b", listing("0", ""), listing("0", "")},
		"an object":      {http.MethodGet, "/b/k", listing("2", marker+object), listing("2", marker+object)},
		"something else": {http.MethodGet, "/b?versioning", "<VersioningConfiguration/>", "<VersioningConfiguration/>"},
		"not a GET":      {http.MethodPost, "/", marker, marker},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer emulator.Close()

			target, err := url.Parse(emulator.URL)
			require.NoError(t, err)

			p := newProxy(target, http.NotFoundHandler(), nil)
			defer p.transport.CloseIdleConnections()

			res := httptest.NewRecorder()
			p.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, http.NoBody))
			require.Equal(t, tc.want, res.Body.String())
		})
	}
}

func TestHeadFindsNoDeletedObject(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		method, path, etag string
		status             int
	}{
		"marker":    {http.MethodHead, "/b/k", "", http.StatusNotFound},
		"object":    {http.MethodHead, "/b/k", `"5d41"`, http.StatusOK},
		"bucket":    {http.MethodHead, "/b", "", http.StatusOK},
		"no bucket": {http.MethodHead, "/", "", http.StatusOK},
		"get":       {http.MethodGet, "/b/k", "", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", tc.etag)
			}))
			defer emulator.Close()

			target, err := url.Parse(emulator.URL)
			require.NoError(t, err)

			p := newProxy(target, http.NotFoundHandler(), nil)
			defer p.transport.CloseIdleConnections()

			res := httptest.NewRecorder()
			p.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, http.NoBody))
			require.Equal(t, tc.status, res.Code)
		})
	}
}
