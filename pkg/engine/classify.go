package engine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// evidence is what is known of a step that failed.
type evidence struct {
	diagnostics []diagnostic
	// stderr is what the CLI wrote. Only lines that begin with "error:" are
	// looked at, and the lines of a lock after them.
	stderr string
	// fallback is the message where nothing else tells one.
	fallback string
}

// classify turns evidence into a failure. The first error with a known cause is
// the failure's; an error without one counts only if there is no other.
func classify(e evidence) *tenant.Failure {
	found := slices.Concat(e.diagnostics, stderrErrors(e.stderr))
	found = slices.DeleteFunc(found, func(d diagnostic) bool { return isSummary(d.message) })

	var first *tenant.Failure

	for _, d := range found {
		failure := classifyOne(d)
		if failure.Kind != tenant.KindUnknown {
			return failure
		}

		// An error of a resource says more than one of the whole.
		if first == nil || (first.Resource == "" && failure.Resource != "") {
			first = failure
		}
	}

	if first == nil {
		first = &tenant.Failure{Kind: tenant.KindUnknown, Message: oneLine(e.fallback), Hint: hints[tenant.KindUnknown]}
	}

	return first
}

func classifyOne(d diagnostic) *tenant.Failure {
	kind, hint := judge(d.message)

	return &tenant.Failure{Kind: kind, Message: oneLine(d.message), Hint: hint, Resource: d.resource}
}

// judge finds the kind of an error by its text.
func judge(message string) (kind tenant.Kind, hint string) {
	if code := errorCode(message); code != "" {
		for _, r := range codeRules {
			if r.pattern.MatchString(code) {
				return r.kind, r.advice()
			}
		}
	}

	for _, r := range textRules {
		if r.pattern.MatchString(message) {
			return r.kind, r.advice()
		}
	}

	return tenant.KindUnknown, hints[tenant.KindUnknown]
}

var (
	// apiErrorPattern is the form of the AWS SDK v2, oldErrorPattern the one of
	// the AWS SDK v1, which some services' errors still have.
	apiErrorPattern = regexp.MustCompile(`api error ([A-Za-z][A-Za-z0-9._-]*):`)
	oldErrorPattern = regexp.MustCompile(`([A-Za-z][A-Za-z0-9._]*): [^:]*\s+status code: \d{3}`)
)

// errorCode finds AWS's code of an error.
func errorCode(message string) string {
	for _, pattern := range []*regexp.Regexp{apiErrorPattern, oldErrorPattern} {
		if match := pattern.FindStringSubmatch(message); match != nil {
			return match[1]
		}
	}

	return ""
}

var summaryPattern = regexp.MustCompile(`^(update|preview|refresh|destroy|resource \S+) failed\.?$`)

// isSummary reports whether an error only says that there were others.
func isSummary(message string) bool {
	return summaryPattern.MatchString(strings.TrimSpace(plain(message)))
}

// stderrErrors finds the errors that the CLI reports before it sends events.
func stderrErrors(stderr string) []diagnostic {
	var found []diagnostic

	lines := strings.Split(stderr, "\n")
	for i, line := range lines {
		message, isError := strings.CutPrefix(strings.TrimSpace(plain(line)), "error: ")
		if !isError {
			continue
		}

		if strings.Contains(message, lockedText) {
			message = lockMessage(message, lines[i+1:])
		}

		if strings.HasSuffix(message, " occurred:") {
			message += listed(lines[i+1:])
		}

		found = append(found, diagnostic{message: message})
	}

	return found
}

// listed joins the indented lines that follow "2 errors occurred:".
func listed(following []string) string {
	var all strings.Builder

	for _, line := range following {
		text := strings.TrimSpace(plain(line))
		if text != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			break
		}

		all.WriteString(" " + text)
	}

	return all.String()
}

const lockedText = "the stack is currently locked by"

// lockMessage adds who holds the lock, which the CLI says in lines of the form
// "created by user@host (pid n) at time".
func lockMessage(message string, following []string) string {
	for _, line := range following {
		if i := strings.Index(line, "created by "); i >= 0 {
			return message + " " + strings.TrimSpace(line[i:])
		}
	}

	return message
}

var (
	colorPattern = regexp.MustCompile(`<\{%[^%]*%\}>|\x1b\[[0-9;]*m`)
	spacePattern = regexp.MustCompile(`\s+`)
	// noisePattern is what the provider puts around the message of AWS.
	noisePattern = regexp.MustCompile(`sdk-v2/provider2\.go:\d+: sdk\.helper_schema: |: provider=aws@[0-9.]+|` +
		`\d+ errors? occurred:\s*\*\s*|^error: |, request id: [0-9A-Za-z-]+|RequestID: [0-9A-Za-z-]*, (HostID: [^,]*, )?`)
	// The last lines of defence: nothing puts secrets into errors on purpose.
	keyPattern      = regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{12,}\b`)
	userinfoPattern = regexp.MustCompile(`://[^/\s:@]+:[^/\s@]+@`)
	secretPattern   = regexp.MustCompile(
		`(?i)\b([a-z_-]*(?:password|passwd|passphrase|secret|token|api_?key))("?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;]+)`)
)

func plain(message string) string { return colorPattern.ReplaceAllString(message, "") }

const maxMessage = 600

// oneLine makes an error fit for logs, rows and events.
func oneLine(message string) string {
	text := plain(message)
	text = noisePattern.ReplaceAllString(text, "")
	text = strings.TrimSpace(spacePattern.ReplaceAllString(text, " "))
	text = keyPattern.ReplaceAllString(text, secretText)
	text = userinfoPattern.ReplaceAllString(text, "://"+secretText+"@")
	text = secretPattern.ReplaceAllStringFunc(text, maskAssignment)

	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}

	return text
}

// maskAssignment hides the value in "password=value", but not the code and the
// text in "ExpiredToken: The token expired".
func maskAssignment(assignment string) string {
	parts := secretPattern.FindStringSubmatch(assignment)
	name, operator, value := parts[1], parts[2], parts[3]

	if strings.HasPrefix(operator, ": ") && !strings.ContainsAny(value, `"'0123456789`) {
		return assignment
	}

	return name + operator + secretText
}
