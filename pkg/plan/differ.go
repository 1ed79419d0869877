package plan

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// differs reports whether an up would have anything else to deploy. Policies
// are no part of it: they take effect with the catalog.
func differs(applied tenant.Applied, spec tenant.Spec, blueprint tenant.Blueprint) bool {
	was := applied.Blueprint

	return applied.Spec.Phase != spec.Phase ||
		applied.Spec.Tier != spec.Tier ||
		was.Program != blueprint.Program ||
		was.RoleARN != blueprint.RoleARN ||
		was.Protect != blueprint.Protect ||
		!maps.EqualFunc(was.Parameters, blueprint.Parameters, sameJSON)
}

// sameJSON reports whether two documents mean the same, however they are
// written. What is not JSON is compared as it is.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}

	left, okLeft := decode(a)
	right, okRight := decode(b)

	return okLeft && okRight && sameValue(left, right)
}

func decode(document json.RawMessage) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()

	if decoder.Decode(&value) != nil {
		return nil, false
	}

	_, err := decoder.Token()

	return value, err == io.EOF
}

func sameValue(a, b any) bool {
	switch left := a.(type) {
	case json.Number:
		right, ok := b.(json.Number)

		return ok && sameNumber(left.String(), right.String())
	case []any:
		right, ok := b.([]any)

		return ok && slices.EqualFunc(left, right, sameValue)
	case map[string]any:
		right, ok := b.(map[string]any)

		return ok && maps.EqualFunc(left, right, sameValue)
	default:
		// The others are strings, booleans and null, which compare; where b
		// does not, its type differs and == says so without looking.
		return a == b
	}
}

const float64Bits = 64

// sameNumber compares integers digit by digit, since float64 mixes up long
// ones, and everything else as float64 does.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}

	if !strings.ContainsAny(a+b, ".eE") {
		return false
	}

	left, errLeft := strconv.ParseFloat(a, float64Bits)
	right, errRight := strconv.ParseFloat(b, float64Bits)

	return errLeft == nil && errRight == nil && left == right
}
