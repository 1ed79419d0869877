package config

import (
	"maps"
	"slices"
)

// Described lists the variables that have a description.
func Described() []string { return slices.Sorted(maps.Keys(variables())) }
