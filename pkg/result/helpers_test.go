package result_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func settled() result.Event {
	began := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

	return result.Event{
		ID: "01JQ8M6A", Type: result.TypeSettled, Time: began.Add(412300 * time.Millisecond), Tenant: "acme",
		OperationID: "01JQ8M6A", Sequence: 7,
		Spec: tenant.Spec{
			Phase: tenant.PhaseActive, Tier: "enterprise", Region: "eu-west-1",
			Parameters: tenant.Parameters{"seats": json.RawMessage("250")},
		},
		Outcome: tenant.Outcome{
			OperationID: "01JQ8M6A", Steps: []string{"up"}, Fence: 3, Sequence: 7, StartedAt: began,
			Duration: 412300 * time.Millisecond, Changes: map[string]int{"create": 31}, Resources: 31,
		},
		Outputs: map[string]json.RawMessage{
			"endpoint": json.RawMessage(`"acme.db.example.com:5432"`),
			"vpcId":    json.RawMessage(`"vpc-0a1b2c3d"`),
		},
		Extensions: map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
	}
}

func failed() result.Event {
	e := settled()
	e.Type, e.Outputs, e.Extensions = result.TypeFailed, nil, nil
	e.Outcome.Changes, e.Outcome.Resources = map[string]int{"create": 12, "delete": 12}, 0
	e.Outcome.Failure = &tenant.Failure{
		Kind: tenant.KindQuota, Message: "the account may have 5 VPCs in eu-west-1 and has them",
		Hint: "raise the quota L-F678F1CE, then send reprovision-requested", Resource: "aws:ec2/vpc:Vpc acme", Step: "up",
	}

	return e
}

func drifted() result.Event {
	e := settled()
	e.Type, e.Outputs = result.TypeDrifted, nil
	e.Outcome.Steps, e.Outcome.Changes = []string{"refresh"}, nil
	e.Outcome.Report = []tenant.Difference{
		{Type: "aws:rds/instance:Instance", Name: "acme-db", Action: "update", Properties: []string{"allocatedStorage"}, Drift: true},
		{Type: "aws:kms/alias:Alias", Name: "acme", Action: "delete", Drift: true},
	}

	return e
}

// oversized has outputs and a report that do not fit, alone or together.
func oversized(outputs, report int) result.Event {
	e := drifted()
	e.Outputs = map[string]json.RawMessage{"blob": json.RawMessage(`"` + strings.Repeat("x", outputs) + `"`)}
	e.Outcome.Report = []tenant.Difference{{Type: "t", Name: strings.Repeat("y", report), Action: "update"}}

	return e
}

// requireGolden compares with a file; UPDATE_GOLDEN=1 writes it anew.
func requireGolden(t *testing.T, name string, got []byte) {
	t.Helper()

	var value any

	require.NoError(t, json.Unmarshal(got, &value))

	pretty, err := json.MarshalIndent(json.RawMessage(got), "", "  ")
	require.NoError(t, err)

	path := filepath.Join("testdata", name+".json")

	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(path, append(pretty, '\n'), 0o600))
	}

	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(pretty)+"\n")
}
