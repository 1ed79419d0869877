package engine

import (
	"regexp"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// rule says what kind of failure an error is.
type rule struct {
	kind    tenant.Kind
	pattern *regexp.Regexp
	// hint replaces the one of the kind.
	hint string
	// weight replaces the one of the kind.
	weight weight
}

func (r rule) verdict() verdict {
	v := verdict{kind: r.kind, hint: r.hint, weight: r.weight}
	if v.hint == "" {
		v.hint = hints[r.kind]
	}

	if v.weight == weighsNothing {
		v.weight = weights[r.kind]
	}

	return v
}

// verdict is what the rules make of one error.
type verdict struct {
	kind   tenant.Kind
	hint   string
	weight weight
}

// weight orders the errors of one operation: the heaviest is told. Operations
// work on many resources at once and go on for a while after the first error,
// so that there are often several, of which most only follow from another.
type weight int

const (
	// weighsNothing is an error that no rule knows.
	weighsNothing weight = iota
	// An end that something else brought about: cancelled, plugin gone.
	weighsConsequence
	// What ends by itself.
	weighsPassing
	// Throttling causes timeouts and missing resources elsewhere.
	weighsThrottled
	// What stands in the way until a person removes it.
	weighsObstacle
	weighsQuota
	// A resource that may not be deleted keeps others from being deleted.
	weighsDenied
	// With credentials that expired everything fails, whatever it was.
	weighsExpired
	// What no retry can mend.
	weighsInvalid
	// Without memory the rest is debris.
	weighsMemory
	// The stack could not be worked on at all.
	weighsStack
)

//nolint:gochecknoglobals // a table that nobody writes to
var weights = map[tenant.Kind]weight{
	tenant.KindInterrupted: weighsConsequence,
	tenant.KindTransient:   weighsPassing,
	tenant.KindThrottled:   weighsThrottled,
	tenant.KindConflict:    weighsObstacle,
	tenant.KindUnknown:     weighsObstacle,
	tenant.KindQuota:       weighsQuota,
	tenant.KindDenied:      weighsDenied,
	tenant.KindInvalid:     weighsInvalid,
	tenant.KindMemory:      weighsMemory,
	tenant.KindIntegrity:   weighsStack,
	tenant.KindLocked:      weighsStack,
}

// codes matches AWS's codes of which one of the patterns is a part, upper and
// lower case alike.
func codes(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(patterns, "|"))
}

// exactly matches AWS's codes that one of the patterns fits as a whole.
func exactly(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`^(` + strings.Join(patterns, "|") + `)$`)
}

// text matches messages that have one of the patterns in them.
func text(patterns ...string) *regexp.Regexp { return codes(patterns...) }

// hintResource stands for the resource's type and name in a hint.
const hintResource = "{resource}"

const (
	hintExpired     = "the worker's credentials expired while it worked; use ones that refresh themselves"
	hintCredentials = "the worker has no valid credentials: look at its role or service account, and whether the region is enabled"
	hintKey         = "the key is disabled, in deletion or not open to the worker's role: enable it, or allow its use in its policy"
	hintExists      = hintResource + " exists without being in the tenant's state: `enqueue orphans <tenant>` tells whether it is the " +
		"tenant's; then import it, or delete it"
	hintCapacity = "AWS has no capacity of that kind there just now; it is tried again"
	hintInUse    = "something still uses " + hintResource + "; it is tried again, since that often ends by itself"
	hintBusy     = "AWS is still at work on " + hintResource + "; it is tried again"
	hintYoung    = "AWS does not know what " + hintResource + " refers to, often because it is new; it is tried again. If it lasts, " +
		"somebody deleted it: `enqueue reprovision <tenant>`"
	hintFull     = hintResource + " is not empty: empty it, or have the program delete it with what is in it"
	hintCrash    = "the provider plugin ended by itself; it is tried again. Look at the operation's memory if it lasts"
	hintNetwork  = "the worker could not reach AWS; it is tried again. Look at its network and DNS if it lasts"
	hintUnnamed  = "the stack's checkpoint does not name its key: restore an earlier version of it from the state bucket"
	hintNotEmpty = "the stack is not empty, so it stays; it is destroyed and removed again"
	hintProtect  = hintResource + " is protected: plan a prepare-delete, or run `pulumi state unprotect` if that is meant"
	hintPlugin   = "install the plugin into LESSOR_PLUGIN_DIR on every worker"
	hintPending  = "resources were in the making when an earlier run ended; they are looked up and taken in, or forgotten"
)

// hints say what to do about each kind of failure.
//
//nolint:gochecknoglobals // a table that nobody writes to
var hints = map[tenant.Kind]string{
	tenant.KindTransient:   "it is tried again; look at the service's health if it lasts",
	tenant.KindThrottled:   "it is tried again later; lower LESSOR_PARALLEL or the number of workers if it lasts",
	tenant.KindQuota:       "ask AWS to raise the quota, or free what is not used",
	tenant.KindDenied:      "give the worker's role, or the tier's roleArn, the permission that the message names",
	tenant.KindInvalid:     "correct the tenant's or the tier's parameters and send an event",
	tenant.KindLocked:      "wait until the holder is done; if it is gone, run `pulumi cancel` for the stack",
	tenant.KindIntegrity:   "restore an earlier version of the stack's checkpoint in the state bucket",
	tenant.KindMemory:      "raise LESSOR_OPERATION_MEMORY and the worker's memory limit",
	tenant.KindTimeout:     "find out what takes so long, or raise LESSOR_OPERATION_TIMEOUT",
	tenant.KindInterrupted: "it is taken up again by itself",
	tenant.KindConflict:    "somebody else wrote the stack's state; it is tried again from what is there",
	tenant.KindLeaseLost:   "another worker goes on with the tenant",
	tenant.KindUnknown:     "read the message; `pulumi` on the stack's state tells more",
}
