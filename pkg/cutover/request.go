package cutover

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Type is the type of the request's CloudEvent.
const Type = "lessor.tenant.cutover-requested.v1"

const source = "lessor"

// MaxBytes is the size of the largest request: what SQS takes.
const MaxBytes = 256 << 10

// ErrTooLarge means that a request would have more than MaxBytes.
var ErrTooLarge = errors.New("the request to the data hook is too large")

// Side is one of the two topologies.
type Side struct {
	Tier       string                     `json:"tier"`
	Generation int                        `json:"generation"`
	Outputs    map[string]json.RawMessage `json:"outputs,omitempty"`
}

// Request asks to bring a tenant's data from one topology to the other. It may
// come more than once for one change, each time with another token, any of which
// will do.
type Request struct {
	// ChangeID names the tier change and stays the same when the request comes
	// again.
	ChangeID string
	Tenant   tenant.ID
	Region   string
	// Token must come back with the answer.
	Token string
	// Deadline is when the answer comes too late.
	Deadline time.Time
	From, To Side
}

type envelope struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         tenant.ID `json:"subject"`
	Time            string    `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            data      `json:"data"`
}

type data struct {
	ChangeID string `json:"changeId"`
	Token    string `json:"token"`
	Deadline string `json:"deadline"`
	Region   string `json:"region"`
	From     Side   `json:"from"`
	To       Side   `json:"to"`
}

// Encode writes the request as a CloudEvent in structured mode. The id is of this
// very request, and tells nothing of the token.
func Encode(r Request, now time.Time) ([]byte, error) {
	text, err := json.Marshal(envelope{
		SpecVersion: "1.0", ID: r.ChangeID + "-" + tenant.TokenDigest(r.Token)[:8], Source: source, Type: Type, Subject: r.Tenant,
		Time: now.UTC().Format(time.RFC3339Nano), DataContentType: "application/json",
		Data: data{
			ChangeID: r.ChangeID, Token: r.Token, Deadline: r.Deadline.UTC().Format(time.RFC3339Nano), Region: r.Region,
			From: r.From, To: r.To,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the request to the data hook: %w", err)
	}

	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d; let the programs export less", ErrTooLarge, len(text), MaxBytes)
	}

	return text, nil
}
