#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# planted.sh SECONDS [NUMBER...]: plants each fault of tools/simulate, or those with these numbers,
# and simulates until it is found, for SECONDS at the most. Prints a table; fails if one is not found.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=$1
shift
status=0
while IFS=$'\t' read -r number name; do
	[ "$#" -eq 0 ] || [[ " $* " == *" $number "* ]] || continue
	dir=$PWD/.cache/planted/$number
	go run ./tools/simulate -o "$dir" -plant "$number"
	go test -c -overlay "$dir/overlay.json" -tags simulation,invariants -o "$dir/test" ./cmd/zramfs/daemon
	begin=$SECONDS
	if (cd cmd/zramfs/daemon && timeout $((limit + 120)) "$dir/test" -test.run '^TestSimulate$' -for "${limit}s" -shorten=false -seed "${SEED:-1}" >"$dir/log" 2>&1); then
		printf '%3d  not found   %s\n' "$number" "$name"
		status=1
	else
		printf '%3d  %6d s    %s: %s\n' "$number" $((SECONDS - begin)) "$name" "$(sed -n 's/.* and [^ ]*: //p; /panic:/p' "$dir/log" | head -n 1 | cut -c 1-90)"
	fi
	rm -rf "$dir/test"
done < <(go run ./tools/simulate -faults)
exit "$status"
