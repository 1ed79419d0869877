package registry

import (
	"bytes"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// An item of DynamoDB may have 400 KB. The desired state takes up to 128 KiB,
// what is applied up to as much and the tier's own parameters, outputs 64 KiB
// (package reconcile refuses more), and the outcome what is fixed here. So a
// row that was accepted can also be settled.
const (
	maxOutcomeBytes = 16 << 10
	maxMessageBytes = 2 << 10
)

// outcomeDocument encodes an outcome and cuts what has no bound of its own: the
// report, which lists every difference, repairs and orphans, and what a failure
// says.
func outcomeDocument(o tenant.Outcome) (types.AttributeValue, error) {
	if o.Failure != nil {
		f := *o.Failure
		f.Message, f.Hint, f.Resource = cut(f.Message), cut(f.Hint), cut(f.Resource)
		o.Failure = &f
	}

	for {
		encoded, err := document(o)
		if err != nil || len(textOf(encoded)) <= maxOutcomeBytes || len(o.Report)+len(o.Repairs)+len(o.Orphans) == 0 {
			return encoded, err
		}

		// A few repairs must not go for want of a shorter report.
		switch longest := max(len(o.Report), len(o.Repairs), len(o.Orphans)); longest {
		case len(o.Report):
			o.Report = o.Report[:longest/2]
		case len(o.Repairs):
			o.Repairs = o.Repairs[:longest/2]
		default:
			o.Orphans = o.Orphans[:longest/2]
		}
	}
}

func cut(s string) string {
	if len(s) <= maxMessageBytes {
		return s
	}

	end := maxMessageBytes
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}

	return s[:end] + "…"
}

// appliedRow is Applied as the row has it. The parameters of a blueprint are the
// tier's, overridden by the tenant's: the latter are in the spec already, and
// twice they could make the row too large.
type appliedRow struct {
	tenant.Applied

	// Inherits says that the blueprint's parameters are those of the spec, and
	// those listed in the blueprint.
	Inherits bool `json:"blueprintInheritsSpec,omitempty"`
}

func appliedDocument(a tenant.Applied) (types.AttributeValue, error) {
	row := appliedRow{Applied: a}

	own := maps.Clone(a.Blueprint.Parameters)
	maps.DeleteFunc(own, func(name string, value json.RawMessage) bool {
		inherited, ok := a.Spec.Parameters[name]

		return ok && bytes.Equal(inherited, value)
	})

	// Only if nothing of the spec is overridden or missing can it be put back.
	if len(a.Spec.Parameters) > 0 && len(own)+len(a.Spec.Parameters) == len(a.Blueprint.Parameters) {
		row.Blueprint.Parameters = own
		row.Inherits = true
	}

	return document(row)
}

func (r *reader) applied(rec *tenant.Record) {
	var row *appliedRow

	r.object("applied", &row)

	if row == nil {
		return
	}

	if row.Inherits {
		inherited := maps.Clone(row.Spec.Parameters)
		maps.Copy(inherited, row.Blueprint.Parameters)
		row.Blueprint.Parameters = inherited
	}

	rec.Applied = &row.Applied
}
