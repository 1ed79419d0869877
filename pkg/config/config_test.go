package config_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-envconfig"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/capacity"
	"github.com/lessor-dev/lessor/pkg/config"
	"github.com/lessor-dev/lessor/pkg/event"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "write the table into README.md")

// minimal is everything that must be set.
func minimal() map[string]string {
	return map[string]string{
		"LESSOR_QUEUE_URL":             "https://sqs.eu-central-1.amazonaws.com/123456789012/events",
		"LESSOR_DEAD_LETTER_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/123456789012/dead",
		"LESSOR_CATALOG":               "catalog.yaml",
		"LESSOR_STATE_BUCKETS":         "acme-state-0",
		"LESSOR_SECRETS_PROVIDER":      "awskms://alias/lessor?region=eu-central-1",
	}
}

func with(changes map[string]string) envconfig.Lookuper {
	environment := minimal()
	maps.Copy(environment, changes)

	return envconfig.MapLookuper(environment)
}

func TestLoadWorker(t *testing.T) {
	t.Parallel()

	t.Run("defaults", func(t *testing.T) {
		t.Parallel()

		w, err := config.LoadWorker(t.Context(), envconfig.MapLookuper(minimal()))
		require.NoError(t, err)
		require.Equal(t, minimal()["LESSOR_QUEUE_URL"], w.Queue.URL)
		require.Equal(t, 2*time.Minute, w.Queue.VisibilityTimeout)
		require.Equal(t, 20*time.Second, w.Queue.PollWait)
		require.Equal(t, "lessor-tenants", w.Registry.Table)
		require.Equal(t, time.Minute, w.Lease.Duration)
		require.Equal(t, []string{"acme-state-0"}, w.Shard.Buckets)
		require.Equal(t, 2*time.Hour, w.Engine.OperationTimeout)
		require.Equal(t, "lessor", w.Engine.Project)
		require.Equal(t, capacity.Bytes(768<<20), w.Capacity.OperationMemory)
		require.Zero(t, w.Capacity.MemoryLimit)
		require.Equal(t, event.OrderTime, w.EventOrder)
		require.Equal(t, 30*time.Minute, w.DrainTimeout)
		require.Equal(t, ":9090", w.Telemetry.AdminAddress)
		require.Empty(t, w.Regions)
		require.Empty(t, w.Warnings)
		require.NoError(t, w.Validate())
	})

	t.Run("set", func(t *testing.T) {
		t.Parallel()

		w, err := config.LoadWorker(t.Context(), with(map[string]string{
			"LESSOR_STATE_BUCKETS": "a-bucket, b-bucket",
			"LESSOR_REGIONS":       "eu-central-1,us-gov-west-1",
			"LESSOR_EVENT_ORDER":   "sequence",
			"LESSOR_MEMORY_LIMIT":  "4Gi",
			"LESSOR_PPROF":         "true",
			"LESSOR_TABLE":         "",
			"LESSOR_REGION":        "ignored",
		}))
		require.NoError(t, err)
		require.Equal(t, []string{"a-bucket", "b-bucket"}, w.Shard.Buckets)
		require.Equal(t, []string{"eu-central-1", "us-gov-west-1"}, w.Regions)
		require.Equal(t, event.OrderSequence, w.EventOrder)
		require.Equal(t, capacity.Bytes(4<<30), w.Capacity.MemoryLimit)
		require.True(t, w.Telemetry.PProf)
		require.Equal(t, "lessor-tenants", w.Registry.Table, "nothing is as good as not set")
	})
}

