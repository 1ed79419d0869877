package inventory

import "strings"

// Verdict is what can be said of a resource whose creation was cut short.
type Verdict int

// The verdicts.
const (
	// Unsure: it may exist, and nothing tells under which id.
	Unsure Verdict = iota
	// Exists: it was found by tag. Or its id is a function of its inputs; then
	// reading it by that id is what decides, at once and without the lag of an
	// index.
	Exists
	// Absent: its type carries tags, and nothing has them.
	Absent
)

// String names the verdict.
func (v Verdict) String() string {
	switch v {
	case Exists:
		return "exists"
	case Absent:
		return "absent"
	case Unsure:
	}

	return "unsure"
}

// Identify tells under which import id a resource is to be looked for whose
// creation was cut short. unknown is what FindUnknown returned; what of it is
// kept from an earlier life of the tenant is no candidate. The id is "" unless
// the verdict is Exists.
func Identify(pending Known, unknown []Resource) (id string, verdict Verdict) {
	t, ok := types()[pending.Type]
	if !ok {
		return "", strange(pending.Type, unknown)
	}

	if t.byInputs != nil {
		if id := t.byInputs(pending.Inputs); id != "" {
			return id, Exists
		}
	}

	return t.among(pending.Inputs, unknown)
}

// Evident reports whether a resource whose creation failed was made all the same:
// something of its type and name carries the tenant's tag.
func Evident(pending Known, unknown []Resource) bool {
	t, ok := types()[pending.Type]
	if !ok {
		return false
	}

	_, verdict := t.among(pending.Inputs, unknown)

	return verdict == Exists
}

// among looks for a resource of the type with the name that the inputs give.
func (t typ) among(inputs map[string]any, unknown []Resource) (id string, verdict Verdict) {
	if t.service == "" {
		return "", Unsure
	}

	wanted, candidates := t.physicalName(inputs), 0

	var matches []Resource

	for _, r := range unknown {
		n := parse(r.ARN)
		if n.service != t.service || n.kind != t.kind || Kept(r) {
			continue
		}

		candidates++

		if wanted != "" && t.nameAtAWS(n, r) == wanted {
			matches = append(matches, r)
		}
	}

	switch {
	case len(matches) == 1:
		return t.importID(matches[0].ARN), Exists
	// Two of one name: importing the wrong one would tie the tenant to it.
	case len(matches) > 1, wanted == "" && candidates > 0:
		return "", Unsure
	default:
		return "", Absent
	}
}

// physicalName is the name that the inputs ask for, "" if they ask for none.
func (t typ) physicalName(inputs map[string]any) string {
	if t.named != "" {
		return text(inputs, t.named)
	}

	tags, _ := inputs["tags"].(map[string]any)

	return text(tags, TagName)
}

func (t typ) nameAtAWS(n name, r Resource) string {
	if t.named != "" {
		return n.id
	}

	return r.Tags[TagName]
}

func (t typ) importID(arn string) string {
	if t.imported != nil {
		return t.imported(arn)
	}

	return parse(arn).id
}

// strange judges a type that is not in the table. Where it carries no tags, the
// judgement is a guess: if it was made, the next up finds it taken or makes a
// second one, and the first goes with what it belongs to.
func strange(token string, unknown []Resource) Verdict {
	service := serviceOf(token)

	for _, r := range unknown {
		if service != "" && parse(r.ARN).service == service && !Kept(r) {
			return Unsure
		}
	}

	return Absent
}

// serviceOf is the service in the ARNs of a Pulumi type: aws:ec2/vpc:Vpc is of
// ec2. It is "" for types that are not of AWS.
func serviceOf(token string) string {
	rest, ok := strings.CutPrefix(token, "aws:")
	if !ok {
		return ""
	}

	module, _, _ := strings.Cut(rest, "/")
	if service, ok := modules()[module]; ok {
		return service
	}

	return module
}

func text(inputs map[string]any, key string) string {
	s, _ := inputs[key].(string)

	return s
}
