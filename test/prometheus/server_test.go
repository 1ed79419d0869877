package prometheus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a Prometheus of the test's own.
type server struct{ url string }

// startPrometheus runs a Prometheus that scrapes the workers every second and
// evaluates the alerts, until the test ends.
func startPrometheus(t *testing.T, workers ...string) server {
	t.Helper()

	dir := t.TempDir()
	address := freeAddress(t)

	alerts, err := filepath.Abs(filepath.Join(root, alertsFile))
	require.NoError(t, err)

	scrapes := make([]map[string]any, 0, len(workers))
	for i, worker := range workers {
		scrapes = append(scrapes, map[string]any{
			"targets": []string{worker},
			// As an operator's PodMonitor would.
			"labels": map[string]string{"namespace": "test", "pod": fmt.Sprintf("worker-%d", i)},
		})
	}

	// JSON is YAML.
	config, err := json.Marshal(map[string]any{
		"global":         map[string]string{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files":     []string{alerts},
		"scrape_configs": []map[string]any{{"job_name": "lessor", "static_configs": scrapes}},
	})
	require.NoError(t, err)

	path := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(path, config, 0o600))

	log := &log{}
	cmd := exec.Command(prometheus, "--config.file="+path, "--storage.tsdb.path="+filepath.Join(dir, "data"), //nolint:noctx // a signal ends it
		"--web.listen-address="+address, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log

	require.NoError(t, cmd.Start())
	t.Cleanup(func() { end(t, cmd, log) })

	s := server{url: "http://" + address}

	require.Eventually(t, func() bool { return answers(t, s.url+"/-/ready") }, patience, time.Second/4,
		"Prometheus is not ready\n%s", log)

	return s
}

// answer is what the API says.
type answer struct {
	Status   string          `json:"status"`
	Error    string          `json:"error"`
	Warnings []string        `json:"warnings"`
	Data     json.RawMessage `json:"data"`
}

// ask gets data from the API. It fails where Prometheus has anything to say
// against the question.
func (s server) ask(t *testing.T, path string, parameters url.Values, data any) error {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/"+path+"?"+parameters.Encode(), http.NoBody)
	if err != nil {
		return err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}

	var a answer

	err = errors.Join(json.NewDecoder(response.Body).Decode(&a), response.Body.Close())

	switch {
	case err != nil:
		return err
	case a.Status != "success" || len(a.Warnings) > 0:
		return fmt.Errorf("%s: %s %v", a.Status, a.Error, a.Warnings)
	}

	return json.Unmarshal(a.Data, data)
}

// sample is one series of a result.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// query evaluates an expression now.
func (s server) query(t *testing.T, expr string) ([]sample, error) {
	t.Helper()

	var data struct {
		Result []sample `json:"result"`
	}

	err := s.ask(t, "query", url.Values{"query": {expr}}, &data)

	return data.Result, err
}

// value is what an expression with one result has.
func (s server) value(t *testing.T, expr string) string {
	t.Helper()

	result, err := s.query(t, expr)
	require.NoError(t, err, expr)

	if len(result) != 1 {
		return fmt.Sprintf("%d results", len(result))
	}

	return fmt.Sprint(result[0].Value[1])
}
