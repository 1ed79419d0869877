#!/usr/bin/env bash
# Compiles programs for the image. The same Go and the same commit give the same
# bytes, wherever the source, the caches and TMPDIR are.
#
# usage: image/compile.sh DIR worker|enqueue|pulumi...
set -euo pipefail

out=$(realpath -m "$1")
shift
cd "$(dirname "$0")/.."

# What is set where it is built must not change what is built; modules are those
# of go.sum, and a newer Go is a new builder.
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local GOOS=linux GOWORK=off GOEXPERIMENT='' GOAMD64=v1 GOARM64=v8.0
mkdir -p "$out"

for name in "$@"; do
	case $name in
	worker | enqueue)
		go build -trimpath -buildvcs=true -ldflags "-s -w" -o "$out/$name" "./cmd/$name"
		;;
	pulumi)
		version=$(awk '$1 == "github.com/pulumi/pulumi/pkg/v3" { print substr($2, 2); exit }' tools/pulumi/go.mod)
		# The Automation API refuses a CLI without a version.
		go build -C tools/pulumi -trimpath -buildvcs=false \
			-ldflags "-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${version:?is not in tools/pulumi/go.mod}" \
			-o "$out/pulumi" github.com/pulumi/pulumi/pkg/v3/cmd/pulumi
		;;
	*)
		echo "image/compile.sh: what is $name?" >&2
		exit 2
		;;
	esac
done
