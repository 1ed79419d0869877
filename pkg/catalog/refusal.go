package catalog

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// refusal is one thing that a program has against parameters.
type refusal struct {
	// parameter is "" if the program did not name one.
	parameter string
	problem   string
}

// refusals takes the error of a Checker apart.
func refusals(err error, parameters tenant.Parameters) []refusal {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list := make([]refusal, 0, len(joined.Unwrap()))
		for _, e := range joined.Unwrap() {
			list = append(list, refusals(e, parameters)...)
		}

		return list
	}

	text := err.Error()

	if rest, ok := strings.CutPrefix(text, "parameters."); ok {
		if name, problem, ok := strings.Cut(rest, ": "); ok {
			return []refusal{{parameter: name, problem: problem}}
		}
	}

	return []refusal{{parameter: mentioned(text, parameters), problem: text}}
}

var wordPattern = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// mentioned is the first word of a text that is the name of a parameter.
func mentioned(text string, parameters tenant.Parameters) string {
	for _, word := range wordPattern.FindAllString(text, -1) {
		if _, ok := parameters[word]; ok {
			return word
		}
	}

	return ""
}

// refused is the error for a tenant whose parameters, with those of its tier,
// are refused.
func refused(tier string, blueprint tenant.Blueprint, list []refusal) error {
	field := "parameters"
	if len(list) == 1 && list[0].parameter != "" {
		field = join(field, list[0].parameter)
	}

	parts := make([]string, 0, len(list))

	for _, r := range list {
		part := r.problem
		if len(list) > 1 && r.parameter != "" {
			part = r.parameter + ": " + part
		}

		parts = append(parts, part)
	}

	return &InvalidError{
		Field:   field,
		Message: fmt.Sprintf("program %q of tier %q refuses: %s", blueprint.Program, tier, strings.Join(parts, "; ")),
		Hint:    "send an updated event that sets or, with null, removes what is refused",
	}
}
