#!/usr/bin/env bash
# Runs the tests. What links pulumi-aws runs without the race detector: building
# that twice takes minutes and shows nothing about our code, which is
# covered by the packages below it.
#
# usage: tools/test.sh unit|all
set -euo pipefail

cd "$(dirname "$0")/.."

flags=(-shuffle=on)
heavy_flags=()
case ${1:-} in
unit)
	flags+=(-short)
	;;
all)
	# End-to-end tests start emulators and CLIs: one package at a time.
	flags+=(-timeout=20m)
	heavy_flags+=(-p=1)
	;;
*)
	echo "usage: tools/test.sh unit|all" >&2
	exit 2
	;;
esac

race=()
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$(go env CC | cut -d' ' -f1)" >/dev/null; then
	race=(-race)
else
	echo "no C compiler: testing without the race detector" >&2
fi

all=$(go list ./...)
heavy=$(go list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... |
	awk '/ github.com\/pulumi\/pulumi-aws\/sdk/ { sub(/\.test$/, "", $1); sub(/_test$/, "", $1); print $1 }' |
	sort -u)
light=$(comm -23 <(sort <<<"$all") <(echo "$heavy"))
heavy=$(comm -12 <(sort <<<"$all") <(echo "$heavy"))

status=0
if [ -n "$light" ]; then
	xargs go test "${flags[@]}" ${race[@]+"${race[@]}"} <<<"$light" || status=1
fi

if [ -n "$heavy" ]; then
	xargs go test "${flags[@]}" ${heavy_flags[@]+"${heavy_flags[@]}"} <<<"$heavy" || status=1
fi

exit "$status"
