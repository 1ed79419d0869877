package result_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestEncodeGolden(t *testing.T) {
	t.Parallel()

	deleted := settled()
	deleted.Spec, deleted.Outputs = tenant.Spec{Phase: tenant.PhaseAbsent}, nil
	deleted.Outcome.Changes, deleted.Outcome.Resources = map[string]int{"delete": 31}, 0
	deleted.Outcome.Steps = []string{"prepare-delete", "destroy", "remove"}

	for name, e := range map[string]result.Event{
		"settled": settled(), "deleted": deleted, "failed": failed(), "drifted": drifted(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := result.Encode(e)
			require.NoError(t, err)
			requireGolden(t, name, got)
		})
	}
}

func TestEncodeFitsTheLimit(t *testing.T) {
	t.Parallel()

	const big = 300 << 10

	tests := map[string]struct {
		event                         result.Event
		outputsOmitted, reportOmitted bool
	}{
		"small":                  {event: oversized(1, 1)},
		"large outputs":          {event: oversized(big, 1), outputsOmitted: true},
		"large report":           {event: oversized(1, big), outputsOmitted: true, reportOmitted: true},
		"both large":             {event: oversized(big, big), outputsOmitted: true, reportOmitted: true},
		"too large only as both": {event: oversized(big/2, big/2), outputsOmitted: true},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			text, err := result.Encode(tt.event)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), result.MaxBytes)

			var got struct {
				Data struct {
					OperationID    string         `json:"operationId"`
					Outputs        map[string]any `json:"outputs"`
					OutputsOmitted bool           `json:"outputsOmitted"`
					Report         []any          `json:"report"`
					ReportOmitted  bool           `json:"reportOmitted"`
				} `json:"data"`
			}

			require.NoError(t, json.Unmarshal(text, &got))
			require.Equal(t, "01JQ8M6A", got.Data.OperationID)
			require.Equal(t, tt.outputsOmitted, got.Data.OutputsOmitted)
			require.Equal(t, tt.outputsOmitted, got.Data.Outputs == nil)
			require.Equal(t, tt.reportOmitted, got.Data.ReportOmitted)
			require.Equal(t, tt.reportOmitted, got.Data.Report == nil)
		})
	}
}

// The largest result that keeps its outputs has exactly MaxBytes.
func TestEncodeKeepsOutputsUpToTheLimit(t *testing.T) {
	t.Parallel()

	empty, err := result.Encode(oversized(0, 1))
	require.NoError(t, err)

	most := result.MaxBytes - len(empty)

	text, err := result.Encode(oversized(most, 1))
	require.NoError(t, err)
	require.Len(t, text, result.MaxBytes)

	text, err = result.Encode(oversized(most+1, 1))
	require.NoError(t, err)
	require.Contains(t, string(text), `"outputsOmitted":true`)
}

func TestEncodeDoesNotRepeatParameters(t *testing.T) {
	t.Parallel()

	text, err := result.Encode(settled())
	require.NoError(t, err)
	require.NotContains(t, string(text), "seats")
}

func TestEncodeShortensWhatAFailureSays(t *testing.T) {
	t.Parallel()

	e := failed()
	e.Outcome.Failure.Message = strings.Repeat("é", 200<<10)

	text, err := result.Encode(e)
	require.NoError(t, err)
	require.Less(t, len(text), 4<<10)
	require.Contains(t, string(text), "é…")
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()

	change := func(f func(*result.Event)) result.Event {
		e := settled()
		f(&e)

		return e
	}

	tests := map[string]struct {
		event result.Event
		want  string
	}{
		"no id":     {change(func(e *result.Event) { e.ID = "" }), "incomplete"},
		"no type":   {change(func(e *result.Event) { e.Type = "" }), "incomplete"},
		"no tenant": {change(func(e *result.Event) { e.Tenant = "" }), "incomplete"},
		"no time":   {change(func(e *result.Event) { e.Time = time.Time{} }), "incomplete"},
		"an output that is no JSON": {
			change(func(e *result.Event) { e.Outputs = map[string]json.RawMessage{"a": json.RawMessage("{")} }), "01JQ8M6A",
		},
		"extensions that are too large": {
			change(func(e *result.Event) { e.Extensions["a"] = strings.Repeat("x", 300<<10) }), "too large",
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := result.Encode(tt.event)
			require.ErrorContains(t, err, tt.want)
			require.Less(t, len(err.Error()), 500)
		})
	}
}

func ExampleEncode() {
	text, err := result.Encode(result.Event{
		ID: "op-1", Type: result.TypeSettled, Time: time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC),
		Tenant: "acme", OperationID: "op-1", Sequence: 1,
		Spec:    tenant.Spec{Phase: tenant.PhaseActive, Tier: "free", Region: "eu-west-1"},
		Outcome: tenant.Outcome{Steps: []string{"up"}, Duration: time.Second},
		Outputs: map[string]json.RawMessage{"schema": json.RawMessage(`"acme"`)},
	})
	if err != nil {
		fmt.Println(err)
	}

	var e struct {
		Type    string `json:"type"`
		Subject string `json:"subject"`
		Data    struct {
			Outputs map[string]string `json:"outputs"`
		} `json:"data"`
	}

	if err := json.Unmarshal(text, &e); err != nil {
		fmt.Println(err)
	}

	fmt.Println(e.Type, e.Subject, e.Data.Outputs["schema"])
	// Output:
	// lessor.tenant.settled.v1 acme acme
}
