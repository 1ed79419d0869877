package config

import (
	"reflect"
	"strings"
)

// The markers between which README.md has the table.
const (
	TableBegin = "<!-- config:begin -->"
	TableEnd   = "<!-- config:end -->"
)

// MarkdownTable describes every variable of a worker, those that must be set
// first.
func MarkdownTable() string {
	var needed, others strings.Builder

	described := variables()

	for _, s := range settingsOf(reflect.TypeFor[Worker]()) {
		v := described[s.name]
		into, fallback := &others, code(s.fallback)

		switch {
		case v.required:
			into, fallback = &needed, "**required**"
		case fallback == "" && v.unset != "":
			fallback = v.unset
		}

		into.WriteString("| `" + s.name + "` | " + fallback + " | " + v.about + " |\n")
	}

	return "| variable | default | what it is |\n|---|---|---|\n" + needed.String() + others.String()
}

func code(value string) string {
	if value == "" {
		return ""
	}

	return "`" + value + "`"
}

// InsertTable returns document with the table between the markers, and whether
// it has markers.
func InsertTable(document string) (string, bool) {
	before, rest, ok := strings.Cut(document, TableBegin)
	if !ok {
		return document, false
	}

	_, after, ok := strings.Cut(rest, TableEnd)
	if !ok {
		return document, false
	}

	return before + TableBegin + "\n" + MarkdownTable() + TableEnd + after, true
}
