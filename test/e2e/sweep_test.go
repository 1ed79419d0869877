package e2e_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestLostMessages: tenants in the table of whom the queue knows nothing, one of
// them with a worker that died, are found and settled.
func TestLostMessages(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 0, append(soon(), "LESSOR_SWEEP_INTERVAL=2s", "LESSOR_SWEEP_AGE=21s")...)
	dead := lease.New(dynamodb.NewFromConfig(f.aws), f.table, lease.Config{Duration: 8 * time.Second, Margin: 2 * time.Second})

	for _, id := range []tenant.ID{"lost", "abandoned"} {
		e, err := event.NewDecoder(event.OrderTime, time.Now).Decode(f.event(tenant.EventCreated, id, time.Now(), nil))
		require.NoError(t, err)

		rec, _, err := f.rows.Accept(t.Context(), e)
		require.NoError(t, err)

		if id == "abandoned" {
			_, err = dead.Acquire(t.Context(), rec, "a message that is gone")
			require.NoError(t, err)
		}
	}

	// Two workers, of which one sweeps.
	f.start()
	f.start()

	for id, fence := range map[tenant.ID]int64{"lost": 1, "abandoned": 3} {
		rec := f.settled(id)
		require.Equal(t, int64(1), rec.AppliedSeq, "%+v", rec.Last)
		require.GreaterOrEqual(t, rec.Fence, fence, "the dead one's, the end of it, and one that worked")
	}

	f.idle(time.Minute)
	require.Len(t, started(f.operations("")), 2)
}
