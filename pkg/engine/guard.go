package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Exceeds is what of an operation a guard does not let pass by itself.
type Exceeds struct {
	// Digest is of all of it.
	Digest string `json:"digest"`
	// Report lists it: 200 resources at most.
	Report []tenant.Difference `json:"report,omitempty"`
}

func newExceeds(over []tenant.Difference) *Exceeds {
	return &Exceeds{Digest: digestOf(over), Report: over[:min(len(over), maxDifferences)]}
}

// covers reports whether all of over was approved. After an operation that got
// through a part of it only the rest is left. Where the report was cut, nobody
// knows what a part is, and over must be the whole.
func (e *Exceeds) covers(over []tenant.Difference) bool {
	switch {
	case e == nil:
		return false
	case digestOf(over) == e.Digest:
		return true
	default:
		return digestOf(e.Report) == e.Digest && isPart(over, e.Report)
	}
}

// loss is what an approval is of: the type and name of a resource and what becomes
// of it, and not why.
type loss [3]string

func lossOf(d tenant.Difference) loss { return loss{d.Type, d.Name, d.Action} }

func compareLosses(a, b tenant.Difference) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Action, b.Action))
}

// isPart reports whether all of part is in whole, and as often.
func isPart(part, whole []tenant.Difference) bool {
	left := map[loss]int{}
	for _, d := range whole {
		left[lossOf(d)]++
	}

	for _, d := range part {
		left[lossOf(d)]--

		if left[lossOf(d)] < 0 {
			return false
		}
	}

	return true
}

// digestOf does not depend on the order.
func digestOf(differences []tenant.Difference) string {
	sorted := slices.SortedFunc(slices.Values(differences), compareLosses)
	losses := make([]loss, 0, len(sorted))

	for _, d := range sorted {
		losses = append(losses, lossOf(d))
	}

	// JSON keeps them apart whatever is in them.
	text, _ := json.Marshal(losses) //nolint:errchkjson // strings alone
	sum := sha256.Sum256(text)

	return hex.EncodeToString(sum[:])
}

// isLoss reports whether what a resource holds goes.
func isLoss(d tenant.Difference) bool { return isDelete(d) || isReplace(d) }

func isDelete(d tenant.Difference) bool  { return d.Action == string(apitype.OpDelete) }
func isReplace(d tenant.Difference) bool { return d.Action == string(apitype.OpReplace) }

// exceeding finds what a guard does not let pass of what was previewed, sorted. A
// bound that is exceeded lets nothing of its kind pass: which ones would be too
// many, nobody can say.
func exceeding(guard tenant.Guard, previewed []tenant.Difference) []tenant.Difference {
	deletes, replaces := tooMany(guard.MaxDeletes, previewed, isDelete), tooMany(guard.MaxReplaces, previewed, isReplace)

	var over []tenant.Difference

	for _, d := range previewed {
		if isDelete(d) && deletes || isReplace(d) && replaces || isLoss(d) && slices.Contains(guard.ProtectedTypes, d.Type) {
			over = append(over, d)
		}
	}

	slices.SortFunc(over, compareLosses)

	return over
}

func tooMany(bound *int, differences []tenant.Difference, kind func(tenant.Difference) bool) bool {
	return bound != nil && count(differences, kind) > *bound
}

func count(differences []tenant.Difference, kind func(tenant.Difference) bool) (n int) {
	for _, d := range differences {
		if kind(d) {
			n++
		}
	}

	return n
}

// guard previews an up and stops it if it would do more than the tier lets pass
// and nobody approved that.
func (j *job) guard(ctx context.Context, c call) *tenant.Failure {
	guard := j.order.Operation.Guard
	if guard == nil || c.step != plan.StepUp {
		return nil
	}

	// The step before may have been the preview that it takes.
	previewed := j.previewed
	if previewed == nil {
		var failure *tenant.Failure
		if previewed, failure = j.look(ctx, c.refresh); failure != nil {
			return failure
		}
	}

	over := exceeding(*guard, previewed.differences)
	if len(over) == 0 || j.order.Operation.Approved.covers(over) {
		return nil
	}

	j.result.Exceeds = newExceeds(over)
	if j.previewed == nil {
		j.tell(previewed)
	}

	return &tenant.Failure{
		Kind:    tenant.KindApproval,
		Message: oneLine(objection(*guard, over)),
		Hint:    fmt.Sprintf("see `enqueue status %[1]s`, then `enqueue approve %[1]s`", j.order.Operation.Tenant),
	}
}

// objection says what a guard stops, for people.
func objection(guard tenant.Guard, over []tenant.Difference) string {
	var reasons []string

	if tooMany(guard.MaxDeletes, over, isDelete) {
		reasons = append(reasons, fmt.Sprintf("delete %s, where maxDeletes is %d", resources(count(over, isDelete)), *guard.MaxDeletes))
	}

	if tooMany(guard.MaxReplaces, over, isReplace) {
		reasons = append(reasons, fmt.Sprintf("replace %s, where maxReplaces is %d", resources(count(over, isReplace)), *guard.MaxReplaces))
	}

	protected := func(d tenant.Difference) bool { return slices.Contains(guard.ProtectedTypes, d.Type) }
	if n := count(over, protected); n > 0 {
		reasons = append(reasons, fmt.Sprintf("delete or replace %s of protected types", resources(n)))
	}

	return fmt.Sprintf("the guard of the tier stops an update that would %s: %s", strings.Join(reasons, ", and "), firstOfMany(over))
}

func resources(n int) string {
	if n == 1 {
		return "1 resource"
	}

	return fmt.Sprintf("%d resources", n)
}

func firstOfMany(over []tenant.Difference) string {
	const named = 3

	names := make([]string, 0, named)
	for _, d := range over[:min(len(over), named)] {
		names = append(names, d.Action+" "+d.Type+" "+d.Name)
	}

	text := strings.Join(names, ", ")
	if more := len(over) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}

	return text
}
