package engine

import "github.com/lessor-dev/lessor/pkg/tenant"

//nolint:gochecknoglobals // compiled tables that nobody writes to
var (
	// wordRules judge messages whose words say more than AWS's code: a code
	// such as InvalidParameterException may mean that a role is too new. The
	// first that matches counts, before the code does.
	wordRules = []rule{
		{
			kind: tenant.KindUnknown, hint: hintProtect,
			pattern: text(`cannot be deleted (because|as) it is (currently )?protected`, `marked for protection`, `deletion ?protection`,
				`(cannot|may not) (delete|be terminated).*(protected|disableApiTermination)`, `may not be terminated`,
				`protected against deletion`, `termination protection`),
		},
		{
			kind: tenant.KindTransient, hint: hintYoung,
			pattern: text(`unable to assume (the service linked )?role`, `cannot be assumed by`, `invalid principal in policy`,
				`invalid IAM instance profile`, `is not authorized to assume`, `role .* (is not valid|is invalid or cannot be assumed)`,
				`please verify that the .* service linked role exists`),
		},
		{
			kind: tenant.KindTransient, hint: hintBusy,
			pattern: text(`in the process of being (deleted|created|updated)`,
				`is (already|currently|still) being (created|deleted|modified)`, `table is being (created|updated|deleted)`,
				`is in DELETING state`, `currently in progress against this resource`,
				`an update is in progress`, `in-progress management operation`, `you must wait \d+ seconds`,
				`unable to (start|stop) the service that is still draining`, `not in (an? )?available state`),
		},
		{kind: tenant.KindInvalid, pattern: text(`overlapping CIDR range`)},
		{kind: tenant.KindThrottled, pattern: text(`created, updated,? or deleted simultaneously`, `rate exceeded`)},
		{
			kind: tenant.KindConflict, hint: hintExists,
			pattern: text(`(table|function|cluster|service) already exists?`, `creation of service was not idempotent`),
		},
		{kind: tenant.KindQuota, pattern: text(`you('ve| have) (reached|exceeded) (the|your) (maximum|limit|quota)`,
			`you have requested more .* than your current .* limit`)},
	}

	// textRules judge messages without a code: of the CLI, of the network, of
	// errors that lost their code on the way. The first that matches counts.
	textRules = []rule{
		{kind: tenant.KindLocked, pattern: text(lockedText, `another update is currently in progress`)},
		{
			kind: tenant.KindIntegrity, hint: hintUnnamed,
			pattern: text(`passphrase must be set`, `incorrect passphrase`, `(constructing|getting) secrets manager`),
		},
		{kind: tenant.KindIntegrity, hint: hintNotEmpty, pattern: text(`still (contains|has) resources`)},
		{kind: tenant.KindIntegrity, pattern: text(`snapshot integrity`, `no stack named.*found`, `failed to load checkpoint`,
			`unmarshall?ing checkpoint`, `could not deserialize deployment`, `malformed deployment`,
			`refers to missing (resource|provider)`, `duplicate resource '?urn:`)},
		{
			kind: tenant.KindInterrupted, hint: hintPending,
			pattern: text(`pending operations?\b`),
		},
		{kind: tenant.KindMemory, pattern: text(`out of memory`, `cannot allocate memory`)},
		{
			kind:    tenant.KindThrottled,
			pattern: text(`throttl`, `too many requests`, `status ?code: 429`, `retry quota exceeded`, `reduce your request rate`),
		},
		{
			kind: tenant.KindTransient, hint: hintExpired, weight: weighsExpired,
			pattern: text(`token included in the request is expired`, `token has expired`, `credentials (have |has |are )?expired`,
				`ExpiredToken`, `request has expired`),
		},
		{
			kind: tenant.KindDenied, hint: hintCredentials,
			pattern: text(`unable to validate AWS credentials`, `no valid credential sources`, `failed to refresh cached credentials`,
				`no EC2 IMDS role found`, `token included in the request is invalid`,
				`not able to validate the provided access credentials`),
		},
		{kind: tenant.KindDenied, pattern: text(`access ?denied`, `not authorized to perform`, `explicit deny`,
			`no identity-based policy allows`, `status ?code: 40[13]\b`, `permission denied`)},
		{kind: tenant.KindQuota, pattern: text(`limit ?exceeded`, `quota (has been )?exceeded`,
			`exceed(s|ed)? (the|your) (current )?(quota|limit)`, `maximum number of [a-z ]{1,60} reached`)},
		{
			kind: tenant.KindUnknown, hint: hintPlugin,
			pattern: text(`no resource plugin`, `resource plugin .* not (be )?found`, `(failed to|could not) load plugin`,
				`plugin not found`, `could not find plugin`),
		},
		{
			kind: tenant.KindTransient, hint: hintCrash, weight: weighsConsequence,
			pattern: text(`transport is closing`, `error reading from server`, `exited prematurely`, `plugin (process )?exited`,
				`client connection is closing`, `could not read plugin`, `plugin did not respond`, `code = Unavailable`,
				`resource monitor shut down`),
		},
		{
			kind: tenant.KindInterrupted,
			pattern: text(`\b(update|preview|refresh|destroy|operation) (was )?cancell?ed`, `context cancell?ed`, `RequestCanceled`,
				`evalSourceIterator aborted`),
		},
		{kind: tenant.KindTransient, hint: hintInUse, pattern: text(`DependencyViolation`, `has (a )?dependent`, `has dependencies`)},
		{kind: tenant.KindTransient, hint: hintNetwork, pattern: text(`i/o timeout`, `connection (refused|reset|timed out)`,
			`TLS handshake timeout`, `no such host`, `server misbehaving`, `broken pipe`, `unexpected EOF`, `\bEOF\b`,
			`network is unreachable`, `no route to host`, `use of closed network connection`, `(request send|send request) failed`,
			`StatusCode: 0\b`, `max retry attempts exhausted`)},
		{kind: tenant.KindTransient, pattern: text(`status ?code: 5\d\d`, `context deadline exceeded`, `timeout while waiting for`,
			`unexpected state .* wanted target`, `service unavailable`, `internal server error`, `exceeded maximum number of attempts`)},
		{kind: tenant.KindTransient, hint: hintYoung, pattern: text(`couldn't find resource`, `\bempty result\b`)},
		{kind: tenant.KindConflict, hint: hintExists, pattern: text(`already exists`, `already owned by you`)},
		{kind: tenant.KindInvalid, pattern: text(`\binvalid (value|parameter|argument|combination|or unknown key)`,
			`missing required (property|argument)`, `unexpected property`, `is not a valid`, `must be (one of|between|at least|at most)`,
			`expected .* to be (one of|in the range)`, `conflicts with`, `parameters\.[a-z0-9_-]+: `)},
	}
)
