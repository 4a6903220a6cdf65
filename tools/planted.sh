#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# planted.sh SECONDS [NUMBER...]: plants each fault of tools/simulate, or those with these numbers,
# and simulates until it is found, for SECONDS at the most. Prints a table; fails if one is not found,
# or if the seed that finds it fails without it too.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=$1
shift
status=0
compile() { # DIR, the number of a fault or 0
	go run ./tools/simulate -o "$1" -plant "$2"
	go test -c -overlay "$1/overlay.json" -tags simulation,invariants -o "$1/test" ./internal/daemon
}
simulate() { # DIR, flags
	(cd internal/daemon && timeout $((limit + 120)) "$1/test" -test.run '^TestSimulate$' -shorten=false "${@:2}" >"$1/log" 2>&1)
}
sound=$PWD/.cache/planted/0
compile "$sound" 0
while IFS=$'\t' read -r number name; do
	[ "$#" -eq 0 ] || [[ " $* " == *" $number "* ]] || continue
	dir=$PWD/.cache/planted/$number
	compile "$dir" "$number"
	begin=$SECONDS
	if simulate "$dir" -for "${limit}s" -seed "${SEED:-1}"; then
		printf '%3d  not found   %s\n' "$number" "$name"
		status=1
	else
		took=$((SECONDS - begin)) seed=$(sed -n 's/.*: seed \([0-9]*\) fails after.*/\1/p' "$dir/log" | head -n 1)
		if [ -z "$seed" ] || ! simulate "$sound" -for 0s -seed "$seed"; then
			printf '%3d  fails without it too, or names no seed: %s\n' "$number" "$name"
			status=1
		else
			printf '%3d  %6d s    %s: %s\n' "$number" "$took" "$name" "$(sed -n 's/.* and [^ ]*: //p; /panic:/p' "$dir/log" | head -n 1 | cut -c 1-90)"
		fi
	fi
	rm -rf "$dir/test"
done < <(go run ./tools/simulate -faults)
rm -rf "$sound/test"
exit "$status"
