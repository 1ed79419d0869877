package stategate_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint/checkpointtest"
	"github.com/lessor-dev/lessor/pkg/engine/stategate"
)

// forgetful is a bucket that takes every write of the checkpoint and keeps none,
// so that it costs nothing.
type forgetful struct {
	*memory

	writes int
}

func (f *forgetful) Put(
	ctx context.Context, key string, body []byte, stamp stategate.Stamp, condition stategate.Condition,
) (string, error) {
	if key != checkpointKey {
		return f.memory.Put(ctx, key, body, stamp, condition)
	}

	f.writes++

	return strconv.Itoa(f.writes), nil
}

// BenchmarkGate sends requests as the CLI does, over loopback on one connection.
// The client's part is in the figures: "missing" is little else.
func BenchmarkGate(b *testing.B) {
	small, large := checkpointtest.Sized(37<<10), checkpointtest.Sized(1<<20)
	lock := []byte(`{"pid":4711,"username":"lessor","hostname":"worker-0","timestamp":"2026-03-01T12:00:00.123456789Z"}`)

	for _, bench := range []struct {
		name              string
		state             []byte
		method, key, from string
		body              []byte
		status            int
	}{
		{name: "missing", method: http.MethodHead, key: checkpointKey, status: http.StatusNotFound},
		{name: "get/37KB", state: small, method: http.MethodGet, key: checkpointKey},
		{name: "get/1MB", state: large, method: http.MethodGet, key: checkpointKey},
		{name: "head/1MB", state: large, method: http.MethodHead, key: checkpointKey},
		{name: "put/37KB", state: small, method: http.MethodPut, key: checkpointKey, body: small},
		{name: "put/1MB", state: large, method: http.MethodPut, key: checkpointKey, body: large},
		{name: "backup/1MB", state: large, method: http.MethodPut, key: checkpointKey + ".bak", from: checkpointKey},
		{name: "lock/put", state: small, method: http.MethodPut, key: lockPrefix + "1.json", body: lock},
		{name: "lock/list", state: small, method: http.MethodGet, key: "?list-type=2&prefix=" + lockPrefix},
	} {
		b.Run(bench.name, func(b *testing.B) {
			store := &forgetful{memory: newMemory()}

			if bench.state != nil {
				_, err := store.put(checkpointKey, bench.state, stategate.Stamp{}, stategate.Condition{})
				require.NoError(b, err)
			}

			a := open(b, store, config(1, true))
			client := &closingClient{}
			b.Cleanup(client.close)

			url, header := a.base+"/"+bench.key, http.Header{}
			if bench.from != "" {
				header.Set("X-Amz-Copy-Source", path.Base(a.base)+"/"+bench.from)
			}

			b.ReportAllocs()
			b.SetBytes(int64(max(len(bench.body), 1)))

			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), bench.method, url, bytes.NewReader(bench.body))
				require.NoError(b, err)

				r.Header = header

				res, err := client.Do(r)
				require.NoError(b, err)

				_, err = io.Copy(io.Discard, res.Body)
				require.NoError(b, err)
				require.NoError(b, res.Body.Close())
				require.Equal(b, max(bench.status, http.StatusOK), res.StatusCode)
			}
		})
	}
}
