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
}

func (r rule) advice() string {
	if r.hint != "" {
		return r.hint
	}

	return hints[r.kind]
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

const (
	hintExpired  = "the worker's credentials expired while it worked; use ones that refresh themselves"
	hintExists   = "somebody else made a resource of that name: delete it, or import it into the tenant's stack"
	hintCapacity = "AWS has no capacity of that kind there just now; it is tried again"
	hintInUse    = "something still uses the resource; it is tried again, since that often ends by itself"
	hintKey      = "the stack's checkpoint does not name its key: restore an earlier version of it from the state bucket"
	hintNotEmpty = "the stack is not empty, so it stays; it is destroyed and removed again"
	hintProtect  = "the resource is protected: plan a prepare-delete, or run `pulumi state unprotect` if that is meant"
	hintPlugin   = "install the plugin into LESSOR_PLUGIN_DIR on every worker"
)

//nolint:gochecknoglobals // compiled tables that nobody writes to
var (
	// codeRules judge AWS's error codes. The first that matches counts.
	codeRules = []rule{
		{kind: tenant.KindThrottled, pattern: codes(`throttl`, `^RequestLimitExceeded$`, `^TooManyRequests`, `^SlowDown$`,
			`^BandwidthLimitExceeded$`, `^PriorRequestNotComplete$`, `^TransactionInProgressException$`, `^ProvisionedThroughputExceeded`)},
		{
			kind: tenant.KindTransient, hint: hintExpired,
			pattern: exactly(`ExpiredToken`, `ExpiredTokenException`, `RequestExpired`, `TokenRefreshRequired`),
		},
		{kind: tenant.KindDenied, pattern: codes(`AccessDenied`, `UnauthorizedOperation`, `^Unauthorized`, `^AuthFailure`,
			`InvalidClientTokenId`, `SignatureDoesNotMatch`, `UnrecognizedClient`, `^OptInRequired$`, `^Forbidden`, `NotAuthorized`,
			`AuthorizationError`, `InvalidAccessKeyId`, `KMSInvalidState`, `KMSNotFound`, `KMSKeyNotAccessible`, `^OperationNotPermitted`)},
		{kind: tenant.KindTransient, hint: hintCapacity, pattern: codes(`^Insufficient.*Capacity`, `StorageTypeNotAvailable`)},
		{kind: tenant.KindQuota, pattern: codes(`LimitExceeded`, `QuotaExceeded`, `^TooMany`, `^MaxSpotInstance`, `LimitReached`)},
		{kind: tenant.KindTransient, hint: hintInUse, pattern: exactly(`DependencyViolation`, `ResourceInUse`, `ResourceInUseException`,
			`DeleteConflict`, `InvalidDBSubnetGroupStateFault`, `InvalidGroup\.InUse`, `ResourceNotReady`,
			`ClusterContainsServicesException`)},
		{
			kind: tenant.KindUnknown, hint: hintExists,
			pattern: codes(`AlreadyExist`, `AlreadyOwnedByYou`, `^Duplicate`, `\.Duplicate$`, `^BucketAlready`),
		},
		{kind: tenant.KindTransient, pattern: codes(`^Internal(Error|Failure|ServerError|ServerException|ServiceError)$`,
			`^(Service)?Unavailable(Exception)?$`, `^RequestTimeout(Exception)?$`, `^OperationAborted$`, `^Concurrent`,
			`^ConflictException$`,
			`^KMSInternalException$`, `^DependencyTimeoutException$`, `^InvalidDBInstanceState(Fault)?$`, `^Incorrect(Instance)?State$`,
			`^InvalidState(Exception)?$`, `^ResourceConflictException$`, `^EntityTemporarilyUnmodifiable$`)},
		{kind: tenant.KindInvalid, pattern: codes(`^InvalidParameter`, `^InvalidInput`, `^Validation`, `^Malformed`,
			`^Missing(Parameter|Required)`,
			`^Invalid.*(Range|Value|Type|Version|Format|Id)(Exception|Fault)?$`, `^UnknownParameter`, `DoesNotCoverEnoughAZs`,
			`^InvalidSubnet`,
			`^InvalidVPCNetworkState`, `^InvalidArgument`, `^SerializationException`, `^StorageTypeNotSupported`,
			`^Unsupported(Operation)?$`,
			`^InvalidBucketName`)},
	}

	// textRules judge whole messages: of the CLI, of the network, of errors that
	// lost their code on the way. The first that matches counts.
	textRules = []rule{
		{kind: tenant.KindLocked, pattern: text(lockedText, `another update is currently in progress`)},
		{
			kind: tenant.KindIntegrity, hint: hintKey,
			pattern: text(`passphrase must be set`, `incorrect passphrase`, `constructing secrets manager`),
		},
		{kind: tenant.KindIntegrity, hint: hintNotEmpty, pattern: text(`still (contains|has) resources`)},
		{kind: tenant.KindIntegrity, pattern: text(`snapshot integrity`, `no stack named.*found`, `failed to load checkpoint`,
			`unmarshall?ing checkpoint`, `could not deserialize deployment`, `malformed deployment`)},
		{kind: tenant.KindInterrupted, pattern: text(`\b(update|preview|refresh|destroy|operation) (was )?cancell?ed`,
			`pending operations?\b`)},
		{
			kind: tenant.KindUnknown, hint: hintProtect,
			pattern: text(`cannot be deleted`, `marked for protection`, `is protected`, `deletion ?protection`, `cannot delete protected`),
		},
		{kind: tenant.KindMemory, pattern: text(`out of memory`, `cannot allocate memory`)},
		{
			kind:    tenant.KindThrottled,
			pattern: text(`throttl`, `rate exceeded`, `too many requests`, `status ?code: 429`, `retry quota exceeded`),
		},
		{
			kind: tenant.KindTransient, hint: hintExpired,
			pattern: text(`token included in the request is expired`, `token has expired`, `credentials (have|has|are) expired`,
				`ExpiredToken`),
		},
		{kind: tenant.KindDenied, pattern: text(`access ?denied`, `not authorized to perform`, `explicit deny`,
			`unable to validate AWS credentials`, `no valid credential sources`, `failed to refresh cached credentials`,
			`no EC2 IMDS role found`, `status ?code: 40[13]\b`, `permission denied`)},
		{kind: tenant.KindQuota, pattern: text(`limit ?exceeded`, `quota exceeded`, `exceed(s|ed)? (the|your) (current )?(quota|limit)`,
			`maximum number of .* reached`)},
		{
			kind: tenant.KindInvalid, hint: hintPlugin,
			pattern: text(`no resource plugin`, `resource plugin .* not (be )?found`, `(failed to|could not) load plugin`),
		},
		{kind: tenant.KindTransient, pattern: text(`DependencyViolation`, `has (a )?dependent`, `has dependencies`, `i/o timeout`,
			`connection (refused|reset|timed out)`, `TLS handshake timeout`, `no such host`, `server misbehaving`, `broken pipe`,
			`unexpected EOF`,
			`\bEOF$`, `network is unreachable`, `no route to host`, `use of closed network connection`, `request send failed`,
			`status ?code: 5\d\d`, `StatusCode: 0\b`, `context deadline exceeded`, `timeout while waiting for`,
			`unexpected state .* wanted target`,
			`couldn't find resource`, `service unavailable`, `internal server error`, `code = Unavailable`, `error reading from server`)},
		{kind: tenant.KindUnknown, hint: hintExists, pattern: text(`already exists`, `already owned by you`)},
		{kind: tenant.KindInvalid, pattern: text(`\binvalid (value|parameter|argument|combination|or unknown key)`,
			`missing required (property|argument)`, `unexpected property`, `is not a valid`, `must be (one of|between|at least|at most)`,
			`expected .* to be (one of|in the range)`, `conflicts with`, `parameters\.[a-z0-9_-]+: `)},
	}
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
