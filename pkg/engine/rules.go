package engine

import (
	"regexp"

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

	return hintFor(r.kind)
}

// hintFor says what to do about a kind of failure.
func hintFor(kind tenant.Kind) string {
	switch kind {
	case tenant.KindTransient:
		return "it is tried again; look at the service's health if it lasts"
	case tenant.KindThrottled:
		return "it is tried again later; lower LESSOR_PARALLEL or the number of workers if it lasts"
	case tenant.KindQuota:
		return "ask AWS to raise the quota, or free what is not used"
	case tenant.KindDenied:
		return "give the worker's role, or the tier's roleArn, the permission that the message names"
	case tenant.KindInvalid:
		return "correct the tenant's or the tier's parameters and send an event"
	case tenant.KindLocked:
		return "wait until the holder is done; if it is gone, run `pulumi cancel` for the stack"
	case tenant.KindIntegrity:
		return "restore an earlier version of the stack's checkpoint in the state bucket"
	case tenant.KindMemory:
		return "raise LESSOR_OPERATION_MEMORY and the worker's memory limit"
	case tenant.KindTimeout:
		return "find out what takes so long, or raise LESSOR_OPERATION_TIMEOUT"
	case tenant.KindInterrupted:
		return "it is taken up again by itself"
	case tenant.KindConflict:
		return "somebody else wrote the stack's state; it is tried again from what is there"
	case tenant.KindLeaseLost:
		return "another worker goes on with the tenant"
	case tenant.KindUnknown:
		return "read the message; `pulumi` on the stack's state tells more"
	}

	return ""
}

// codeRules judge AWS's error codes. The first that matches counts.
var codeRules = []rule{
	{kind: tenant.KindThrottled, pattern: regexp.MustCompile(`(?i)throttl|^RequestLimitExceeded$|^TooManyRequests|^SlowDown$|` +
		`^BandwidthLimitExceeded$|^PriorRequestNotComplete$|^TransactionInProgressException$|^EC2ThrottledException$|^Client\.RequestLimit`)},
	{
		kind: tenant.KindTransient, pattern: regexp.MustCompile(`^(ExpiredToken|ExpiredTokenException|RequestExpired|TokenRefreshRequired)$`),
		hint: "the worker's credentials expired while it worked; use ones that refresh themselves",
	},
	{kind: tenant.KindDenied, pattern: regexp.MustCompile(`(?i)AccessDenied|UnauthorizedOperation|^Unauthorized|^AuthFailure|` +
		`InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient|^OptInRequired$|^Forbidden|NotAuthorized|AuthorizationError|` +
		`InvalidAccessKeyId|KMSInvalidState|KMSNotFound|KMSKeyNotAccessible|^OperationNotPermitted`)},
	{
		kind: tenant.KindTransient, pattern: regexp.MustCompile(`(?i)^Insufficient.*Capacity|StorageTypeNotAvailable|^Unsupported.*Capacity`),
		hint: "AWS has no capacity of that kind there just now; it is tried again",
	},
	{kind: tenant.KindQuota, pattern: regexp.MustCompile(`(?i)LimitExceeded|QuotaExceeded|^TooMany|^MaxSpotInstance|ExceedsLimit|LimitReached`)},
	{
		kind: tenant.KindTransient, pattern: regexp.MustCompile(`^(DependencyViolation|ResourceInUse|ResourceInUseException|DeleteConflict|` +
			`InvalidDBSubnetGroupStateFault|InvalidGroup\.InUse|ResourceNotReady|ClusterContainsServicesException)$`),
		hint: "something still uses the resource; it is tried again, since that often ends by itself",
	},
	{
		kind: tenant.KindUnknown, pattern: regexp.MustCompile(`(?i)AlreadyExist|AlreadyOwnedByYou|^Duplicate|\.Duplicate$|InvalidVpc\.Range$|^BucketAlready`),
		hint: "somebody else made a resource of that name: delete it, or import it into the tenant's stack",
	},
	{kind: tenant.KindTransient, pattern: regexp.MustCompile(`(?i)^(InternalError|InternalFailure|InternalServerError|InternalServerException|` +
		`InternalServiceError|ServiceUnavailable|ServiceUnavailableException|Unavailable|RequestTimeout|RequestTimeoutException|` +
		`OperationAborted|ConcurrentModification|ConcurrentModificationException|ConflictException|ConcurrentAccessException|` +
		`KMSInternalException|DependencyTimeoutException|InvalidDBInstanceState|InvalidDBInstanceStateFault|IncorrectState|` +
		`IncorrectInstanceState|InvalidState|InvalidStateException|ResourceConflictException|EntityTemporarilyUnmodifiable)$`)},
	{kind: tenant.KindInvalid, pattern: regexp.MustCompile(`(?i)^InvalidParameter|^InvalidInput|^Validation|^Invalid.*(Range|Value|Type|Version|Format|Id)` +
		`(Exception|Fault)?$|^Malformed|^MissingParameter|^MissingRequired|^UnknownParameter|DoesNotCoverEnoughAZs|^InvalidSubnet|` +
		`^InvalidVPCNetworkState|^InvalidArgument|^SerializationException|^StorageTypeNotSupported|^UnsupportedOperation|^Unsupported$|^InvalidBucketName`)},
}

