package tenant_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestVersionCompare(t *testing.T) {
	t.Parallel()

	berlin := time.FixedZone("CET", int(time.Hour/time.Second))

	tests := map[string]struct {
		older, newer tenant.Version
	}{
		"zero is older than any time":     {tenant.Version{}, tenant.TimeVersion(at(0), "a", "s")},
		"zero is older than sequence 0":   {tenant.Version{}, tenant.SequenceVersion(0, "a", "s")},
		"a nanosecond counts":             {tenant.TimeVersion(at(0), "b", "s"), tenant.TimeVersion(at(0).Add(1), "a", "s")},
		"zones do not count":              {tenant.TimeVersion(at(0).In(berlin), "a", "s"), tenant.TimeVersion(at(0), "b", "s")},
		"equal times are ordered by id":   {tenant.TimeVersion(at(0), "a", "z"), tenant.TimeVersion(at(0), "b", "s")},
		"equal ids are ordered by source": {tenant.TimeVersion(at(0), "a", "s"), tenant.TimeVersion(at(0), "a", "z")},
		"sequences are numbers, not text": {tenant.SequenceVersion(9, "a", "s"), tenant.SequenceVersion(10, "a", "s")},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, -1, tt.older.Compare(tt.newer))
			require.Equal(t, 1, tt.newer.Compare(tt.older))
			require.True(t, tt.newer.After(tt.older))
			require.False(t, tt.older.After(tt.newer))
		})
	}
}

func TestVersionsAreTotallyOrdered(t *testing.T) {
	t.Parallel()

	version := rapid.Custom(func(t *rapid.T) tenant.Version {
		return tenant.SequenceVersion(rapid.Int64Range(0, 3).Draw(t, "n"),
			rapid.SampledFrom([]string{"a", "b", "a b"}).Draw(t, "id"), rapid.SampledFrom([]string{"s", "t"}).Draw(t, "source"))
	})

	rapid.Check(t, func(t *rapid.T) {
		a, b, c := version.Draw(t, "a"), version.Draw(t, "b"), version.Draw(t, "c")

		require.Equal(t, a == b, a.Compare(b) == 0)
		require.Equal(t, a.Compare(b), -b.Compare(a))
		require.False(t, a.After(a))

		if a.After(b) && b.After(c) {
			require.True(t, a.After(c))
		}
	})
}

func TestVersionIsZero(t *testing.T) {
	t.Parallel()
	require.True(t, tenant.Version{}.IsZero())
	require.False(t, tenant.SequenceVersion(0, "a", "s").IsZero())
}
