#!/usr/bin/env bash
# Runs the contract suites against moto server, because the emulator of local
# mode accepts things that AWS refuses. Moto goes into a virtual environment
# below .cache and is ended with the tests.
set -euo pipefail

cd "$(dirname "$0")/.."

moto="moto[server]==5.2.5"
venv=.cache/moto
stamp=$venv/installed

if [ "$(cat "$stamp" 2>/dev/null)" != "$moto" ]; then
	echo "installing $moto into $venv" >&2
	rm -rf "$venv"
	mkdir -p .cache
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check "$moto"
	echo "$moto" >"$stamp"
fi

log=$(mktemp)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -f "$log"' EXIT

# Port 0 lets the system choose; the server says which one it got.
"$venv/bin/moto_server" -H 127.0.0.1 -p 0 >"$log" 2>&1 &
server=$!

endpoint=
for _ in $(seq 300); do
	endpoint=$(grep -Eo 'http://127\.0\.0\.1:[0-9]+' "$log" | head -n 1) && break
	if ! kill -0 "$server" 2>/dev/null; then
		break
	fi
	sleep 0.1
done

if [ -z "$endpoint" ]; then
	cat "$log" >&2
	echo "moto server did not start" >&2
	exit 1
fi

echo "moto server answers at $endpoint" >&2
LESSOR_TEST_ENDPOINT=$endpoint go test -count=1 -shuffle=on -timeout=10m ./pkg/queue ./pkg/registry ./pkg/lease
