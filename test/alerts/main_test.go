// Package alerts_test holds the chart's alerts and its dashboard against what
// there is: the metrics of a worker, the runbook, and promtool.
package alerts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

const (
	root          = "../.."
	alertsFile    = "charts/lessor/files/alerts.yaml"
	dashboardFile = "charts/lessor/files/dashboard.json"
	runbookFile   = "docs/runbook.md"
	casesFile     = "test/alerts/alerts_test.yaml"
)

// rule is one alert. For is a pointer, because 0m must be said as well.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         *string           `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// rules are those of all groups.
func rules(t *testing.T) []rule {
	t.Helper()

	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}

	require.NoError(t, yaml.UnmarshalWithOptions(read(t, alertsFile), &file))

	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}

	require.NotEmpty(t, all)

	return all
}

// panel is one of the dashboard.
type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Datasource struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		RefID        string `json:"refId"`
	} `json:"targets"`
}

type dashboard struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
}

func board(t *testing.T) dashboard {
	t.Helper()

	var d dashboard

	require.NoError(t, json.Unmarshal(read(t, dashboardFile), &d))
	require.NotEmpty(t, d.Panels)

	return d
}

func read(t *testing.T, name string) []byte {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)

	return text
}
