package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Type says what a result tells of a tenant.
type Type string

// The types of results.
const (
	// TypeSettled: the tenant is what it shall be.
	TypeSettled Type = "lessor.tenant.settled.v1"
	// TypeFailed: an operation failed. The tenant is what it was before, or
	// what the failure policy of its tier made of it.
	TypeFailed Type = "lessor.tenant.failed.v1"
	// TypeDrifted: a refresh found that the cloud differs from the state.
	TypeDrifted Type = "lessor.tenant.drifted.v1"
)

// Event is one result. ID is unique to it and stays the same when it is sent
// again.
type Event struct {
	ID          string
	Type        Type
	Time        time.Time
	Tenant      tenant.ID
	OperationID string
	// Sequence is the number of the desired state that the operation made.
	Sequence int64
	Spec     tenant.Spec
	Outcome  tenant.Outcome
	// Outputs are the program's, without secrets.
	Outputs map[string]json.RawMessage
	// Extensions are CloudEvents extension attributes of the event that led
	// to this result.
	Extensions map[string]string
}

const (
	source = "lessor"
	// MaxBytes is the size of the largest result: what SNS and EventBridge
	// take, less room for the attributes beside the message.
	MaxBytes = 256<<10 - attributesRoom
	// attributesRoom is enough for names, types and values of the two
	// message attributes, or for the other fields of an EventBridge entry.
	attributesRoom = 1 << 10
	// maxText bounds what a failure says in words.
	maxText = 2 << 10
)

// ErrTooLarge means that a result is larger than MaxBytes even without
// outputs and report.
var ErrTooLarge = errors.New("result event is too large")

var errIncomplete = errors.New("result event is incomplete")

// envelope is a CloudEvent in structured mode.
type envelope struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            Type      `json:"type"`
	Subject         tenant.ID `json:"subject"`
	Time            string    `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

type data struct {
	// TenantID repeats the subject for targets that have none.
	TenantID        tenant.ID                  `json:"tenantId"`
	OperationID     string                     `json:"operationId"`
	Sequence        int64                      `json:"sequence"`
	Phase           tenant.Phase               `json:"phase"`
	Tier            string                     `json:"tier,omitempty"`
	Region          string                     `json:"region,omitempty"`
	Steps           []string                   `json:"steps,omitempty"`
	StartedAt       string                     `json:"startedAt,omitempty"`
	DurationSeconds float64                    `json:"durationSeconds"`
	ReasonCode      tenant.Kind                `json:"reasonCode,omitempty"`
	Message         string                     `json:"message,omitempty"`
	Hint            string                     `json:"hint,omitempty"`
	FailedStep      string                     `json:"failedStep,omitempty"`
	FailedResource  string                     `json:"failedResource,omitempty"`
	Resources       int                        `json:"resources"`
	Changes         map[string]int             `json:"changes,omitempty"`
	Report          []tenant.Difference        `json:"report,omitempty"`
	ReportOmitted   bool                       `json:"reportOmitted,omitempty"`
	Outputs         map[string]json.RawMessage `json:"outputs,omitempty"`
	OutputsOmitted  bool                       `json:"outputsOmitted,omitempty"`
	// Extensions are here only where the target has no other place for them.
	Extensions map[string]string `json:"extensions,omitempty"`
}

// Encode writes the result as a CloudEvent. Outputs, and then the report, are
// left out of one that would be larger than MaxBytes; flags say so.
func Encode(e Event) ([]byte, error) {
	return fit(e, func(d data) ([]byte, error) { return encodeEnvelope(e, d) })
}

// encodeDetail writes what EventBridge carries: the data, with the extensions
// that have no place in its own envelope.
func encodeDetail(e Event) ([]byte, error) {
	return fit(e, func(d data) ([]byte, error) {
		d.Extensions = e.Extensions

		text, err := json.Marshal(d)
		if err != nil {
			return nil, fmt.Errorf("encoding the result of operation %s: %w", e.OperationID, err)
		}

		return text, nil
	})
}

func encodeEnvelope(e Event, d data) ([]byte, error) {
	text, err := json.Marshal(envelope{
		SpecVersion: "1.0", ID: e.ID, Source: source, Type: e.Type, Subject: e.Tenant,
		Time: e.Time.UTC().Format(time.RFC3339Nano), DataContentType: "application/json", Data: d,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the result of operation %s: %w", e.OperationID, err)
	}

	if len(e.Extensions) == 0 {
		return text, nil
	}

	extensions, err := json.Marshal(e.Extensions)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of operation %s: %w", e.OperationID, err)
	}

	// Two objects become one: the first without its closing bracket, the
	// second without its opening one.
	return append(append(text[:len(text)-1], ','), extensions[1:]...), nil
}

// fit leaves out what is largest and least needed until the result fits.
func fit(e Event, encode func(data) ([]byte, error)) ([]byte, error) {
	if e.ID == "" || e.Type == "" || e.Tenant == "" || e.Time.IsZero() {
		return nil, fmt.Errorf("%w: id, type, tenant and time are needed, got %q, %q, %q, %s",
			errIncomplete, e.ID, e.Type, e.Tenant, e.Time.Format(time.RFC3339))
	}

	d := dataOf(e)

	var size int

	for _, leaveOut := range []func(){
		func() {},
		func() { d.Outputs, d.OutputsOmitted = nil, len(e.Outputs) > 0 },
		func() { d.Report, d.ReportOmitted = nil, len(e.Outcome.Report) > 0 },
	} {
		leaveOut()

		text, err := encode(d)
		if err != nil || len(text) <= MaxBytes {
			return text, err
		}

		size = len(text)
	}

	return nil, fmt.Errorf("%w: operation %s, %d bytes without outputs and report, the limit is %d",
		ErrTooLarge, e.OperationID, size, MaxBytes)
}

func dataOf(e Event) data {
	d := data{
		TenantID: e.Tenant, OperationID: e.OperationID, Sequence: e.Sequence,
		Phase: e.Spec.Phase, Tier: e.Spec.Tier, Region: e.Spec.Region,
		Steps: e.Outcome.Steps, DurationSeconds: e.Outcome.Duration.Round(time.Millisecond).Seconds(),
		Changes: e.Outcome.Changes, Resources: e.Outcome.Resources, Report: e.Outcome.Report, Outputs: e.Outputs,
	}

	if !e.Outcome.StartedAt.IsZero() {
		d.StartedAt = e.Outcome.StartedAt.UTC().Format(time.RFC3339Nano)
	}

	if f := e.Outcome.Failure; f != nil {
		d.ReasonCode, d.Message, d.Hint = f.Kind, clip(f.Message), clip(f.Hint)
		d.FailedStep, d.FailedResource = f.Step, clip(f.Resource)
	}

	return d
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}

	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
