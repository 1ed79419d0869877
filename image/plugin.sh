#!/usr/bin/env bash
# Fetches the AWS plugin into DIR, as the CLI keeps plugins: the version of go.mod
# with the checksum PLUGIN_SHA256, and those of OLD_PLUGINS ("VERSION=SHA256 …").
# The tarballs are at PLUGIN_URL/vVERSION/, as in the releases of pulumi-aws.
#
# usage: PLUGIN_URL=… PLUGIN_SHA256=… [OLD_PLUGINS=…] image/plugin.sh DIR
set -euo pipefail

out=$(realpath -m "$1")
cd "$(dirname "$0")/.."

fail() {
	echo "image/plugin.sh: $*" >&2
	exit 1
}

arch=${TARGETARCH:-$(go env GOARCH)}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# fetch puts version $1, whose tarball has the checksum $2, into DIR.
fetch() {
	local version=$1 sum=$2
	local name=pulumi-resource-aws-v$version-linux-$arch.tar.gz
	local url=${PLUGIN_URL:?is where the tarballs are}/v$version/$name
	local dir=$out/resource-aws-v$version

	[[ $sum =~ ^[0-9a-f]{64}$ ]] ||
		fail "the checksum of $name is \"$sum\": it must be a SHA-256 of 64 digits; take it from the release (docs/image.md)"

	curl --fail --silent --show-error --location --retry 3 --retry-connrefused --max-time 900 --output "$temp/$name" "$url" ||
		fail "$url cannot be fetched: set PLUGIN_URL to where v$version/$name is"

	local have
	have=$(sha256sum "$temp/$name")
	have=${have%% *}
	[ "$have" = "$sum" ] || fail "$url has the SHA-256 $have, not $sum: do not use it before you know why"

	mkdir -p "$dir"
	tar --extract --gzip --file "$temp/$name" --directory "$dir" --no-same-owner --no-same-permissions
	[ -f "$dir/pulumi-resource-aws" ] || fail "$url has no pulumi-resource-aws in it"
	find "$dir" -type d -exec chmod 0755 {} + -o -exec chmod 0644 {} +
	chmod 0755 "$dir/pulumi-resource-aws"
}

version=$(awk '$1 == "github.com/pulumi/pulumi-aws/sdk/v6" { print substr($2, 2); exit }' go.mod)
fetch "${version:?is not in go.mod}" "${PLUGIN_SHA256:-}"

for old in ${OLD_PLUGINS:-}; do
	[[ $old == *=* ]] || fail "OLD_PLUGINS has \"$old\": it must be VERSION=SHA256"
	fetch "${old%%=*}" "${old#*=}"
done
