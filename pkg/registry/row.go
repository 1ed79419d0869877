package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// item is a row as DynamoDB has it.
type item = map[string]types.AttributeValue

// LayoutVersion is of the rows that this build writes. It reads none that are
// newer. docs/contract.md describes the layout.
const LayoutVersion = 1

const (
	tenantPrefix = "tenant#"
	fleetKey     = "fleet"
)

// Key is the key of a tenant's row.
func Key(id tenant.ID) map[string]types.AttributeValue { return keyOf(tenantKey(id)) }

func tenantKey(id tenant.ID) string { return tenantPrefix + string(id) }

func keyOf(key string) item { return item{"pk": text(key)} }

func tenantOf(row item) (tenant.ID, bool) {
	key, err := stringOf(row, "pk")
	if err != nil {
		return "", false
	}

	id, ok := strings.CutPrefix(key, tenantPrefix)

	return tenant.ID(id), ok
}

var (
	errAttribute = errors.New("unexpected attribute")
	errLayout    = errors.New("the row was written by a newer version of lessor")
)

// reader collects the first error, so that a row is decoded without a branch
// for every attribute.
type reader struct {
	row item
	err error
}

func (r *reader) fail(name string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (r *reader) text(name string) string {
	value, err := stringOf(r.row, name)
	if err != nil {
		r.fail(name, err)
	}

	return value
}

func stringOf(row item, name string) (string, error) {
	switch value := row[name].(type) {
	case nil:
		return "", nil
	case *types.AttributeValueMemberS:
		return value.Value, nil
	default:
		return "", fmt.Errorf("%w: %T is not a string", errAttribute, value)
	}
}

func (r *reader) number(name string) int64 {
	switch value := r.row[name].(type) {
	case nil:
		return 0
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(value.Value, 10, 64)
		if err != nil {
			r.fail(name, err)
		}

		return n
	default:
		r.fail(name, fmt.Errorf("%w: %T is not a number", errAttribute, value))

		return 0
	}
}

func (r *reader) time(name string) time.Time {
	if r.row[name] == nil {
		return time.Time{}
	}

	return time.UnixMilli(r.number(name)).UTC()
}

// object decodes JSON into a pointer, and leaves it alone if there is none.
func (r *reader) object(name string, into any) {
	value := r.text(name)
	if value == "" {
		return
	}

	if err := json.Unmarshal([]byte(value), into); err != nil {
		r.fail(name, err)
	}
}

// Decode reads a row as a write by the key of its tenant returned it, for whom the
// write of a lease shows the row as well.
func Decode(id tenant.ID, row map[string]types.AttributeValue) (tenant.Record, error) {
	return decodeRow(id, row)
}

// decodeRow reads a row; a missing one is a Record with only an id.
func decodeRow(id tenant.ID, row item) (tenant.Record, error) {
	rec := tenant.Record{ID: id}
	if len(row) == 0 {
		return rec, nil
	}

	r := &reader{row: row}

	if version := r.number("layout_version"); version > LayoutVersion {
		return tenant.Record{}, fmt.Errorf("reading the row of %s: %w: it has layout %d, this build knows %d; upgrade it",
			id, errLayout, version, LayoutVersion)
	}

	r.object("desired", &rec.Desired)
	r.applied(&rec)
	r.change(&rec)
	r.object("approval_pending", &rec.Pending)
	r.object("stack", &rec.Stack)
	r.object("outputs", &rec.Outputs)
	r.object("progress", &rec.Progress)
	r.object("last_outcome", &rec.Last)
	r.object("history", &rec.History)

	rec.DesiredSeq = r.number("desired_seq")
	rec.AppliedSeq = r.number("applied_seq")
	rec.FailedSeq = r.number("failed_seq")
	rec.Fence = r.number("fence")
	rec.CleanFence = r.number("clean_fence")
	rec.Hold = r.text("hold_reason")
	rec.NotBefore = r.time("not_before")
	rec.Attempts = int(r.number("attempts"))
	rec.DueAt = r.time("due_at")
	rec.LookedAt = r.time("looked_at")
	rec.Unpublished = r.text("result_pending")
	rec.CreatedAt = r.time("created_at")
	rec.UpdatedAt = r.time("updated_at")

	if owner := r.text("lease_owner"); owner != "" {
		rec.Lease = tenant.Lease{
			Owner:    owner,
			RVN:      r.text("rvn"),
			Duration: time.Duration(r.number("lease_ms")) * time.Millisecond,
			Until:    r.time("lease_until"),
			Message:  r.text("lease_message"),
		}
	}

	if r.err != nil {
		return tenant.Record{}, fmt.Errorf("reading the row of %s: %w", id, r.err)
	}

	return rec, nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// document encodes a value as JSON text. What is put into rows can always be
// encoded, but for raw JSON from outside, which is checked here once more.
func document(value any) (types.AttributeValue, error) {
	var b strings.Builder

	// Escaped for HTML, a value would grow sixfold and differ from what the
	// sender said.
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding %T for the row: %w", value, err)
	}

	return text(strings.TrimSuffix(b.String(), "\n")), nil
}
