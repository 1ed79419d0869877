package tenant

import "fmt"

// Kind says why an operation failed, for machines.
type Kind string

// The kinds of failure. See Kind.Retry for what follows from each.
const (
	KindTransient   Kind = "transient"
	KindThrottled   Kind = "throttled"
	KindQuota       Kind = "quota"
	KindDenied      Kind = "denied"
	KindInvalid     Kind = "invalid"
	KindLocked      Kind = "locked"
	KindIntegrity   Kind = "integrity"
	KindMemory      Kind = "memory"
	KindTimeout     Kind = "timeout"
	KindInterrupted Kind = "interrupted"
	KindConflict    Kind = "conflict"
	KindLeaseLost   Kind = "lease-lost"
	// KindApproval stops what the tier's guard does not let pass by itself.
	KindApproval Kind = "approval"
	// KindCutover is a tier change whose data did not follow: the hook refused,
	// or did not answer in time.
	KindCutover Kind = "cutover"
	// KindWaiting is no failure: the pool that the tenant is to live in is not
	// there yet.
	KindWaiting Kind = "waiting"
	KindUnknown Kind = "unknown"
)

// Kinds lists every kind, for metrics that start at zero.
func Kinds() []Kind {
	return []Kind{
		KindTransient, KindThrottled, KindQuota, KindDenied, KindInvalid, KindLocked, KindIntegrity,
		KindMemory, KindTimeout, KindInterrupted, KindConflict, KindLeaseLost, KindApproval, KindCutover, KindWaiting, KindUnknown,
	}
}

// Retry is what is done after a failure.
type Retry int

// The ways to go on. Counted attempts end at the tier's maxAttempts.
const (
	RetryCounted Retry = iota
	RetryUncounted
	RetryNever
)

// Retry says how a failure of this kind is retried. Never means: not before
// the next event, which may make it right. What says nothing of the tenant is
// not counted against it. Throttling is such a thing, and giving up would make
// it worse: a rollback takes more calls than waiting.
func (k Kind) Retry() Retry {
	switch k {
	case KindInvalid, KindApproval, KindCutover:
		return RetryNever
	case KindLocked, KindInterrupted, KindLeaseLost, KindThrottled, KindWaiting:
		return RetryUncounted
	case KindTransient, KindQuota, KindDenied, KindIntegrity, KindMemory,
		KindTimeout, KindConflict, KindUnknown:
		return RetryCounted
	}

	return RetryCounted
}

// Failure is why an operation failed, for people and machines. It holds no
// secret and no raw output of the CLI.
type Failure struct { //nolint:errname // it is a noun of the domain first
	Kind Kind `json:"kind"`
	// Message is one line that says what failed, Hint what to do about it.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Resource is the type and name of the resource that failed, if one did.
	Resource string `json:"resource,omitempty"`
	Step     string `json:"step,omitempty"`
}

// Error makes Failure an error.
func (f *Failure) Error() string {
	if f.Resource != "" {
		return fmt.Sprintf("%s: %s (%s)", f.Kind, f.Message, f.Resource)
	}

	return fmt.Sprintf("%s: %s", f.Kind, f.Message)
}
