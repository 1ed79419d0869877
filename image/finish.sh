#!/usr/bin/env bash
# Checks the root of the image, and gives everything in it the same time stamp.
# The versions are those of go.mod, and every program starts there as the user of
# the image.
#
# usage: SOURCE_DATE_EPOCH=SECONDS [REVISION=…] image/finish.sh DIR
set -euo pipefail

root=$(realpath "$1")
cd "$(dirname "$0")/.."

fail() {
	echo "image/finish.sh: $*" >&2
	exit 1
}

# inside runs a program in the image.
inside() {
	HOME=/tmp PULUMI_HOME=/tmp/pulumi PULUMI_SKIP_UPDATE_CHECK=true \
		timeout 120 chroot --userspec=65532:65532 "$root" "$@"
}

# required prints the version of module $2 in the go.mod $1.
required() {
	awk -v module="$2" '$1 == module { print $2; exit }' "$1"
}

sdk=$(required go.mod github.com/pulumi/pulumi/sdk/v3)
aws=$(required go.mod github.com/pulumi/pulumi-aws/sdk/v6)
cli=$(required tools/pulumi/go.mod github.com/pulumi/pulumi/pkg/v3)
[ "$cli" = "$sdk" ] || fail "tools/pulumi/go.mod has Pulumi ${cli:-nowhere}, go.mod $sdk: make them the same"

have=$(inside /usr/bin/pulumi version) || fail "the Pulumi CLI does not run in the image"
have=v${have#v}
[ "$have" = "$cli" ] || fail "the Pulumi CLI is $have, tools/pulumi/go.mod says $cli"

have=$(inside /usr/bin/worker version) || fail "the worker does not run in the image"
[[ $have == *"pulumi sdk $sdk"*"pulumi-aws $aws"* ]] || fail "the worker was built with other versions than go.mod says: $have"
inside /usr/bin/enqueue version >/dev/null || fail "enqueue does not run in the image"

[ -x "$root/usr/lib/lessor/plugins/resource-aws-$aws/pulumi-resource-aws" ] || fail "plugin resource-aws-$aws is not in the image"
for plugin in "$root"/usr/lib/lessor/plugins/*/pulumi-resource-*; do
	code=0
	inside "${plugin#"$root"}" -version >/dev/null 2>&1 </dev/null || code=$?
	# What chroot says of a program that cannot be started, such as one that
	# needs the libc that is not there. What it then does is its own affair.
	if [ "$code" = 126 ] || [ "$code" = 127 ]; then
		fail "${plugin##*/} of ${plugin%/*} cannot be started in the image: it must be linked statically"
	fi
done

settings=$(go version -m "$root/usr/bin/worker")
revision=$(awk '$2 ~ /^vcs\.revision=/ { sub(/.*=/, "", $2); print $2 }' <<<"$settings")
if [ -n "${REVISION:-}" ] && [ "$revision" != "$REVISION" ]; then
	fail "the worker was built from commit ${revision:-nowhere}, the image shall be of $REVISION"
fi

install -m 0644 LICENSE "$root/usr/share/doc/lessor/LICENSE"
find "$root/tmp" -mindepth 1 -delete
find "$root" -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH:?is the time of everything in the image, in seconds}" {} +
