package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

var errOrder = errors.New("unknown event order")

const (
	// MaxAhead is how far an event's time may lie in the future. Facts are
	// ordered by time, so one from the far future would win for ever.
	MaxAhead = 5 * time.Minute
	// oldestYear refuses the zero times of various clocks.
	oldestYear = 2000
)

// Decoder turns messages into events. It is safe for concurrent use.
type Decoder struct {
	order   Order
	now     func() time.Time
	schemas schemas
	// ladder holds the envelopes, most telling first.
	ladder []envelope
}

// NewDecoder makes a decoder for a fleet that orders facts so. now is what
// times in the future are told by.
func NewDecoder(order Order, now func() time.Time) *Decoder {
	s := compiled()

	return &Decoder{order: order, now: now, schemas: s, ladder: []envelope{cloudEvents{schemas: s}}}
}

// Decode reads one message. Its error is always an *InvalidError: the message
// is wrong in itself and stays so.
func (d *Decoder) Decode(body []byte) (tenant.Event, error) {
	message, err := parse(body)
	if err != nil {
		return tenant.Event{}, err
	}

	for _, e := range d.ladder {
		if !e.matches(message) {
			continue
		}

		c, err := e.open(message)
		if err != nil {
			return tenant.Event{}, err
		}

		return d.event(c)
	}

	return tenant.Event{}, &InvalidError{
		Code: CodeEnvelope, Field: "specversion", Message: isMissing,
		Hint: hint(d.schemas.byName[envelopeSchema].Properties["specversion"]),
	}
}

// event judges the content of any envelope.
func (d *Decoder) event(c content) (tenant.Event, error) {
	kind, err := parseType(c.kind)
	if err != nil {
		return tenant.Event{}, err
	}

	id, err := tenant.ParseID(c.subject)
	if err != nil {
		return tenant.Event{}, &InvalidError{
			Code: CodeSubject, Field: "subject", Message: "must not be " + quote(c.subject),
			Hint: hint(d.schemas.byName[envelopeSchema].Properties["subject"]),
		}
	}

	at, err := d.instant(c.time)
	if err != nil {
		return tenant.Event{}, err
	}

	if err := d.schemas.check(TypeName(kind), c.data, "data"); err != nil {
		return tenant.Event{}, err
	}

	version, err := d.version(kind, c, at)
	if err != nil {
		return tenant.Event{}, err
	}

	parameters, err := parametersOf(c.data)
	if err != nil {
		return tenant.Event{}, err
	}

	loss, _ := c.data["acceptDataLoss"].(bool)
	accepted, answered := c.data["accepted"].(bool)

	return tenant.Event{
		ID: c.id, Source: c.source, Type: kind, Tenant: id, Time: at, Version: version,
		Tier: text(c.data["tier"]), Region: text(c.data["region"]), Parameters: parameters,
		Reason: text(c.data["reason"]), AcceptDataLoss: loss, Token: text(c.data["token"]), Refused: answered && !accepted,
		Operation: text(c.data["operation"]), Extensions: c.extensions,
	}, nil
}

// instant reads a time and refuses one that cannot be when something happened.
func (d *Decoder) instant(s string) (time.Time, error) {
	var at time.Time
	if err := at.UnmarshalText([]byte(s)); err != nil {
		return time.Time{}, invalidTime("must be in RFC 3339, not "+quote(s), "write it like 2026-03-01T12:00:00Z")
	}

	at = at.UTC()

	if now := d.now(); at.After(now.Add(MaxAhead)) {
		return time.Time{}, invalidTime(
			fmt.Sprintf("is %s ahead of now, the limit is %s", at.Sub(now).Round(time.Second), MaxAhead),
			"set the clock of the sender right and send the event again")
	}

	if at.Year() < oldestYear {
		return time.Time{}, invalidTime(fmt.Sprintf("is before the year %d", oldestYear), "send when it happened")
	}

	return at, nil
}

func invalidTime(message, hint string) error {
	return &InvalidError{Code: CodeTime, Field: "time", Message: message, Hint: hint}
}

// version orders the event as the fleet is configured.
func (d *Decoder) version(kind tenant.EventType, c content, at time.Time) (tenant.Version, error) {
	if d.order != OrderSequence || !isFact(kind) {
		return tenant.TimeVersion(at, c.id, c.source), nil
	}

	number, ok := c.data["sequence"].(json.Number)
	if !ok {
		return tenant.Version{}, &InvalidError{
			Code: CodeSequence, Field: sequenceField, Message: isMissing,
			Hint: "this fleet orders events by it (LESSOR_EVENT_ORDER=sequence): " +
				"send a whole number that grows with every event of the tenant",
		}
	}

	// 42.0 is a whole number too.
	sequence, ok := new(big.Rat).SetString(number.String())
	if !ok || !sequence.IsInt() || !sequence.Num().IsInt64() {
		return tenant.Version{}, &InvalidError{Code: CodeSequence, Field: sequenceField, Message: "must be a whole number"}
	}

	return tenant.SequenceVersion(sequence.Num().Int64(), c.id, c.source), nil
}

// parametersOf writes each value in one canonical form, so that the same
// value is the same text wherever it is compared.
func parametersOf(data map[string]any) (tenant.Parameters, error) {
	given, _ := data["parameters"].(map[string]any)
	if len(given) == 0 {
		return nil, nil //nolint:nilnil // No parameters are no fault.
	}

	out := make(tenant.Parameters, len(given))

	for name, value := range given {
		canonical, err := json.Marshal(value)
		if err != nil {
			return nil, &InvalidError{Code: CodeData, Field: join("data.parameters", name), Message: "is not valid JSON"}
		}

		out[name] = canonical
	}

	return out, nil
}