// textRules judge whole messages: of the CLI, of the network, of errors that
// lost their code on the way. The first that matches counts.
var textRules = []rule{
	{kind: tenant.KindLocked, pattern: regexp.MustCompile(lockedText + `|Another update is currently in progress`)},
	{
		kind: tenant.KindIntegrity, pattern: regexp.MustCompile(`passphrase must be set|incorrect passphrase|no secrets manager`),
		hint: "the stack's checkpoint does not name its key: restore an earlier version of it, or import it with the secrets provider set",
	},
	{
		kind: tenant.KindIntegrity, pattern: regexp.MustCompile(`still (contains|has) resources`),
		hint: "the stack is not empty, so it stays; it is destroyed and removed again",
	},
	{kind: tenant.KindIntegrity, pattern: regexp.MustCompile(`(?i)snapshot integrity|no stack named.*found|failed to load checkpoint|` +
		`unmarshal(l)?ing checkpoint|checkpoint file|could not deserialize deployment|malformed deployment|the stack's state`)},
	{kind: tenant.KindInterrupted, pattern: regexp.MustCompile(`(?i)\b(update|preview|refresh|destroy|operation) (was )?cancel+ed|pending operations?\b`)},
	{
		kind: tenant.KindUnknown, pattern: regexp.MustCompile(`(?i)resource .* cannot be deleted|marked for protection|is protected|deletion ?protection|Cannot delete protected`),
		hint: "the resource is protected: plan a prepare-delete, or run `pulumi state unprotect` if that is meant",
	},
	{kind: tenant.KindMemory, pattern: regexp.MustCompile(`(?i)out of memory|cannot allocate memory`)},
	{kind: tenant.KindThrottled, pattern: regexp.MustCompile(`(?i)throttl|rate exceeded|too many requests|StatusCode: 429|status code: 429|retry quota exceeded`)},
	{
		kind: tenant.KindTransient, pattern: regexp.MustCompile(`(?i)security token included in the request is expired|token has expired|credentials (have|has|are) expired|ExpiredToken`),
		hint: "the worker's credentials expired while it worked; use ones that refresh themselves",
	},
	{kind: tenant.KindDenied, pattern: regexp.MustCompile(`(?i)access ?denied|not authorized to perform|explicit deny|unable to validate AWS credentials|` +
		`no valid credential sources|failed to refresh cached credentials|no EC2 IMDS role found|StatusCode: 40[13]\b|status code: 40[13]\b|permission denied`)},
	{kind: tenant.KindQuota, pattern: regexp.MustCompile(`(?i)limit ?exceeded|quota exceeded|exceed(s|ed)? (the|your) (current )?(quota|limit)|maximum number of .* (has been )?reached`)},
	{
		kind: tenant.KindInvalid, pattern: regexp.MustCompile(`(?i)no resource plugin|resource plugin .* (could not be found|not found)|failed to load plugin|could not load plugin`),
		hint: "install the plugin into LESSOR_PLUGIN_DIR on every worker",
	},
	{kind: tenant.KindTransient, pattern: regexp.MustCompile(`(?i)DependencyViolation|has (a )?dependent|has dependencies|connection (refused|reset|timed out)|` +
		`i/o timeout|TLS handshake timeout|no such host|server misbehaving|broken pipe|unexpected EOF|\bEOF$|network is unreachable|no route to host|` +
		`use of closed network connection|request send failed|StatusCode: 5\d\d|status code: 5\d\d|StatusCode: 0\b|context deadline exceeded|` +
		`timeout while waiting for|unexpected state .* wanted target|couldn't find resource|Service Unavailable|Internal Server Error|` +
		`rpc error: code = Unavailable|error reading from server`)},
	{
		kind: tenant.KindUnknown, pattern: regexp.MustCompile(`(?i)already exists|already owned by you`),
		hint: "somebody else made a resource of that name: delete it, or import it into the tenant's stack",
	},
	{kind: tenant.KindInvalid, pattern: regexp.MustCompile(`(?i)\binvalid (value|parameter|argument|combination|or unknown key)|missing required (property|argument)|` +
		`unexpected property|is not a valid|must be (one of|between|at least|at most)|expected .* to be (one of|in the range)|` +
		`invalid_parameter|conflicts with|parameters\.[A-Za-z0-9_-]+: `)},
}
