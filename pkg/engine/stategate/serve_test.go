package stategate_test

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
)

func TestOnlyThisStackIsServed(t *testing.T) {
	t.Parallel()

	neighbour := ".pulumi/stacks/lessor/other.json"

	cases := map[string]struct {
		method, path, body string
		header             []string
		status             int
	}{
		"another stack's state":    {method: http.MethodGet, path: "/" + neighbour, status: http.StatusForbidden},
		"another stack's write":    {method: http.MethodPut, path: "/" + neighbour, body: "x", status: http.StatusForbidden},
		"another stack's lock":     {method: http.MethodPut, path: "/.pulumi/locks/organization/lessor/other/1.json", status: http.StatusForbidden},
		"a copy of another stack":  {method: http.MethodPut, path: "/" + checkpointKey + ".bak", header: []string{"X-Amz-Copy-Source", "BUCKET/" + neighbour}, status: http.StatusForbidden},
		"a copy onto the state":    {method: http.MethodPut, path: "/" + checkpointKey, header: []string{"X-Amz-Copy-Source", "BUCKET/" + checkpointKey}, status: http.StatusForbidden},
		"a copy from a bucket":     {method: http.MethodPut, path: "/" + checkpointKey + ".bak", header: []string{"X-Amz-Copy-Source", "elsewhere/key"}, status: http.StatusNotImplemented},
		"a removal of the state":   {method: http.MethodDelete, path: "/" + checkpointKey, status: http.StatusForbidden},
		"something outside":        {method: http.MethodGet, path: "/elsewhere", status: http.StatusForbidden},
		"a version":                {method: http.MethodGet, path: "/" + checkpointKey + "?versionId=1", status: http.StatusNotImplemented},
		"the bucket's policy":      {method: http.MethodGet, path: "?policy", status: http.StatusNotImplemented},
		"a removal of the bucket":  {method: http.MethodDelete, path: "", status: http.StatusNotImplemented},
		"an upload without an end": {method: http.MethodPost, path: "/" + checkpointKey + "?uploadId=unknown", status: http.StatusNotFound},
	}

	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			store := newMemory()
			_, err := store.put(neighbour, []byte(content("other")), stategate.Stamp{}, stategate.Condition{})
			require.NoError(t, err)

			a := open(t, store, config(1, true))
			a.put(t, content("one"))

			for i := range test.header {
				test.header[i] = strings.ReplaceAll(test.header[i], "BUCKET", a.base[strings.LastIndex(a.base, "/")+1:])
			}

			status, _ := do(t, test.method, a.base+test.path, test.body, test.header...)
			require.Equal(t, test.status, status)

			if status != http.StatusNotFound {
				require.Len(t, a.Complaints(), 1)
			}

			require.NoError(t, a.Err())
			require.JSONEq(t, content("one"), a.get(t))
			require.Len(t, store.stamps(neighbour), 1)
		})
	}
}

func TestAnETagTellsContentsApart(t *testing.T) {
	t.Parallel()

	a := open(t, newMemory(), config(1, true))
	client := &closingClient{}
	t.Cleanup(client.close)

	tag := func(method, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, a.base+"/"+checkpointKey, strings.NewReader(body))
		require.NoError(t, err)

		res, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)

		return res.Header.Get("ETag")
	}

	first := tag(http.MethodPut, content("one"))
	require.Regexp(t, `^"[0-9a-f]+"$`, first)
	require.Equal(t, first, tag(http.MethodHead, ""))
	require.NotEqual(t, first, tag(http.MethodPut, content("two")))
	require.Equal(t, first, tag(http.MethodPut, content("one")))
}

func TestAStrangerLearnsNothing(t *testing.T) {
	t.Parallel()

	a := open(t, newMemory(), config(1, true))
	address := a.base[:strings.LastIndex(a.base, "/")]

	for _, path := range []string{"/guess/" + checkpointKey, "/", "", "/guess?list-type=2"} {
		status, body := do(t, http.MethodGet, address+path, "")
		require.Equal(t, http.StatusForbidden, status)
		require.NotContains(t, body, "acme")
	}
}

type listing struct {
	IsTruncated           bool   `xml:"IsTruncated"`
	NextContinuationToken string `xml:"NextContinuationToken"`
	Contents              []struct {
		Key  string `xml:"Key"`
		Size int    `xml:"Size"`
	} `xml:"Contents"`
	CommonPrefixes []struct {
		Prefix string `xml:"Prefix"`
	} `xml:"CommonPrefixes"`
}

func (o *opened) list(t *testing.T, query string) listing {
	t.Helper()

	status, body := do(t, http.MethodGet, o.base+"?list-type=2"+query, "")
	require.Equal(t, http.StatusOK, status, body)

	var l listing
	require.NoError(t, xml.Unmarshal([]byte(body), &l))

	return l
}

func (l listing) names() []string {
	names := make([]string, 0, len(l.Contents)+len(l.CommonPrefixes))
	for _, c := range l.Contents {
		names = append(names, c.Key)
	}

	for _, p := range l.CommonPrefixes {
		names = append(names, p.Prefix)
	}

	return names
}

