package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/lessor-dev/lessor/internal/nearest"
)

// ProblemError is one thing wrong with a catalog. The error of Parse joins all of
// them.
type ProblemError struct {
	// File is "" if the catalog was not read from one.
	File string
	Line int
	// Path is where in the document, such as tiers.free.wave.
	Path    string
	Message string
	// Fix is what to do about it.
	Fix string
}

// Error says where, what, and how to fix it in one line.
func (p *ProblemError) Error() string {
	var b strings.Builder

	if p.File != "" {
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	} else {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}

	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}

	b.WriteString(p.Message)

	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}

	return b.String()
}

// problems collects all that is wrong, so that one look at the error is enough
// to repair a catalog.
type problems struct {
	file  string
	found []*ProblemError
}

func (p *problems) add(line int, path, message, fix string) {
	p.found = append(p.found, &ProblemError{File: p.file, Line: line, Path: path, Message: message, Fix: fix})
}

// unknown adds a word that is none of the known ones.
func (p *problems) unknown(line int, path, what, word string, known []string) {
	fix := "use one of " + strings.Join(known, ", ")

	switch meant := nearest.To(word, known); {
	case meant != "":
		fix = fmt.Sprintf("did you mean %q? Known: %s", meant, strings.Join(known, ", "))
	case len(known) == 0:
		fix = "none is known"
	}

	p.add(line, path, fmt.Sprintf("unknown %s %q", what, word), fix)
}

// err joins the problems in the order of the document.
func (p *problems) err() error {
	slices.SortStableFunc(p.found, func(a, b *ProblemError) int { return a.Line - b.Line })

	joined := make([]error, 0, len(p.found))
	for _, problem := range p.found {
		joined = append(joined, problem)
	}

	return errors.Join(joined...)
}

func line(node ast.Node) int {
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return 1
	}

	return node.GetToken().Position.Line
}
