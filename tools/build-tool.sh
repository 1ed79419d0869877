#!/usr/bin/env bash
# Builds a development tool from its own module, tools/<name>/go.mod, into
# .bin/<name>. The stamp holds what it was built from, so that it is built again
# only when its module changes. MODULE/NAME is for a module with several tools.
#
# usage: tools/build-tool.sh NAME|MODULE/NAME PACKAGE MINUTES [LDFLAGS]
set -euo pipefail

name=${1##*/}
package=$2
minutes=$3
ldflags="-s -w ${4:-}"

root=$(cd "$(dirname "$0")/.." && pwd)
module=$root/tools/${1%%/*}
binary=$root/.bin/$name
stamp=$root/.bin/.stamps/$name

wanted=$({ cat "$module/go.mod" "$module/go.sum"; echo "$package $ldflags"; } | git hash-object --stdin)
if [ -x "$binary" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
	exit 0
fi

mkdir -p "$root/.bin/.stamps"
log=$(mktemp)
new=$root/.bin/.$name.new
pid=
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; fi; rm -f "$log" "$new"' EXIT

echo "building $name, takes $minutes minutes the first time" >&2
started=$SECONDS

# No cgo: the tools need no C compiler, and no libc where they run.
CGO_ENABLED=0 go build -C "$module" -trimpath -ldflags "$ldflags" -o "$new" "$package" >"$log" 2>&1 &
pid=$!

ticks=0
while kill -0 "$pid" 2>/dev/null; do
	sleep 1
	ticks=$((ticks + 1))
	if [ $((ticks % 60)) -eq 0 ]; then
		printf ' %dm\n' $(((SECONDS - started) / 60)) >&2
	elif [ $((ticks % 5)) -eq 0 ]; then
		printf '.' >&2
	fi
done

status=0
wait "$pid" || status=$?
pid=
if [ "$ticks" -ge 5 ]; then
	printf '\n' >&2
fi

if [ "$status" -ne 0 ]; then
	cat "$log" >&2
	echo "building $name failed after $((SECONDS - started)) s" >&2
	exit "$status"
fi

mv -f "$new" "$binary"
echo "$wanted" >"$stamp"
echo "built .bin/$name in $((SECONDS - started)) s" >&2
