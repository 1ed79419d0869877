package stategate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse makes sure that no request is understood in a way that reaches
// beyond its bucket, and that none makes the gate fall over.
func FuzzParse(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/op-x/.pulumi/meta.yaml?x-id=GetObject", ""},
		{"GET", "/op-x?delimiter=%2F&list-type=2&prefix=.pulumi%2Fstacks%2F&max-keys=10", ""},
		{"PUT", "/op-x/.pulumi/stacks/lessor/acme.json?x-id=PutObject", ""},
		{"PUT", "/op-x/.pulumi/stacks/lessor/acme.json.bak", "op-x/.pulumi/stacks/lessor/acme.json"},
		{"PUT", "/op-x/a.bak", "/op-x/a%2fb?versionId=1"},
		{"HEAD", "/op-x/.pulumi/locks/organization/lessor/acme/1.json", ""},
		{"DELETE", "/op-x/.pulumi/locks/organization/lessor/acme/1.json?x-id=DeleteObject", ""},
		{"POST", "/op-x/a?uploads=", ""},
		{"PUT", "/op-x/a?partNumber=1&uploadId=u", ""},
		{"POST", "/op-x/a?uploadId=u", ""},
		{"DELETE", "/op-x/a?uploadId=u", ""},
		{"PUT", "/op-x/a?partNumber=99999&uploadId=u", ""},
		{"GET", "/op-x/../../etc/passwd", ""},
		{"GET", "//op-x//a?;", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}

	f.Fuzz(func(t *testing.T, method, target, source string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}

		r, err := parse(method, u, http.Header{"X-Amz-Copy-Source": {source}})
		if err != nil {
			require.ErrorIs(t, err, errNotUnderstood)
			require.Less(t, len(err.Error()), 400, "a byte may be quoted as four")

			return
		}

		require.NotContains(t, r.bucket, "/")
		require.LessOrEqual(t, len(r.key), maxKey)
		require.Equal(t, "/"+strings.TrimSuffix(r.bucket+"/"+r.key, "/"), strings.TrimSuffix(u.Path, "/"))

		switch r.action {
		case actionList:
			require.Empty(t, r.key)
			require.Equal(t, http.MethodGet, method)
			require.Positive(t, r.limit)
		case actionCopy:
			require.NotEmpty(t, r.source)
			require.Equal(t, http.MethodPut, method)
		case actionUploadPart:
			require.Positive(t, r.part)
			require.NotEmpty(t, r.upload)
		case actionGet, actionHead, actionPut, actionDelete, actionBeginUpload, actionFinishUpload, actionAbortUpload:
			require.NotEmpty(t, r.key)
			require.Empty(t, r.source)
		}

		if keysOf("lessor", "acme").classify(r.key) == classCheckpoint {
			require.Equal(t, ".pulumi/stacks/lessor/acme.json", r.key)
		}
	})
}

func TestStampsDiffer(t *testing.T) {
	t.Parallel()

	body := []byte(`{"a":1}`)
	seen := map[string]Stamp{}

	for fence := range int64(3) {
		for _, operation := range []string{"a", "b"} {
			for n := range int64(3) {
				s := Stamp{Fence: fence, Operation: operation, Write: n}
				stamped := stamp(body, s)
				require.Len(t, stamped, len(body)+stampBytes)
				require.Equal(t, body, unstamp(stamped))
				require.NotContains(t, seen, string(stamped))

				seen[string(stamped)] = s
			}
		}
	}
}
