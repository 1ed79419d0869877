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

// classify turns evidence into a failure. The heaviest error is told; of equal
// ones the first, and one of a resource before one of the whole. Where none has
// a known cause, so is one of a resource.
func classify(e evidence) *tenant.Failure {
	found := slices.Concat(e.diagnostics, stderrErrors(e.stderr))
	found = slices.DeleteFunc(found, func(d diagnostic) bool { return isSummary(d.message) })

	if len(found) == 0 {
		return &tenant.Failure{Kind: tenant.KindUnknown, Message: oneLine(e.fallback), Hint: hints[tenant.KindUnknown]}
	}

	told, heaviest := found[0].located(), judge(found[0].message)

	for _, d := range found[1:] {
		d, v := d.located(), judge(d.message)

		if v.weight > heaviest.weight || (v.weight == heaviest.weight && told.resource == "" && d.resource != "") {
			told, heaviest = d, v
		}
	}

	return &tenant.Failure{
		Kind: heaviest.kind, Message: oneLine(told.message), Hint: heaviest.advice(told.resource), Resource: told.resource,
	}
}

var urnPattern = regexp.MustCompile(`urn:pulumi:[^\s"']+`)

// located finds the resource of an error that only names it in its text.
func (d diagnostic) located() diagnostic {
	if d.resource == "" {
		d.resource = describe(strings.TrimRight(urnPattern.FindString(d.message), ".,:;"))
	}

	return d
}

// advice is the hint with the resource in it.
func (v verdict) advice(resource string) string {
	if resource == "" {
		resource = "the resource"
	}

	return strings.ReplaceAll(v.hint, hintResource, resource)
}

// judge finds the kind of an error by its text.
func judge(message string) verdict {
	message = strings.TrimSpace(spacePattern.ReplaceAllString(plain(message), " "))

	if v, ok := match(wordRules, message); ok {
		return v
	}

	for _, code := range errorCodes(message) {
		if v, ok := match(codeRules, code); ok {
			return v
		}
	}

	if v, ok := match(textRules, message); ok {
		return v
	}

	return verdict{kind: tenant.KindUnknown, hint: hints[tenant.KindUnknown]}
}

func match(rules []rule, s string) (verdict, bool) {
	for _, r := range rules {
		if r.pattern.MatchString(s) {
			return r.verdict(), true
		}
	}

	return verdict{}, false
}

var (
	// apiErrorPattern is the form of the AWS SDK v2 for an error that it has
	// no type for, typedErrorPattern for one that it has.
	apiErrorPattern   = regexp.MustCompile(`api error ([A-Za-z][A-Za-z0-9._-]*):`)
	typedErrorPattern = regexp.MustCompile(`RequestID: [^,]*, (?:HostID: [^,]*, )?([A-Za-z][A-Za-z0-9._]*):`)
	// oldErrorPattern is the end of an error of the AWS SDK v1, which some
	// services' errors still have. Its code is among the words with a colon.
	oldErrorPattern = regexp.MustCompile(` status code: \d{3}`)
	oldCodePattern  = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+)*): `)
)

// errorCodes finds what may be AWS's code of an error.
func errorCodes(message string) []string {
	for _, pattern := range []*regexp.Regexp{apiErrorPattern, typedErrorPattern} {
		if found := pattern.FindStringSubmatch(message); found != nil {
			return found[1:]
		}
	}

	end := oldErrorPattern.FindStringIndex(message)
	if end == nil {
		return nil
	}

	var candidates []string
	for _, found := range oldCodePattern.FindAllStringSubmatch(message[:end[0]], -1) {
		candidates = append(candidates, found[1])
	}

	return candidates
}

var summaryPattern = regexp.MustCompile(
	`(?i)^((update|preview|refresh|destroy|deployment|resource \S+) failed|\d+ errors? occurred:?|` +
		`program exited with non-zero exit code: \d+|run bailed|operation failed)\.?$`)

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
	// gotPattern is how the provider refuses a value: "expected length of
	// password to be in the range (8 - 128), got hunter2".
	gotPattern    = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|token|api_?key)[^.]*?\bgot:? )\S+`)
	secretPattern = regexp.MustCompile(
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
	text = gotPattern.ReplaceAllString(text, "${1}"+secretText)
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
