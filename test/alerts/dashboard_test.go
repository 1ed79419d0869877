package alerts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gridWidth is how many columns Grafana has.
const gridWidth = 24

func TestTheDashboardIsWellFormed(t *testing.T) {
	t.Parallel()

	d := board(t)
	require.Equal(t, "lessor-fleet", d.UID)

	ids, titles := map[int]bool{}, map[string]bool{}
	section := ""

	for i, p := range d.Panels {
		require.False(t, ids[p.ID], "the id of %s is there twice", p.Title)
		ids[p.ID] = true

		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, gridWidth, p.Title)

		for _, other := range d.Panels[:i] {
			a, b := p.GridPos, other.GridPos
			apart := a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y
			require.True(t, apart, "%s lies over %s", p.Title, other.Title)
		}

		if p.Type == "row" {
			section = p.Title

			continue
		}

		require.False(t, titles[section+p.Title], "%s: %s is there twice", section, p.Title)
		titles[section+p.Title] = true

		require.Contains(t, []string{"stat", "timeseries", "heatmap"}, p.Type, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)

		refs := make([]string, 0, len(p.Targets))

		for _, target := range p.Targets {
			refs = append(refs, target.RefID)

			// Each series is of the fleet that was chosen.
			require.Equal(t, strings.Count(target.Expr, "{"),
				strings.Count(target.Expr, `{namespace=~"$namespace", job=~"$job"`), "%s: %s", p.Title, target.Expr)
			require.Equal(t, strings.Count(target.Expr, "["), strings.Count(target.Expr, "[$__rate_interval]"), p.Title)
		}

		slices.Sort(refs)
		require.Len(t, slices.Compact(refs), len(p.Targets), p.Title)
	}

	variables := make([]string, 0, len(d.Templating.List))
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}

	require.Equal(t, []string{"datasource", "namespace", "job"}, variables)
}
