#!/usr/bin/env bash
# Builds the image IMAGE (lessor) of the commit that is checked out, with
# buildah, or with docker where there is no buildah. See docs/image.md.
#
# BUILDER        image with Go, Git and Debian's tools, by digest: NAME@sha256:…
# PLUGIN_SHA256  checksum of the plugin's tarball
# OLD_PLUGINS, PLUGIN_URL, GOPROXY, GOSUMDB   as in the Dockerfile
# VERSION        the label; `git describe` says otherwise
# DIRTY=1        allows what is not committed
# BUILD_FLAGS    more for `buildah build` or `docker build`
set -euo pipefail

cd "$(dirname "$0")/.."

problems=()
if [ -z "${BUILDER:-}" ]; then
	problems+=("BUILDER is not set: set it to an image with Go $(awk '$1 == "go" { print $2; exit }' go.mod) or newer on Debian, such as NAME@sha256:…")
elif [[ $BUILDER != *@sha256:* && $BUILDER != localhost/* ]]; then
	problems+=("BUILDER is $BUILDER: add its digest (NAME@sha256:…), so that a build a year from now is the same; images in localhost/ need none")
fi

if [[ ! ${PLUGIN_SHA256:-} =~ ^[0-9a-f]{64}$ ]]; then
	problems+=("PLUGIN_SHA256 is \"${PLUGIN_SHA256:-}\": set it to the SHA-256 of the tarball of pulumi-aws $(awk '$1 == "github.com/pulumi/pulumi-aws/sdk/v6" { print $2; exit }' go.mod)")
fi

if ! git rev-parse --verify --quiet HEAD >/dev/null || [ ! -d .git ]; then
	problems+=("this is no clone with a commit: the version of the worker comes from Git, and a linked worktree has its .git elsewhere")
elif [ -z "${DIRTY:-}" ] && [ -n "$(git status --porcelain)" ]; then
	problems+=("there are changes that are not committed: commit them, or set DIRTY=1 for an image whose version says so")
fi

tool=
for candidate in buildah docker; do
	if command -v "$candidate" >/dev/null; then
		tool=$candidate
		break
	fi
done
[ -n "$tool" ] || problems+=("there is neither buildah nor docker: install one of them")

if [ ${#problems[@]} -gt 0 ]; then
	printf 'error: %s\n' "${problems[@]}" >&2
	exit 2
fi

revision=$(git rev-parse HEAD)
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
arguments=(
	--build-arg BUILDER="$BUILDER"
	--build-arg PLUGIN_SHA256="$PLUGIN_SHA256"
	--build-arg VERSION="${VERSION:-$(git describe --tags --always ${DIRTY:+--dirty})}"
	--build-arg REVISION="$revision"
	--build-arg CREATED="$(date --utc --date="@$epoch" +%Y-%m-%dT%H:%M:%SZ)"
	--build-arg SOURCE_DATE_EPOCH="$epoch"
)
for name in OLD_PLUGINS PLUGIN_URL GOPROXY GOSUMDB; do
	if [ -n "${!name:-}" ]; then
		arguments+=(--build-arg "$name=${!name}")
	fi
done

read -ra more <<<"${BUILD_FLAGS:-}"
case $tool in
buildah)
	exec buildah bud --format oci --timestamp "$epoch" "${arguments[@]}" ${more[@]+"${more[@]}"} --tag "${IMAGE:-lessor}" .
	;;
docker)
	export DOCKER_BUILDKIT=1
	exec docker build "${arguments[@]}" ${more[@]+"${more[@]}"} --tag "${IMAGE:-lessor}" .
	;;
esac
