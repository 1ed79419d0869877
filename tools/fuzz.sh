#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZ_FOR (30s), one after another, as
# each uses all processors. What a target finds stays below its testdata/fuzz,
# where `go test` takes it up: mend the code, then commit both.
#
# usage: [FUZZ_FOR=30s] tools/fuzz.sh [PATTERN]   (only targets like PATTERN)
set -euo pipefail

cd "$(dirname "$0")/.."

each=${FUZZ_FOR:-30s}
pattern=${1:-.}

# Read from the source, since `go test -list` would build every test first.
# shellcheck disable=SC2016 # these are variables of the template
targets=$(go list -f '{{$p := .ImportPath}}{{$d := .Dir}}{{range .TestGoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}' ./... |
	while read -r package file; do
		if [ -n "$file" ]; then
			sed -nE "s|^func (Fuzz[A-Za-z0-9_]*)\(.*|$package \1|p" "$file"
		fi
	done | sort | { grep -E -- "$pattern" || true; })

if [ -z "$targets" ]; then
	echo "no fuzz target fits \"$pattern\"" >&2
	exit 2
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
summary=
while read -r package target; do
	echo "== $target in $package, for $each"
	outcome=ok
	# Minimizing an input that is only new, not wrong, shall not eat the time.
	if ! go test -run='^$' -fuzz="^$target\$" -fuzztime="$each" -fuzzminimizetime=5s "$package" </dev/null 2>&1 | tee "$log"; then
		outcome=FINDING
		# Without one of these it did not get as far as fuzzing.
		grep -qE 'Failing input written to|failure while testing seed corpus' "$log" || outcome="not run"
		status=1
	fi

	inputs=$(sed -nE 's/^fuzz: elapsed: .*execs: ([0-9]+) .*/\1/p' "$log" | tail -n 1)
	summary+=$(printf '%-8s %12s inputs  %s %s' "$outcome" "${inputs:-0}" "$target" "$package")$'\n'
done <<<"$targets"

echo
printf '%s' "$summary"
exit "$status"
