package prometheus_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	alertsFile    = "charts/lessor/files/alerts.yaml"
	dashboardFile = "charts/lessor/files/dashboard.json"
)

// TestPrometheus lets two workers settle tenants, fail with others and set a message
// aside, and then asks Prometheus everything that the alerts and the dashboard ask.
func TestPrometheus(t *testing.T) {
	t.Parallel()

	if prometheus == "" {
		t.Skip("there is no prometheus on PATH: install Debian's package prometheus")
	}

	first, second := startWorker(t), startWorker(t)
	s := startPrometheus(t, first, second)

	// The counters have to be seen at zero before anything happens.
	require.Eventually(t, func() bool { return s.value(t, `sum(count_over_time(up[1m])) >= bool 4`) == "1" }, patience, time.Second/4)

	// Each worker has its own breaker. One of them meets two of the three that fail.
	send(t, created(t, "acme", "free"), created(t, "globex", "free"), []byte("not an event"),
		created(t, "initech", "broken"), created(t, "hooli", "broken"), created(t, "umbrella", "broken"))

	for expr, want := range map[string]string{
		`sum(up)`: "2",
		`sum(lessor_operations_total{tier="free", outcome="succeeded"})`:             "2",
		`sum(lessor_operations_total{outcome="failed", kind="transient"}) >= bool 2`: "1",
		`max(lessor_tenants_waiting{reason="failed"}) >= bool 2`:                     "1",
		`sum(lessor_messages_dead_lettered_total{reason="not-json"})`:                "1",
		`max(lessor_breaker_state{region="us-east-1", tier="broken"})`:               "2",
		`min(lessor_backlog_age_seconds)`:                                            "0",
	} {
		require.Eventually(t, func() bool { return s.value(t, expr) == want }, patience, time.Second/4, "%s is not %s", expr, want)
	}

	// The queue is counted every half a minute.
	require.Eventually(t, func() bool {
		return s.value(t, `max(lessor_queue_messages{queue="dead_letters", state="visible"})`) == "1"
	}, patience, time.Second/4)

	panels(t, s)
	alerts(t, s)
	names(t, s)
}

// panels makes sure that every query of the dashboard has data.
func panels(t *testing.T, s server) {
	t.Helper()

	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}

	require.NoError(t, json.Unmarshal(read(t, dashboardFile), &board))

	// As Grafana fills them in for all namespaces and jobs.
	variables := strings.NewReplacer("$namespace", ".*", "$job", ".*", "$__rate_interval", "5m")
	asked := 0

	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expr := variables.Replace(target.Expr)
			require.NotContains(t, expr, "$", panel.Title)

			result, err := s.query(t, expr)
			require.NoError(t, err, "%s: %s", panel.Title, expr)
			require.NotEmpty(t, result, "%s has no data: %s", panel.Title, expr)

			asked++
		}
	}

	require.Greater(t, asked, len(board.Panels)/2)
}

// alerts makes sure that Prometheus evaluates each without complaint, and sees
// what is wrong with this fleet and nothing else.
func alerts(t *testing.T, s server) {
	t.Helper()

	wrong := []string{"LessorBreakerOpen", "LessorDeadLetters", "LessorTenantsFailed"}
	// Whether so few operations are enough depends on when they ran.
	perhaps := []string{"LessorOperationsFailing", "LessorOperationsFailingAlike"}

	require.Eventually(t, func() bool {
		loud := loudOf(t, s)

		return !slices.ContainsFunc(wrong, func(name string) bool { return !slices.Contains(loud, name) })
	}, patience, time.Second/4, "not seen: %v", wrong)

	require.Subset(t, slices.Concat(wrong, perhaps), loudOf(t, s))
}

// loudOf are the alerts that fire or are about to.
func loudOf(t *testing.T, s server) []string {
	t.Helper()

	var data struct {
		Groups []struct {
			Rules []struct {
				Name      string `json:"name"`
				Query     string `json:"query"`
				State     string `json:"state"`
				Health    string `json:"health"`
				LastError string `json:"lastError"`
			} `json:"rules"`
		} `json:"groups"`
	}

	require.NoError(t, s.ask(t, "rules", url.Values{"type": {"alert"}}, &data))

	var (
		loud  []string
		count int
	)

	for _, group := range data.Groups {
		for _, rule := range group.Rules {
			count++

			require.Equal(t, "ok", rule.Health, "%s: %s", rule.Name, rule.LastError)

			_, err := s.query(t, rule.Query)
			require.NoError(t, err, rule.Name)

			if rule.State != "inactive" {
				loud = append(loud, rule.Name)
			}
		}
	}

	require.Equal(t, strings.Count(string(read(t, alertsFile)), "- alert: "), count)

	return loud
}

// names makes sure that what the alerts name is there once workers work.
func names(t *testing.T, s server) {
	t.Helper()

	var scraped []string

	require.NoError(t, s.ask(t, "label/__name__/values", nil, &scraped))

	expressions := regexp.MustCompile(`(?m)^\s+(?:#|summary:|description:|- name:).*$`).ReplaceAllString(string(read(t, alertsFile)), "")
	found := regexp.MustCompile(`\blessor_\w+`).FindAllString(expressions, -1)
	require.NotEmpty(t, found)

	for _, name := range found {
		require.Contains(t, scraped, name)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)

	return text
}
