package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// entry is the value of a key and the line of the key.
type entry struct {
	line  int
	value ast.Node
}

// mapping reads the keys of a mapping. known is nil where any key may stand.
func (r *reader) mapping(node ast.Node, path string, known []string) (map[string]entry, bool) {
	m, ok := node.(*ast.MappingNode)
	if !ok {
		r.wrongType(node, path, "a mapping")

		return nil, false
	}

	entries := make(map[string]entry, len(m.Values))

	for _, value := range m.Values {
		name, ok := r.key(value.Key, path)
		if !ok {
			continue
		}

		if known != nil && !slices.Contains(known, name) {
			r.unknown(line(value.Key), join(path, name), "key", name, known)

			continue
		}

		entries[name] = entry{line: line(value.Key), value: value.Value}
	}

	return entries, true
}

func (r *reader) key(node ast.Node, path string) (string, bool) {
	if key, ok := node.(*ast.StringNode); ok {
		return key.Value, true
	}

	r.add(line(node), path, fmt.Sprintf("the key %s is not a string", node.GetToken().Value),
		"write the key as a plain word or in quotes; merge keys are not supported")

	return "", false
}

// lineOf is the line of a key in a mapping, or otherwise if it is not there.
func (*reader) lineOf(node ast.Node, name string, otherwise int) int {
	if m, ok := node.(*ast.MappingNode); ok {
		for _, value := range m.Values {
			if key, ok := value.Key.(*ast.StringNode); ok && key.Value == name {
				return line(key)
			}
		}
	}

	return otherwise
}

func (r *reader) text(e entry, path string) (string, bool) {
	s, ok := e.value.(*ast.StringNode)
	if !ok {
		r.wrongType(e.value, path, "a string")

		return "", false
	}

	return s.Value, true
}

func (r *reader) boolean(e entry, path string) bool {
	b, ok := e.value.(*ast.BoolNode)
	if !ok {
		r.wrongType(e.value, path, "true or false")

		return false
	}

	return b.Value
}

func (r *reader) integer(e entry, path string, low, high int) (int, bool) {
	want := fmt.Sprintf("an integer from %d to %d", low, high)

	i, ok := e.value.(*ast.IntegerNode)
	if !ok {
		r.wrongType(e.value, path, want)

		return 0, false
	}

	n, err := strconv.Atoi(fmt.Sprint(i.Value))
	if err != nil || n < low || n > high {
		r.add(e.line, path, fmt.Sprintf("%v is out of range", i.Value), "give "+want)

		return 0, false
	}

	return n, true
}

func (r *reader) policy(e entry, path string, allowed ...tenant.FailurePolicy) tenant.FailurePolicy {
	known := make([]string, 0, len(allowed))
	for _, policy := range allowed {
		known = append(known, string(policy))
	}

	s, ok := r.text(e, path)
	if ok && !slices.Contains(known, s) {
		r.unknown(e.line, path, "policy", s, known)
	}

	return tenant.FailurePolicy(s)
}

func (r *reader) role(e entry, path string) string {
	s, ok := r.text(e, path)
	if ok && !rolePattern.MatchString(s) {
		r.add(e.line, path, fmt.Sprintf("%q is not the ARN of an IAM role", s), "give arn:aws:iam::<account>:role/<name>")
	}

	return s
}

func (r *reader) parameters(e entry, path string) (tenant.Parameters, bool) {
	before := len(r.found)

	entries, ok := r.mapping(e.value, path, nil)
	if !ok {
		return nil, false
	}

	parameters := make(tenant.Parameters, len(entries))

	for name, p := range entries {
		value, ok := r.value(p.value, join(path, name))
		if !ok {
			continue
		}

		if value == nil {
			r.add(p.line, join(path, name), "has no value", "give it one, or remove the line for the program's default")

			continue
		}

		data, err := json.Marshal(value)
		if err != nil {
			r.add(p.line, join(path, name), fmt.Sprintf("cannot be JSON: %v", err), "use strings, numbers, booleans, lists and mappings")

			continue
		}

		parameters[name] = data
	}

	return parameters, len(r.found) == before
}

// value turns a node into what JSON can say.
func (r *reader) value(node ast.Node, path string) (any, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.NullNode:
		return nil, true
	case *ast.SequenceNode:
		list := make([]any, 0, len(n.Values))

		for i, item := range n.Values {
			if value, ok := r.value(item, fmt.Sprintf("%s[%d]", path, i)); ok {
				list = append(list, value)
			}
		}

		return list, len(list) == len(n.Values)
	case *ast.MappingNode:
		entries, _ := r.mapping(n, path, nil)
		object := make(map[string]any, len(entries))

		for name, e := range entries {
			if value, ok := r.value(e.value, join(path, name)); ok {
				object[name] = value
			}
		}

		return object, len(object) == len(n.Values)
	default:
		r.wrongType(node, path, "a string, number, boolean, list or mapping")

		return nil, false
	}
}

func (r *reader) wrongType(node ast.Node, path, want string) {
	what := "nothing"

	switch node.(type) {
	case nil, *ast.NullNode:
	case *ast.AnchorNode, *ast.AliasNode:
		what, want = "an anchor or alias", want+" (write the value out)"
	default:
		what = fmt.Sprintf("%s (%q)", node.Type().YAMLName(), node.GetToken().Value)
	}

	r.add(line(node), path, "is "+what, "give "+want)
}

func join(path, name string) string {
	if path == "" {
		return name
	}

	return path + "." + name
}
