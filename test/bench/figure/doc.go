// Package figure holds what was measured and writes it down: samples with their
// spread, tables, and goals that were reached or not. Nothing in it measures.
package figure
