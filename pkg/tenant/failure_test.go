package tenant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestKindRetry(t *testing.T) {
	t.Parallel()

	tests := map[tenant.Retry][]tenant.Kind{
		tenant.RetryNever:     {tenant.KindInvalid, tenant.KindApproval, tenant.KindCutover},
		tenant.RetryUncounted: {tenant.KindLocked, tenant.KindInterrupted, tenant.KindLeaseLost, tenant.KindThrottled, tenant.KindWaiting},
		tenant.RetryCounted: {
			tenant.KindTransient, tenant.KindQuota, tenant.KindDenied, tenant.KindIntegrity,
			tenant.KindMemory, tenant.KindTimeout, tenant.KindConflict, tenant.KindUnknown, tenant.Kind("of a newer worker"),
		},
	}

	judged := map[tenant.Kind]bool{}

	for want, kinds := range tests {
		for _, kind := range kinds {
			require.Equal(t, want, kind.Retry(), kind)

			judged[kind] = true
		}
	}

	for _, kind := range tenant.Kinds() {
		require.True(t, judged[kind], "%s is not in this test", kind)
	}
}

func TestFailureError(t *testing.T) {
	t.Parallel()

	f := &tenant.Failure{Kind: tenant.KindDenied, Message: "may not create the key"}
	require.EqualError(t, f, "denied: may not create the key")

	f.Resource = "aws:kms/key:Key acme"
	require.EqualError(t, f, "denied: may not create the key (aws:kms/key:Key acme)")
}

func TestRecord(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		record tenant.Record
		work   bool
	}{
		"never written":                  {},
		"accepted":                       {record: tenant.Record{DesiredSeq: 1}, work: true},
		"applied":                        {record: tenant.Record{DesiredSeq: 3, AppliedSeq: 3}},
		"moved on after applied":         {record: tenant.Record{DesiredSeq: 4, AppliedSeq: 3}, work: true},
		"given up":                       {record: tenant.Record{DesiredSeq: 4, AppliedSeq: 3, FailedSeq: 4}},
		"moved on after it was given up": {record: tenant.Record{DesiredSeq: 5, AppliedSeq: 3, FailedSeq: 4}, work: true},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.work, tt.record.NeedsWork())
		})
	}

	require.False(t, tenant.Record{}.Exists())
	require.True(t, tenant.Record{CreatedAt: at(0)}.Exists())
}