func TestLists(t *testing.T) {
	t.Parallel()

	a := open(t, newMemory(), config(1, true))
	require.Empty(t, a.list(t, "&prefix=.pulumi/stacks/").names())

	a.put(t, content("one"))

	for _, lock := range []string{"b.json", "a b.json"} {
		status, _ := do(t, http.MethodPut, a.base+"/"+lockPrefix+strings.ReplaceAll(lock, " ", "%20"), "{}")
		require.Equal(t, http.StatusOK, status)
	}

	require.Equal(t, []string{checkpointKey}, a.list(t, "&prefix="+checkpointKey).names())
	require.Equal(t, len(content("one")), a.list(t, "&prefix="+checkpointKey).Contents[0].Size)
	require.Equal(t, []string{".pulumi/meta.yaml", ".pulumi/locks/", ".pulumi/stacks/"}, a.list(t, "&prefix=.pulumi/&delimiter=/").names())
	require.Equal(t, []string{lockPrefix + "a b.json", lockPrefix + "b.json"}, a.list(t, "&prefix="+lockPrefix).names())
	require.Contains(t, a.list(t, "&encoding-type=url&prefix="+lockPrefix).names()[0], "a+b.json")

	page := a.list(t, "&max-keys=1&prefix="+lockPrefix)
	require.True(t, page.IsTruncated)
	require.Equal(t, []string{lockPrefix + "a b.json"}, page.names())

	page = a.list(t, "&max-keys=1&prefix="+lockPrefix+"&continuation-token="+strings.ReplaceAll(page.NextContinuationToken, " ", "%20"))
	require.False(t, page.IsTruncated)
	require.Equal(t, []string{lockPrefix + "b.json"}, page.names())
}

func TestWhatStaysLocal(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	bucket := a.base[strings.LastIndex(a.base, "/")+1:]
	history := ".pulumi/history/lessor/acme/acme-1"

	for _, target := range []string{checkpointKey + ".bak", history + ".checkpoint.json", ".pulumi/backups/lessor/acme/acme.1.json"} {
		status, body := do(t, http.MethodPut, a.base+"/"+target, "", "X-Amz-Copy-Source", bucket+"/"+checkpointKey)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "CopyObjectResult")

		status, body = do(t, http.MethodGet, a.base+"/"+target, "")
		require.Equal(t, http.StatusOK, status)
		require.JSONEq(t, content("one"), body)
	}

	lock := a.base + "/" + lockPrefix + "cli.json"

	for _, method := range []string{http.MethodPut, http.MethodHead} {
		status, _ := do(t, method, lock, "{}")
		require.Equal(t, http.StatusOK, status, method)
	}

	status, _ := do(t, http.MethodDelete, lock, "")
	require.Equal(t, http.StatusNoContent, status)

	status, _ = do(t, http.MethodHead, lock, "")
	require.Equal(t, http.StatusNotFound, status)

	status, _ = do(t, http.MethodPut, a.base+"/"+history+".history.json", `{"kind":"update"}`)
	require.Equal(t, http.StatusOK, status)

	status, body := do(t, http.MethodGet, a.base+"/.pulumi/meta.yaml", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "version: 1\n", body)

	require.True(t, a.close(t))
	require.Equal(t, []string{history + ".history.json", ".pulumi/meta.yaml", checkpointKey}, store.keys())
}

func TestHistoryIsNoState(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	store.before = func(string) error { return errAnswerLost }

	status, _ := do(t, http.MethodPut, a.base+"/.pulumi/history/lessor/acme/acme-1.history.json", "{}")
	require.Equal(t, http.StatusOK, status)
	require.Len(t, a.Complaints(), 1)
	require.NoError(t, a.Err())

	store.before = nil

	require.True(t, a.close(t))
}

// The CLI need not wait for an entry of the history, but the end of the operation
// does.
func TestHistoryIsWrittenOnTheWay(t *testing.T) {
	t.Parallel()

	const entry = ".pulumi/history/lessor/acme/acme-1.history.json"

	for name, end := range map[string]func(*testing.T, *opened){
		"close":  func(t *testing.T, a *opened) { t.Helper(); require.True(t, a.close(t)) },
		"remove": func(t *testing.T, a *opened) { t.Helper(); require.NoError(t, a.Remove(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			store := newMemory()
			a := open(t, store, config(1, true))

			under, goOn := make(chan struct{}), make(chan struct{})
			store.before = func(key string) error {
				if key == entry {
					close(under)
					<-goOn
				}

				return nil
			}

			status, _ := do(t, http.MethodPut, a.base+"/"+entry, "{}")
			require.Equal(t, http.StatusOK, status, "it is answered at once")

			<-under

			ended := make(chan struct{})

			go func() {
				defer close(ended)

				end(t, a)
			}()

			select {
			case <-ended:
				require.Fail(t, "the end did not wait")
			case <-time.After(50 * time.Millisecond):
			}

			close(goOn)
			<-ended

			require.Equal(t, name == "close", slices.Contains(store.keys(), entry), "a removal takes the history along")
		})
	}
}

func TestAMultipartUploadIsOneWrite(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))

	status, body := do(t, http.MethodPost, a.base+"/"+checkpointKey+"?uploads=", "")
	require.Equal(t, http.StatusOK, status, body)

	var begun struct {
		ID string `xml:"UploadId"`
	}
	require.NoError(t, xml.Unmarshal([]byte(body), &begun))

	whole := content("one")
	upload := a.base + "/" + checkpointKey + "?uploadId=" + begun.ID

	for _, part := range []struct{ number, text string }{{"2", whole[40:]}, {"1", "wrong"}, {"1", whole[:40]}} {
		status, body = do(t, http.MethodPut, upload+"&partNumber="+part.number, part.text)
		require.Equal(t, http.StatusOK, status, body)
	}

	require.Empty(t, store.stamps(checkpointKey))

	status, body = do(t, http.MethodPost, upload, "<CompleteMultipartUpload/>")
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, whole, a.get(t))
	require.Len(t, store.stamps(checkpointKey), 1)

	status, _ = do(t, http.MethodPost, upload, "")
	require.Equal(t, http.StatusNotFound, status, "an upload ends once")

	status, _ = do(t, http.MethodDelete, upload, "")
	require.Equal(t, http.StatusNoContent, status)
}
