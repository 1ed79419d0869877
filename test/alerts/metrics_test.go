package alerts_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/telemetry"
)

// labels are the values that each label of a metric has.
type labels map[string][]string

// exposed are the series of a worker's /metrics, by name, with everything that
// only appears once something happened.
func exposed(t *testing.T) map[string]labels {
	t.Helper()

	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg, []string{"free"})
	m.Watch(func() int { return 0 }, func() time.Duration { return 0 })
	m.Built("v1.0.0")
	m.QueueCounted(telemetry.QueueEvents, 0, 0, 0)
	m.QueueCounted(telemetry.QueueDeadLetters, 0, 0, 0)
	m.BacklogAged(0)
	m.BreakerChanged("eu-west-1", "free", 0)

	// A worker counts these by reasons that only the decoder knows.
	m.MessagesDeadLettered.WithLabelValues("too-large")

	page := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(page,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))

	series := map[string]labels{}

	for line := range strings.Lines(page.Body.String()) {
		found := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `).FindStringSubmatch(line)
		if found == nil {
			continue
		}

		name := found[1]
		if series[name] == nil {
			series[name] = labels{}
		}

		for _, pair := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(found[2], -1) {
			series[name][pair[1]] = append(series[name][pair[1]], pair[2])
		}
	}

	return series
}

// scraped are the labels that Prometheus adds.
func scraped() []string { return []string{"namespace", "job", "pod", "instance"} }

var (
	text     = regexp.MustCompile(`"[^"]*"`)
	selector = regexp.MustCompile(`\b(\w*_\w+)\b(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
)

// functions of PromQL look like metrics.
func functions() []string { return []string{"histogram_quantile"} }

// problems are what is wrong with the metrics and labels of an expression.
func problems(expr string, series map[string]labels) []string {
	var (
		wrong []string
		used  = slices.Clone(scraped())
		named int
	)

	plain := grouping.ReplaceAllString(expr, " ")

	for _, found := range selector.FindAllStringSubmatch(quoteless(plain), -1) {
		name := found[1]
		if slices.Contains(functions(), name) {
			continue
		}

		have, ok := series[name]
		if !ok {
			wrong = append(wrong, "there is no metric "+name)

			continue
		}

		named++

		for label := range have {
			used = append(used, label)
		}
	}

	if named == 0 {
		wrong = append(wrong, "no metric is named")
	}

	for _, found := range selector.FindAllStringSubmatch(plain, -1) {
		for _, m := range matcher.FindAllStringSubmatch(found[2], -1) {
			if have, ok := series[found[1]]; ok && !matches(have, m[1], m[2], m[3]) {
				wrong = append(wrong, "no series of "+found[1]+" has "+m[0])
			}
		}
	}

	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(group[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(used, label) {
				wrong = append(wrong, "there is no label "+label)
			}
		}
	}

	return wrong
}

// quoteless takes what is no name of a metric out of matchers.
func quoteless(expr string) string {
	return regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`).ReplaceAllString(text.ReplaceAllString(expr, `""`), "")
}

// matches reports whether each alternative that a matcher names is there.
func matches(have labels, label, operator, value string) bool {
	if slices.Contains(scraped(), label) {
		return true
	}

	if operator == "=" || operator == "!=" {
		return slices.Contains(have[label], value)
	}

	for alternative := range strings.SplitSeq(value, "|") {
		if !slices.Contains(have[label], alternative) {
			return false
		}
	}

	return true
}

func TestAlertsUseMetricsThatExist(t *testing.T) {
	t.Parallel()

	series := exposed(t)

	for _, r := range rules(t) {
		require.Empty(t, problems(r.Expr, series), r.Alert)

		for _, found := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(
			r.Annotations["summary"]+r.Annotations["description"], -1) {
			require.Contains(t, r.Expr, found[1], "%s: nothing has the label that its text shows", r.Alert)
		}
	}
}

func TestTheDashboardUsesMetricsThatExist(t *testing.T) {
	t.Parallel()

	series := exposed(t)

	for _, p := range board(t).Panels {
		for _, target := range p.Targets {
			require.Empty(t, problems(target.Expr, series), "%s %s", p.Title, target.RefID)

			for _, found := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				require.Contains(t, target.Expr, found[1], "%s %s: nothing has the label of its legend", p.Title, target.RefID)
			}
		}
	}
}

// A metric that nobody looks at is one too many, or one too few was thought of.
func TestEveryMetricIsShown(t *testing.T) {
	t.Parallel()

	var all strings.Builder

	for _, p := range board(t).Panels {
		for _, target := range p.Targets {
			all.WriteString(target.Expr + "\n")
		}
	}

	for name := range exposed(t) {
		base, ok := strings.CutPrefix(name, "lessor_")
		if !ok {
			continue
		}

		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}

		require.Contains(t, all.String(), "lessor_"+base, "no panel shows %s", name)
	}
}

// The check of expressions has to fail where they are wrong.
func TestProblemsAreFound(t *testing.T) {
	t.Parallel()

	series := map[string]labels{
		"lessor_a":        {"kind": {"x", "y"}},
		"lessor_b_bucket": {"le": {"0.9", "+Inf"}},
	}

	for expr, wrong := range map[string]int{
		`sum by (kind) (rate(lessor_a{kind=~"x|y"}[5m])) > 0`:                                                          0,
		`histogram_quantile(0.9, sum by (le, pod) (rate(lessor_b_bucket{namespace=~"$namespace"}[$__rate_interval])))`: 0,
		`lessor_b_bucket{le="0.9"} and on (job) lessor_a{kind!="x"}`:                                                   0,
		`lessor_c`:                        2,
		`lessor_a{kind="z"}`:              1,
		`lessor_a{kind=~"x|z"}`:           1,
		`lessor_a{tier="free"}`:           1,
		`sum by (tier) (lessor_a)`:        1,
		`lessor_a and on (tier) lessor_a`: 1,
		`lessor_b_bucket{le="0.8"}`:       1,
		`vector(1)`:                       1,
	} {
		require.Len(t, problems(expr, series), wrong, expr)
	}
}
