package tenant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func done(id string) tenant.Outcome {
	return tenant.Outcome{
		OperationID: id, Steps: []string{"refresh", "up"}, Sequence: 7, StartedAt: at(3), Duration: 90 * time.Second, Resources: 4,
		Report: []tenant.Difference{{Type: "aws:ec2/vpc:Vpc"}},
	}
}

func TestPastOf(t *testing.T) {
	t.Parallel()

	o := done("op-1")
	want := tenant.Past{
		OperationID: "op-1", Steps: []string{"refresh", "up"}, Sequence: 7, StartedAt: at(3), Duration: 90 * time.Second,
	}
	require.Equal(t, want, tenant.PastOf(o))

	o.Failure = &tenant.Failure{Kind: tenant.KindQuota, Message: "no VPC left", Hint: "ask for more"}
	want.Kind, want.Message = tenant.KindQuota, "no VPC left"
	require.Equal(t, want, tenant.PastOf(o))
}

func TestPastOfCutsLongMessages(t *testing.T) {
	t.Parallel()

	const limit = 200

	rapid.Check(t, func(t *rapid.T) {
		message := rapid.StringN(0, 300, 400).Draw(t, "message")

		o := done("op-1")
		o.Failure = &tenant.Failure{Message: message}
		got := tenant.PastOf(o).Message

		require.LessOrEqual(t, len(got), limit)
		require.True(t, utf8.ValidString(got))

		if len(message) <= limit {
			require.Equal(t, message, got)

			return
		}

		require.True(t, strings.HasPrefix(message, strings.TrimSuffix(got, "…")))
		require.Greater(t, len(got), limit-utf8.UTFMax)
	})
}

func TestRemember(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.IntRange(0, 15), 0, 30).Draw(t, "operations")

		var (
			history []tenant.Past
			want    []string
		)

		for _, n := range numbers {
			id := fmt.Sprintf("op-%02d", n)
			before := slices.Clone(history)
			after := tenant.Remember(history, done(id))

			require.Equal(t, before, history, "the argument stays as it is")
			require.Equal(t, after, tenant.Remember(after, done(id)), "once more is not twice")

			history = after
			want = slices.DeleteFunc(want, func(known string) bool { return known == id })
			want = append([]string{id}, want...)
			want = want[:min(len(want), tenant.MaxHistory)]

			got := make([]string, len(history))
			for i, p := range history {
				got[i] = p.OperationID
			}

			require.Equal(t, want, got, "newest first")
		}
	})
}

func TestRememberTakesWhatAskedForNothingForNoOperation(t *testing.T) {
	t.Parallel()

	history := tenant.Remember(nil, done("op-1"))
	require.Equal(t, history, tenant.Remember(history, tenant.Outcome{OperationID: "op-2"}))

	refused := tenant.Remember(history, tenant.Outcome{
		OperationID: "op-3", Failure: &tenant.Failure{Kind: tenant.KindInvalid, Message: "tier: there is no tier gold"},
	})
	require.Len(t, refused, 2)
	require.Equal(t, tenant.KindInvalid, refused[0].Kind)
}
