#!/usr/bin/env bash
# Makes the root of the image without the programs: users, certificate
# authorities, directories, and tini. There is no shell and no libc in it.
#
# usage: image/base.sh DIR
set -euo pipefail

root=$1
tini_version=0.19.0

# Debian's tini has a static build beside the other.
if ! command -v tini-static >/dev/null || [ ! -s /etc/ssl/certs/ca-certificates.crt ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends tini ca-certificates
fi

have=$(tini-static --version)
if [[ $have != "tini version $tini_version"* ]]; then
	echo "image/base.sh: the builder has $have, not $tini_version: take another builder, or change tini_version" >&2
	exit 1
fi

install -d -m 0755 "$root" "$root"/{etc/ssl/certs,usr/bin,usr/lib/lessor/plugins,usr/share/doc/lessor}
install -d -m 1777 "$root/tmp"
install -d -m 0750 -o 65532 -g 65532 "$root/var/lib/lessor"
chmod 0755 "$root/var" "$root/var/lib"
install -m 0755 "$(command -v tini-static)" "$root/usr/bin/tini"
install -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"

# Pulumi's lock of a state names the user, so the user needs an entry.
cat >"$root/etc/passwd" <<'EOF'
root:x:0:0:root:/:/nonexistent
lessor:x:65532:65532:lessor:/var/lib/lessor:/nonexistent
EOF
cat >"$root/etc/group" <<'EOF'
root:x:0:
lessor:x:65532:
EOF
chmod 0644 "$root/etc/passwd" "$root/etc/group"
