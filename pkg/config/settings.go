package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/internal/nearest"
)

// setting is a variable as a struct declares it.
type setting struct {
	name     string
	kind     reflect.Type
	fallback string
}

// settingsOf finds the variables of a struct and of the structs in it.
func settingsOf(t reflect.Type) []setting {
	var settings []setting

	for field := range t.Fields() {
		tag, ok := field.Tag.Lookup("env")
		if !ok {
			if field.Type.Kind() == reflect.Struct {
				settings = append(settings, settingsOf(field.Type)...)
			}

			continue
		}

		name, options, _ := strings.Cut(tag, ",")
		s := setting{name: strings.TrimSpace(name), kind: field.Type}

		for option := range strings.SplitSeq(options, ",") {
			if value, ok := strings.CutPrefix(strings.TrimSpace(option), "default="); ok {
				s.fallback = value
			}
		}

		settings = append(settings, s)
	}

	return settings
}

// Names lists the variables of a worker, sorted.
func Names() []string {
	settings := settingsOf(reflect.TypeFor[Worker]())
	names := make([]string, 0, len(settings))

	for _, s := range settings {
		names = append(names, s.name)
	}

	slices.Sort(names)

	return names
}

// Unknown warns of variables with our prefix that no worker reads, most likely
// for a typo.
func Unknown(names []string) []string {
	known := Names()

	var warnings []string

	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) {
			continue
		}

		warning := name + ": no such variable, so it does nothing"
		if meant := nearest.To(name, known); meant != "" {
			warning += "; did you mean " + meant + "?"
		}

		warnings = append(warnings, warning)
	}

	return warnings
}
