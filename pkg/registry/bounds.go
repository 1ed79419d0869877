package registry

import (
	"bytes"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// An item of DynamoDB may have 400 KB. The desired state takes up to 64 KiB, what
// is applied up to as much and the tier's own parameters, and so does the topology
// beside it during a tier change; the outputs of each take 64 KiB (package
// reconcile refuses more), and the outcome, the history and what waits for
// approval what is fixed here. So a row that was accepted can also be settled.
const (
	maxOutcomeBytes = 16 << 10
	maxHistoryBytes = 8 << 10
	maxPendingBytes = 8 << 10
	maxMessageBytes = 2 << 10
)

// outcomeDocument encodes an outcome and cuts what has no bound of its own: the
// report, which lists every difference, repairs and orphans, and what a failure
// says. Types with absurd names are left out.
func outcomeDocument(o tenant.Outcome) (types.AttributeValue, error) {
	if o.Failure != nil {
		f := *o.Failure
		f.Message, f.Hint, f.Resource = cut(f.Message), cut(f.Hint), cut(f.Resource)
		o.Failure = &f
	}

	for {
		encoded, err := document(o)
		if err != nil || len(textOf(encoded)) <= maxOutcomeBytes {
			return encoded, err
		}

		if len(o.Report)+len(o.Repairs)+len(o.Orphans) == 0 {
			if o.Types == nil {
				return encoded, nil
			}

			o.Types = nil

			continue
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

func appliedDocument(a tenant.Applied) (types.AttributeValue, error) { return document(slim(a)) }

func slim(a tenant.Applied) appliedRow {
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

	return row
}

// whole is the reverse of slim.
func whole(row appliedRow) tenant.Applied {
	if row.Inherits {
		inherited := maps.Clone(row.Spec.Parameters)
		maps.Copy(inherited, row.Blueprint.Parameters)
		row.Blueprint.Parameters = inherited
	}

	return row.Applied
}

// changeRow is Change as the row has it.
type changeRow struct {
	tenant.Change

	Other appliedRow `json:"other"`
}

func changeDocument(c tenant.Change) (types.AttributeValue, error) {
	return document(changeRow{Change: c, Other: slim(c.Other)})
}

func (r *reader) change(rec *tenant.Record) {
	var row *changeRow

	r.object("tier_change", &row)

	if row == nil {
		return
	}

	row.Change.Other = whole(row.Other)
	rec.Change = &row.Change
}

// pendingDocument encodes what waits for approval and cuts its report.
func pendingDocument(p tenant.Pending) (types.AttributeValue, error) {
	for {
		encoded, err := document(p)
		if err != nil || len(textOf(encoded)) <= maxPendingBytes || len(p.Report) == 0 {
			return encoded, err
		}

		p.Report = p.Report[:len(p.Report)/2]
	}
}

func (r *reader) applied(rec *tenant.Record) {
	var row *appliedRow

	r.object("applied", &row)

	if row == nil {
		return
	}

	applied := whole(*row)
	rec.Applied = &applied
}
