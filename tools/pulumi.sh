#!/usr/bin/env bash
# Puts the Pulumi CLI into .bin/pulumi: a link to the one on PATH if that is new
# enough, else one built from tools/pulumi. The version is set by the linker,
# since the Automation API refuses a CLI without one.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
link=$root/.bin/pulumi
needed=$(awk '$1 == "github.com/pulumi/pulumi/pkg/v3" { sub(/^v/, "", $2); print $2 }' "$root/tools/pulumi/go.mod")

# new_enough succeeds if CLI $1 has at least the needed version.
new_enough() {
	local have
	have=$("$1" version 2>/dev/null) || return 1
	have=${have#v}
	have=${have%%[-+]*}
	[ "$(printf '%s\n%s\n' "$needed" "$have" | sort -V | head -n 1)" = "$needed" ]
}

if [ -L "$link" ] && new_enough "$link"; then
	exit 0
fi

# One that was built already stays: its stamp says whether it still fits.
if [ ! -e "$link" ] || [ -L "$link" ]; then
	found=$(command -v pulumi || true)
	if [ -n "$found" ] && new_enough "$found"; then
		mkdir -p "$root/.bin"
		ln -sf "$found" "$link"
		echo "using $found for .bin/pulumi" >&2
		exit 0
	fi

	rm -f "$link"
fi

exec "$root/tools/build-tool.sh" pulumi github.com/pulumi/pulumi/pkg/v3/cmd/pulumi "4-8" \
	"-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=$needed"
