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
	// A step changes something of what the step before wrote.
	changed := func(state []byte) []byte {
		return bytes.Replace(state, []byte("acme.example"), []byte("acme.invalid"), 1)
	}
	lock := []byte(`{"pid":4711,"username":"lessor","hostname":"worker-0","timestamp":"2026-03-01T12:00:00.123456789Z"}`)

	for _, bench := range []struct {
		name              string
		state             []byte
		method, key, from string
		bodies            [][]byte
		status            int
	}{
		{name: "missing", method: http.MethodHead, key: checkpointKey, status: http.StatusNotFound},
		{name: "get/37KB", state: small, method: http.MethodGet, key: checkpointKey},
		{name: "get/1MB", state: large, method: http.MethodGet, key: checkpointKey},
		{name: "head/1MB", state: large, method: http.MethodHead, key: checkpointKey},
		{name: "put/37KB", state: small, method: http.MethodPut, key: checkpointKey, bodies: [][]byte{changed(small), small}},
		{name: "put/1MB", state: large, method: http.MethodPut, key: checkpointKey, bodies: [][]byte{changed(large), large}},
		{name: "put/1MB/unchanged", state: large, method: http.MethodPut, key: checkpointKey, bodies: [][]byte{large}},
		{name: "backup/1MB", state: large, method: http.MethodPut, key: checkpointKey + ".bak", from: checkpointKey},
		{name: "lock/put", state: small, method: http.MethodPut, key: lockPrefix + "1.json", bodies: [][]byte{lock}},
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

			bodies := bench.bodies
			if bodies == nil {
				bodies = [][]byte{nil}
			}

			b.ReportAllocs()

			for i := 0; b.Loop(); i++ {
				ask(b, client, bench.method, url, header, bodies[i%len(bodies)], max(bench.status, http.StatusOK))
			}
		})
	}
}

// changed is a checkpoint as a step writes it that changed something.
func changed(state []byte) []byte {
	return bytes.Replace(state, []byte("acme.example"), []byte("acme.invalid"), 1)
}

// ask sends a request and reads the answer.
func ask(tb testing.TB, client *closingClient, method, url string, header http.Header, body []byte, status int) {
	tb.Helper()

	r, err := http.NewRequestWithContext(tb.Context(), method, url, bytes.NewReader(body))
	require.NoError(tb, err)

	r.Header = header

	res, err := client.Do(r)
	require.NoError(tb, err)

	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(tb, err)
	require.NoError(tb, res.Body.Close())
	require.Equal(tb, status, res.StatusCode)
}

// The CLI writes the whole state at every step. What the gate makes of it grows
// with the number of resources and not with their properties: all of them would
// be more than 300 allocations for each.
func TestAWriteOfTheStateAllocatesLittleForEachResource(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	state := checkpointtest.Sized(1 << 20)
	states := [][]byte{state, changed(state)}

	a := open(t, &forgetful{memory: newMemory()}, config(1, true))
	client := &closingClient{}
	t.Cleanup(client.close)

	write := 0
	allocations := testing.AllocsPerRun(5, func() {
		ask(t, client, http.MethodPut, a.base+"/"+checkpointKey, http.Header{}, states[write%len(states)], http.StatusOK)

		write++
	})
	require.Less(t, allocations/float64(len(a.State().Resources)), 60.0)
}