func TestLoadWorkerRefuses(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		variable, value string
		// want are parts of the one error that there is.
		want []string
	}{
		"queue missing":             {"LESSOR_QUEUE_URL", "", []string{"LESSOR_QUEUE_URL: is not set; set it to the URL of an SQS queue"}},
		"dead-letter queue missing": {"LESSOR_DEAD_LETTER_QUEUE_URL", "", []string{"is not set"}},
		"catalog missing":           {"LESSOR_CATALOG", "", []string{"is not set; set it to the path"}},
		"buckets missing":           {"LESSOR_STATE_BUCKETS", "", []string{"is not set; set it to the names"}},
		"key missing":               {"LESSOR_SECRETS_PROVIDER", "", []string{"is not set", "awskms://"}},
		"queue is no URL":           {"LESSOR_QUEUE_URL", "events", []string{`"events" cannot be used: it is no URL`}},
		"queue is an ARN":           {"LESSOR_QUEUE_URL", "arn:aws:sqs:eu-central-1:1:q", []string{"it is no URL"}},
		"both queues the same": {
			"LESSOR_DEAD_LETTER_QUEUE_URL", minimal()["LESSOR_QUEUE_URL"],
			[]string{"is the queue of events itself"},
		},
		"negative duration":        {"LESSOR_DRAIN_TIMEOUT", "-30m", []string{`"-30m"`, "must not be negative", "such as 30m"}},
		"negative timeout":         {"LESSOR_OPERATION_TIMEOUT", "-2h", []string{`"-2h"`, "must be above 0", "such as 2h"}},
		"duration without a unit":  {"LESSOR_BACKOFF_MIN", "10", []string{`"10" cannot be read as a duration`, "such as 10s"}},
		"operation above 11 hours": {"LESSOR_OPERATION_TIMEOUT", "11h1s", []string{"11h0m1s", "below 11h"}},
		"poll wait too long":       {"LESSOR_POLL_WAIT", "21s", []string{"out of range", "from 1s to 20s"}},
		"visibility too short":     {"LESSOR_VISIBILITY_TIMEOUT", "1s", []string{"out of range", "10s"}},
		"lease margin":             {"LESSOR_LEASE_MARGIN", "50s", []string{"50s", "LESSOR_LEASE_DURATION"}},
		"table":                    {"LESSOR_TABLE", "no spaces", []string{"does not match"}},
		"bucket":                   {"LESSOR_STATE_BUCKETS", "ok-bucket,NOT_OK", []string{`"NOT_OK"`}},
		"bucket twice":             {"LESSOR_STATE_BUCKETS", "a-bucket,a-bucket", []string{"it is there twice"}},
		"bucket list with a gap":   {"LESSOR_STATE_BUCKETS", "a-bucket,,b-bucket", []string{`""`}},
		"region":                   {"LESSOR_REGIONS", "Frankfurt", []string{`"Frankfurt"`, "eu-central-1,us-east-1"}},
		"event order":              {"LESSOR_EVENT_ORDER", "tme", []string{"did you mean time?"}},
		"log level":                {"LESSOR_LOG_LEVEL", "verbose", []string{"debug, info, warn or error"}},
		"log format":               {"LESSOR_LOG_FORMAT", "xml", []string{"json or text"}},
		"pprof":                    {"LESSOR_PPROF", "yes please", []string{"true or false"}},
		"admin address":            {"LESSOR_ADMIN_ADDRESS", "9090", []string{"it has no port", ":port"}},
		"admin port":               {"LESSOR_ADMIN_ADDRESS", ":99999", []string{"below 65536"}},
		"slots":                    {"LESSOR_MAX_SLOTS", "0", []string{"out of range", "from 1"}},
		"slots of a half":          {"LESSOR_MAX_SLOTS", "1.5", []string{"as a whole number"}},
		"parallel":                 {"LESSOR_PARALLEL", "0", []string{"out of range"}},
		"memory":                   {"LESSOR_OPERATION_MEMORY", "lots", []string{"not an amount of memory", "768Mi"}},
		"no memory":                {"LESSOR_OPERATION_MEMORY", "0Mi", []string{"must be above 0"}},
		"memory limit below a slot": {
			"LESSOR_MEMORY_LIMIT", "512Mi",
			[]string{"the limit is 512Mi", "LESSOR_OPERATION_MEMORY=768Mi", "need 1Gi"},
		},
		"backoffs the wrong way":  {"LESSOR_BACKOFF_MIN", "20m", []string{"LESSOR_BACKOFF_MAX (15m0s)"}},
		"sweep that is too early": {"LESSOR_SWEEP_AGE", "190s", []string{"is 3m10s", "LESSOR_VISIBILITY_TIMEOUT", "(3m10s)", "raise it"}},
		"sweep without an age":    {"LESSOR_SWEEP_AGE", "0", []string{"must be above 0"}},
		"sweep in the past":       {"LESSOR_SWEEP_INTERVAL", "-1s", []string{"must not be negative", "or 0"}},
		"a breaker of one":        {"LESSOR_BREAKER_TENANTS", "1", []string{"2 or more", "0 to turn the breaker off"}},
		"a breaker's pause":       {"LESSOR_BREAKER_PAUSE", "0s", []string{"from 1s to 1h"}},
		"result target":           {"LESSOR_RESULT_TARGET", "arn:aws:s3:::bucket", []string{"SNS topic"}},
		"secrets provider":        {"LESSOR_SECRETS_PROVIDER", "passphrase", []string{"awskms://"}},
		"project":                 {"LESSOR_PROJECT", "a/b", []string{`"a/b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := config.LoadWorker(t.Context(), with(map[string]string{c.variable: c.value}))
			require.Error(t, err)
			require.Len(t, strings.Split(err.Error(), "\n"), 1, "one error: %v", err)
			require.ErrorContains(t, err, c.variable)

			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestTheSweepCanBeSwitchedOff(t *testing.T) {
	t.Parallel()

	w, err := config.LoadWorker(t.Context(), with(map[string]string{"LESSOR_SWEEP_INTERVAL": "0", "LESSOR_VISIBILITY_TIMEOUT": "1h"}))
	require.NoError(t, err)
	require.Zero(t, w.Sweep.Interval)

	w, err = config.LoadWorker(t.Context(), with(map[string]string{"LESSOR_SWEEP_AGE": "191s"}))
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, w.Sweep.Interval)
}

func TestLoadWorkerReportsEverything(t *testing.T) {
	t.Parallel()

	_, err := config.LoadWorker(t.Context(), envconfig.MapLookuper(map[string]string{
		"LESSOR_OPERATION_TIMEOUT":  "12h",
		"LESSOR_VISIBILITY_TIMEOUT": "soon",
		"LESSOR_LEASE_MARGIN":       "1h",
		"LESSOR_MAX_SLOTS":          "many",
		"LESSOR_BACKOFF_MAX":        "2s",
	}))
	require.Error(t, err)

	var about []string

	for line := range strings.Lines(err.Error()) {
		name, _, _ := strings.Cut(line, " ")
		about = append(about, strings.TrimSuffix(name, ":"))
	}

	require.ElementsMatch(t, []string{
		"LESSOR_QUEUE_URL", "LESSOR_DEAD_LETTER_QUEUE_URL", "LESSOR_CATALOG", "LESSOR_STATE_BUCKETS", "LESSOR_SECRETS_PROVIDER",
		"LESSOR_OPERATION_TIMEOUT", "LESSOR_VISIBILITY_TIMEOUT", "LESSOR_LEASE_MARGIN", "LESSOR_MAX_SLOTS", "LESSOR_BACKOFF_MIN",
	}, about, "%v", err)

	var problem *config.ProblemError
	require.ErrorAs(t, err, &problem)
	require.NotEmpty(t, problem.Fix)
}

func TestUnknown(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{
		"LESSOR_COLOUR: no such variable, so it does nothing",
		"LESSOR_QUEUEURL: no such variable, so it does nothing; did you mean LESSOR_QUEUE_URL?",
	}, config.Unknown([]string{"PATH", "LESSOR_QUEUEURL", "LESSOR_TABLE", "AWS_REGION", "LESSOR_COLOUR"}))
}

func TestLoadWorkerWarns(t *testing.T) {
	for name, value := range minimal() {
		t.Setenv(name, value)
	}

	t.Setenv("LESSOR_MAX_SLOT", "3")

	w, err := config.LoadWorker(t.Context(), envconfig.OsLookuper())
	require.NoError(t, err)
	require.Len(t, w.Warnings, 1)
	require.Contains(t, w.Warnings[0], "did you mean LESSOR_MAX_SLOTS?")

	w, err = config.LoadWorker(t.Context(), envconfig.MapLookuper(minimal()))
	require.NoError(t, err)
	require.Empty(t, w.Warnings, "the environment of the process is not that of the lookuper")
}

func TestEveryVariableIsDescribed(t *testing.T) {
	t.Parallel()

	names := config.Names()
	require.True(t, slices.IsSorted(names))
	require.Len(t, slices.Compact(slices.Clone(names)), len(names), "no variable twice")

	described := config.Described()
	for _, name := range names {
		require.Contains(t, described, name, "add it to variables()")
		require.Contains(t, config.MarkdownTable(), "| `"+name+"` | ")
	}

	require.Len(t, described, len(names), "variables() describes one that nobody reads")

	for line := range strings.Lines(config.MarkdownTable()) {
		require.Equal(t, 4, strings.Count(line, "|"), line)
		require.NotContains(t, line, "|  |", "say what happens without it")
	}
}

func TestInsertTable(t *testing.T) {
	t.Parallel()

	document, ok := config.InsertTable("a\n" + config.TableBegin + "\nold\n" + config.TableEnd + "\nb\n")
	require.True(t, ok)
	require.Equal(t, "a\n"+config.TableBegin+"\n"+config.MarkdownTable()+config.TableEnd+"\nb\n", document)

	again, ok := config.InsertTable(document)
	require.True(t, ok)
	require.Equal(t, document, again)

	for _, without := range []string{"nothing", config.TableBegin + " only", config.TableEnd + " only"} {
		same, ok := config.InsertTable(without)
		require.False(t, ok)
		require.Equal(t, without, same)
	}
}

// TestReadme fails if README.md has an old table. To write the present one:
//
//	go test ./pkg/config -run TestReadme -update
func TestReadme(t *testing.T) {
	t.Parallel()

	const path = "../../README.md"

	data, err := os.ReadFile(path)
	require.NoError(t, err)

	want, ok := config.InsertTable(string(data))
	require.True(t, ok, "README.md has no table")

	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))

		return
	}

	require.Equal(t, want, string(data), "the table is old; run: go test ./pkg/config -run TestReadme -update")
}
