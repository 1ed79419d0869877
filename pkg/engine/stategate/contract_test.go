package stategate_test

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/emulator"
	"github.com/lessor-dev/lessor/pkg/engine/stategate"
)

func contentTag(body []byte) string {
	sum := md5.Sum(body)

	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// TestStores runs the contract on the fake that other tests use and on S3 as the
// emulator speaks it.
func TestStores(t *testing.T) {
	t.Parallel()

	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		storeContract(t, func(*testing.T) stategate.Store { return newMemory() })
	})

	t.Run("emulator", func(t *testing.T) {
		t.Parallel()

		client := emulatorClient(t)

		storeContract(t, func(t *testing.T) stategate.Store {
			t.Helper()

			return stategate.NewStore(client, newBucket(t, client))
		})
	})
}

func emulatorClient(t *testing.T) *s3.Client {
	t.Helper()

	if testing.Short() {
		t.Skip("it needs the emulator")
	}

	binary, err := filepath.Abs(filepath.Join("..", "..", "..", ".bin", "kumo"))
	require.NoError(t, err)

	running, err := emulator.Start(t.Context(), emulator.Options{Binary: binary, Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(running.Stop)

	http := &closingClient{}
	t.Cleanup(http.close)

	return stategate.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(running.URL()), HTTPClient: http,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

func newBucket(t *testing.T, client *s3.Client) string {
	t.Helper()

	name := "state-" + strings.ToLower(rand.Text())

	_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
	require.NoError(t, err)

	_, err = client.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	require.NoError(t, err)

	return name
}

func storeContract(t *testing.T, open func(t *testing.T) stategate.Store) {
	t.Helper()

	const key = ".pulumi/stacks/lessor/acme.json"

	mine := stategate.Stamp{Fence: 7, Operation: "01OP", Write: 3}
	put := func(ctx context.Context, t *testing.T, s stategate.Store, body string, c stategate.Condition) string {
		t.Helper()

		etag, err := s.Put(ctx, key, []byte(body), mine, c)
		require.NoError(t, err)

		return etag
	}

	cases := map[string]func(t *testing.T, s stategate.Store){
		"what is put is got, with its stamp": func(t *testing.T, s stategate.Store) {
			t.Helper()

			etag := put(t.Context(), t, s, "one", stategate.Condition{Absent: true})

			got, err := s.Get(t.Context(), key, "")
			require.NoError(t, err)
			require.Equal(t, stategate.Object{Body: []byte("one"), ETag: etag, Stamp: mine}, got)
		},
		"nothing is not found": func(t *testing.T, s stategate.Store) {
			t.Helper()

			_, err := s.Get(t.Context(), key, "")
			require.ErrorIs(t, err, stategate.ErrNotFound)

			_, err = s.Put(t.Context(), key, nil, mine, stategate.Condition{ETag: contentTag(nil)})
			require.ErrorIs(t, err, stategate.ErrNotFound)
		},
		"a first write happens once": func(t *testing.T, s stategate.Store) {
			t.Helper()

			put(t.Context(), t, s, "one", stategate.Condition{Absent: true})

			_, err := s.Put(t.Context(), key, []byte("two"), mine, stategate.Condition{Absent: true})
			require.ErrorIs(t, err, stategate.ErrPrecondition)
		},
		"a write replaces only what was seen": func(t *testing.T, s stategate.Store) {
			t.Helper()

			first := put(t.Context(), t, s, "one", stategate.Condition{})
			put(t.Context(), t, s, "two", stategate.Condition{ETag: first})

			_, err := s.Put(t.Context(), key, []byte("three"), mine, stategate.Condition{ETag: first})
			require.ErrorIs(t, err, stategate.ErrPrecondition)
		},
		"the same content has the same ETag, a stamp another": func(t *testing.T, s stategate.Store) {
			t.Helper()

			first := put(t.Context(), t, s, "one", stategate.Condition{})
			require.Equal(t, first, put(t.Context(), t, s, "one", stategate.Condition{ETag: first}))
			require.NotEqual(t, first, put(t.Context(), t, s, "one \t", stategate.Condition{ETag: first}))
		},
		"a removed object is no object": func(t *testing.T, s stategate.Store) {
			t.Helper()

			first := put(t.Context(), t, s, "one", stategate.Condition{})
			require.NoError(t, s.Delete(t.Context(), key))
			require.NoError(t, s.Delete(t.Context(), "never there"))

			_, err := s.Get(t.Context(), key, "")
			require.ErrorIs(t, err, stategate.ErrNotFound)

			_, err = s.Put(t.Context(), key, []byte("two"), mine, stategate.Condition{ETag: first})
			require.ErrorIs(t, err, stategate.ErrNotFound)

			put(t.Context(), t, s, "two", stategate.Condition{Absent: true})
		},
		"older versions are kept until they are removed": func(t *testing.T, s stategate.Store) {
			t.Helper()

			put(t.Context(), t, s, "one", stategate.Condition{})
			require.NoError(t, s.Delete(t.Context(), key))
			put(t.Context(), t, s, "two", stategate.Condition{})

			versions, err := s.Versions(t.Context(), key)
			require.NoError(t, err)

			var old []stategate.Version

			contents := map[string]bool{}

			for _, v := range versions {
				require.Equal(t, key, v.Key)

				if !v.Latest {
					old = append(old, v)
				}

				if v.Marker {
					continue
				}

				object, err := s.Get(t.Context(), key, v.ID)
				require.NoError(t, err)

				contents[string(object.Body)] = v.Latest
			}

			require.Equal(t, map[string]bool{"one": false, "two": true}, contents)

			require.NoError(t, s.DeleteVersions(t.Context(), old))
			require.NoError(t, s.DeleteVersions(t.Context(), nil))

			versions, err = s.Versions(t.Context(), key)
			require.NoError(t, err)
			require.Len(t, versions, 1)
			require.True(t, versions[0].Latest)
		},
		"a list has a prefix": func(t *testing.T, s stategate.Store) {
			t.Helper()

			for _, name := range []string{"a/1", "a/2", "ab/3"} {
				_, err := s.Put(t.Context(), name, []byte("x"), mine, stategate.Condition{})
				require.NoError(t, err)
			}

			keys, err := s.List(t.Context(), "a/")
			require.NoError(t, err)
			require.Equal(t, []string{"a/1", "a/2"}, keys)
		},
	}

	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open(t))
		})
	}
}
