package stategate_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
)

// counting counts what would be requests to S3.
type counting struct {
	stategate.Store

	requests atomic.Int64
}

func (c *counting) Get(ctx context.Context, key, version string) (stategate.Object, error) {
	c.requests.Add(1)

	return c.Store.Get(ctx, key, version)
}

func (c *counting) Put(ctx context.Context, key string, body []byte, s stategate.Stamp, cond stategate.Condition) (string, error) {
	c.requests.Add(1)

	return c.Store.Put(ctx, key, body, s, cond)
}

func (c *counting) List(ctx context.Context, prefix string) ([]string, error) {
	c.requests.Add(1)

	return c.Store.List(ctx, prefix)
}

func (c *counting) Delete(ctx context.Context, key string) error {
	c.requests.Add(1)

	return c.Store.Delete(ctx, key)
}

// What an operation costs, with the requests that the CLI makes for it
// (DESIGN.md section 11: at most 8 without a change, where the plain CLI makes
// 52; a first provision at most 16 besides its checkpoints).
func TestAnOperationCostsFewRequests(t *testing.T) {
	t.Parallel()

	store := &counting{Store: newMemory()}
	history := "/.pulumi/history/lessor/acme/acme-1.history.json"

	first := open(t, store, config(1, true))
	first.put(t, content("one"))
	do(t, http.MethodPut, first.base+history, "{}")
	first.close(t)
	require.Equal(t, int64(8), store.requests.Swap(0), "of a first provision, one of them its checkpoint")

	again := open(t, store, config(2, true))
	do(t, http.MethodGet, again.base+"/.pulumi/meta.yaml", "")
	again.list(t, "&prefix="+checkpointKey)
	again.get(t)
	again.put(t, content("one"))
	do(t, http.MethodPut, again.base+history, "{}")
	again.close(t)
	require.Equal(t, int64(7), store.requests.Swap(0))

	unclean := open(t, store, config(3, false))
	unclean.close(t)
	require.Equal(t, int64(6), store.requests.Swap(0), "a fencing write is one more")
}
