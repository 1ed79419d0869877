package event

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Order says what orders the facts of a tenant.
type Order string

// The orders: by the event's time, or by its data.sequence. Requests are
// ordered by time in both.
const (
	OrderTime     Order = "time"
	OrderSequence Order = "sequence"
)

// Validate reports an order that is none, naming the variable that sets it.
func (o Order) Validate() error {
	switch o {
	case OrderTime, OrderSequence:
		return nil
	}

	return fmt.Errorf("%w: LESSOR_EVENT_ORDER is %s, set it to %s or %s", errOrder, quote(string(o)), OrderTime, OrderSequence)
}

const (
	typePrefix = "lessor.tenant."
	typeSuffix = ".v1"
)

// Types lists every type that the decoder knows, the internal ones last.
func Types() []tenant.EventType {
	return []tenant.EventType{
		tenant.EventCreated, tenant.EventUpdated, tenant.EventTierChanged, tenant.EventSuspended,
		tenant.EventResumed, tenant.EventDeleted, tenant.EventReprovision, tenant.EventRefresh,
		tenant.EventPreview, tenant.EventRetire, tenant.EventCutoverConfirmed, tenant.EventApproved,
		tenant.EventNudged, tenant.EventDue,
	}
}

// TypeName is the name of a type on the wire: lessor.tenant.created.v1.
func TypeName(t tenant.EventType) string { return typePrefix + string(t) + typeSuffix }

// parseType is the reverse of TypeName.
func parseType(name string) (tenant.EventType, error) {
	word, prefixed := strings.CutPrefix(name, typePrefix)
	word, suffixed := strings.CutSuffix(word, typeSuffix)

	if t := tenant.EventType(word); prefixed && suffixed && slices.Contains(Types(), t) {
		return t, nil
	}

	names := make([]string, 0, len(Types()))

	for _, t := range Types() {
		if t != tenant.EventNudged && t != tenant.EventDue {
			names = append(names, TypeName(t))
		}
	}

	return "", &InvalidError{
		Code: CodeType, Field: "type", Message: "is unknown: " + quote(name), Hint: didYouMean(name, names, "the types are"),
	}
}

// isFact reports whether events of the type are ordered among the facts.
// Requests, answers and nudges state none.
func isFact(t tenant.EventType) bool {
	switch t {
	case tenant.EventCreated, tenant.EventUpdated, tenant.EventTierChanged, tenant.EventSuspended,
		tenant.EventResumed, tenant.EventDeleted:
		return true
	case tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire,
		tenant.EventCutoverConfirmed, tenant.EventApproved, tenant.EventNudged, tenant.EventDue:
		return false
	}

	return false
}
