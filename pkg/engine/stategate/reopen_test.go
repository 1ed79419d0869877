package stategate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// checkpointOf has components, which are made, and creations under way.
func checkpointOf(made, underWay []string) string {
	entry := func(name string) string {
		return fmt.Sprintf(`{"urn":"urn:pulumi:acme::lessor::a:b:C::%s","type":"a:b:C"}`, name)
	}

	resources, pending := make([]string, 0, len(made)), make([]string, 0, len(underWay))
	for _, name := range made {
		resources = append(resources, entry(name))
	}

	for _, name := range underWay {
		pending = append(pending, `{"resource":`+entry(name)+`,"type":"creating"}`)
	}

	return fmt.Sprintf(`{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{"resources":[%s],"pending_operations":[%s]}}}`,
		strings.Join(resources, ","), strings.Join(pending, ","))
}

// The CLI forgets a creation that failed. One of which nobody knows whether it
// did is put back, one that was made later, or is under way, is not.
func TestReopen(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		writes [][2][]string // made, under way
		want   []string
	}{
		"all is made":          {[][2][]string{{nil, {"a"}}, {{"a"}, nil}}, nil},
		"one failed":           {[][2][]string{{nil, {"a", "b"}}, {{"a"}, {"b"}}, {{"a"}, nil}}, []string{"b"}},
		"one failed, then not": {[][2][]string{{nil, {"a"}}, {nil, nil}, {nil, {"a"}}, {{"a"}, nil}}, nil},
		"one failed twice":     {[][2][]string{{nil, {"a"}}, {nil, nil}, {nil, {"a"}}, {nil, nil}}, []string{"a"}},
		"two failed":           {[][2][]string{{nil, {"a", "b"}}, {nil, nil}}, []string{"a", "b"}},
		"one is under way":     {[][2][]string{{nil, {"a"}}}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := open(t, newMemory(), config(1, true))
			for _, w := range tt.writes {
				o.put(t, checkpointOf(w[0], w[1]))
			}

			require.NoError(t, o.Reopen(t.Context(), []string{"urn:nobody"}))

			for _, r := range o.Lost() {
				require.NoError(t, o.Reopen(t.Context(), []string{r.URN}))
			}

			state, err := checkpoint.Read([]byte(o.get(t)))
			require.NoError(t, err)

			under := make([]string, 0, len(state.Pending))
			for _, p := range state.Pending {
				under = append(under, p.Resource.URN[strings.LastIndex(p.Resource.URN, ":")+1:])
			}

			require.ElementsMatch(t, tt.want, under)
			require.True(t, json.Valid([]byte(o.get(t))))
			require.True(t, o.close(t))
		})
	}
}
