#!/usr/bin/env bash
# Puts promtool into .bin/promtool: a link to the one on PATH if that is new
# enough, else one built from tools/promtool. Debian's package prometheus has one.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
link=$root/.bin/promtool
# The first that knows everything in the rules and their tests, and that of
# Debian 12.
needed=2.42

# new_enough succeeds if promtool $1 has at least the needed version.
new_enough() {
	local have
	have=$("$1" --version 2>&1 | sed -n 's/^promtool, version \([0-9][0-9.]*\).*/\1/p')
	[ -n "$have" ] && [ "$(printf '%s\n%s\n' "$needed" "$have" | sort -V | head -n 1)" = "$needed" ]
}

if [ -L "$link" ] && new_enough "$link"; then
	exit 0
fi

# One that was built already stays: its stamp says whether it still fits.
if [ ! -e "$link" ] || [ -L "$link" ]; then
	found=$(command -v promtool || true)
	if [ -n "$found" ] && new_enough "$found"; then
		mkdir -p "$root/.bin"
		ln -sf "$found" "$link"
		echo "using $found for .bin/promtool" >&2
		exit 0
	fi

	rm -f "$link"
fi

exec "$root/tools/build-tool.sh" promtool github.com/prometheus/prometheus/cmd/promtool "5-15"
