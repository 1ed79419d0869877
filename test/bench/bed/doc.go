// Package bed is where benchmarks run: the local stand-in for AWS behind a wire
// that counts and delays, workers that are real processes, the plain Automation
// API in another process, and what the kernel says of their processor time and
// memory.
package bed
