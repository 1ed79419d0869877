package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// wire is a message in the order that people read it in.
type wire struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         tenant.ID `json:"subject"`
	Time            string    `json:"time"`
	DataContentType string    `json:"datacontenttype,omitempty"`
	Data            *wireData `json:"data,omitempty"`
}

type wireData struct {
	Tier           string             `json:"tier,omitempty"`
	Region         string             `json:"region,omitempty"`
	Parameters     *tenant.Parameters `json:"parameters,omitempty"`
	Reason         string             `json:"reason,omitempty"`
	AcceptDataLoss bool               `json:"acceptDataLoss,omitempty"`
	Token          string             `json:"token,omitempty"`
	Accepted       *bool              `json:"accepted,omitempty"`
	Operation      string             `json:"operation,omitempty"`
	Sequence       *int64             `json:"sequence,omitempty"`
}

// Encode writes the message that a decoder of the same order makes e of. What
// such a decoder would refuse, Encode refuses.
func Encode(e tenant.Event, order Order) ([]byte, error) {
	body, err := marshal(e, order)
	if err != nil {
		return nil, fmt.Errorf("encoding event %s: %w", quote(e.ID), err)
	}

	// The receiver judges how far ahead the time is; here any will do.
	decoder := NewDecoder(order, func() time.Time { return e.Time })
	if _, err := decoder.Decode(body); err != nil {
		return nil, fmt.Errorf("encoding event %s: %w", quote(e.ID), err)
	}

	return body, nil
}

func marshal(e tenant.Event, order Order) ([]byte, error) {
	message := wire{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: TypeName(e.Type), Subject: e.Tenant,
		Time: e.Time.UTC().Format(time.RFC3339Nano),
	}

	data := wireData{
		Tier: e.Tier, Region: e.Region, Reason: e.Reason, AcceptDataLoss: e.AcceptDataLoss, Token: e.Token, Operation: e.Operation,
	}

	if e.Type == tenant.EventCutoverConfirmed {
		accepted := !e.Refused
		data.Accepted = &accepted
	}

	// An update must name its parameters, even if it has none.
	if len(e.Parameters) > 0 || e.Type == tenant.EventUpdated {
		data.Parameters = &e.Parameters
		if e.Parameters == nil {
			data.Parameters = &tenant.Parameters{}
		}
	}

	if order == OrderSequence && isFact(e.Type) {
		data.Sequence = &e.Version.N
	}

	if data != (wireData{}) {
		message.DataContentType, message.Data = "application/json", &data
	}

	body, err := json.Marshal(message)
	if err != nil || len(e.Extensions) == 0 {
		return body, err //nolint:wrapcheck // Wrapped by the caller.
	}

	extensions, err := json.Marshal(e.Extensions)
	if err != nil {
		return nil, err //nolint:wrapcheck // Wrapped by the caller.
	}

	// Two objects become one: the first without its closing bracket, the
	// second without its opening one.
	return append(append(body[:len(body)-1], ','), extensions[1:]...), nil
}
