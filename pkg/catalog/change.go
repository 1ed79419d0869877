package catalog

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	defaultHookTimeout = time.Hour
	minHookTimeout     = time.Minute
	// maxWait bounds what a tier change waits for: its hook, and the removal of
	// the old topology.
	maxWait = 30 * 24 * time.Hour

	maxRetainDays = 3650
	maxGuard      = 10_000
)

var (
	// typePattern is of Pulumi's type tokens: aws:rds/instance:Instance.
	typePattern    = regexp.MustCompile(`^[a-z][a-zA-Z0-9-]*:[a-zA-Z0-9/_-]*:[A-Za-z][A-Za-z0-9]*$`)
	releasePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// life reads what a tier says of the changes of its tenants and of what stays
// after them.
func (r *reader) life(fields map[string]entry, path string, b *tenant.Blueprint) {
	if f, ok := fields["tierChange"]; ok {
		r.tierChange(f, path+".tierChange", b)
	}

	if f, ok := fields["guard"]; ok {
		b.Guard = r.guard(f, path+".guard")
	}

	if f, ok := fields["retainDays"]; ok {
		b.RetainDays, _ = r.integer(f, path+".retainDays", 0, maxRetainDays)
	}

	if f, ok := fields["release"]; ok {
		b.Release = r.matching(f, path+".release", releasePattern, "1 to 64 letters, digits, dots, hyphens and underscores")
	}
}

func (r *reader) tierChange(e entry, path string, b *tenant.Blueprint) {
	fields, ok := r.mapping(e.value, path, []string{"bake", "hook"})
	if !ok {
		return
	}

	if f, ok := fields["bake"]; ok {
		b.Bake = r.duration(f, path+".bake", 0, maxWait)
	}

	if f, ok := fields["hook"]; ok {
		b.Hook = r.hook(f, path+".hook")
	}
}

func (r *reader) hook(e entry, path string) *tenant.Hook {
	fields, ok := r.mapping(e.value, path, []string{"url", "queueUrl", "timeout"})
	if !ok {
		return nil
	}

	hook := &tenant.Hook{Timeout: defaultHookTimeout}

	if f, ok := fields["timeout"]; ok {
		hook.Timeout = r.duration(f, path+".timeout", minHookTimeout, maxWait)
	}

	if f, ok := fields["url"]; ok {
		hook.URL = r.address(f, path+".url")
	}

	if f, ok := fields["queueUrl"]; ok {
		hook.Queue = r.address(f, path+".queueUrl")
	}

	_, called := fields["url"]
	if _, queued := fields["queueUrl"]; called == queued {
		r.add(e.line, path, "needs one of url and queueUrl", "name an endpoint that takes a POST, or the URL of an SQS queue")
	}

	return hook
}

// address reads a URL to which a token can be sent: nobody must be able to read it
// on the way.
func (r *reader) address(e entry, path string) string {
	s, ok := r.text(e, path)
	if !ok {
		return ""
	}

	u, err := url.Parse(s)

	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		r.add(e.line, path, fmt.Sprintf("%q is no URL", s), "give https://host/path")
	case u.User != nil:
		r.add(e.line, path, "has a user name or a password in it", "let the endpoint tell callers by the token of the request")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		r.add(e.line, path, fmt.Sprintf("%q is not encrypted", s), "give an https address; http is only for 127.0.0.1 and localhost")
	}

	return s
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)

	return host == "localhost" || err == nil && address.IsLoopback()
}

func (r *reader) guard(e entry, path string) *tenant.Guard {
	fields, ok := r.mapping(e.value, path, []string{"maxDeletes", "maxReplaces", "protectedTypes"})
	if !ok {
		return nil
	}

	guard := &tenant.Guard{}

	if f, ok := fields["maxDeletes"]; ok {
		guard.MaxDeletes = r.bound(f, path+".maxDeletes")
	}

	if f, ok := fields["maxReplaces"]; ok {
		guard.MaxReplaces = r.bound(f, path+".maxReplaces")
	}

	if f, ok := fields["protectedTypes"]; ok {
		guard.ProtectedTypes = r.types(f, path+".protectedTypes")
	}

	if len(fields) == 0 {
		r.add(e.line, path, "guards nothing", "set maxDeletes, maxReplaces or protectedTypes, or remove the guard")
	}

	return guard
}

func (r *reader) bound(e entry, path string) *int {
	n, _ := r.integer(e, path, 0, maxGuard)

	return &n
}

func (r *reader) types(e entry, path string) []string {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		r.wrongType(e.value, path, "a list of Pulumi types")

		return nil
	}

	types := make([]string, 0, len(list.Values))

	for i, node := range list.Values {
		item := entry{line: line(node), value: node}
		if s := r.matching(item, fmt.Sprintf("%s[%d]", path, i), typePattern, "a type such as aws:rds/instance:Instance"); s != "" {
			types = append(types, s)
		}
	}

	return types
}

func (r *reader) matching(e entry, path string, pattern *regexp.Regexp, want string) string {
	s, ok := r.text(e, path)
	if ok && !pattern.MatchString(s) {
		r.add(e.line, path, fmt.Sprintf("%q does not match %s", s, pattern), "give "+want)
	}

	return s
}

func (r *reader) duration(e entry, path string, low, high time.Duration) time.Duration {
	s, ok := r.text(e, path)
	if !ok {
		return 0
	}

	d, err := time.ParseDuration(s)
	if err != nil || d < low || d > high {
		r.add(e.line, path, fmt.Sprintf("%q is no duration from %s to %s", s, low, high), "write it like 30m, 24h or 1h30m")
	}

	return d
}
