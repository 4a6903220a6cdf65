#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# legs.sh LANE...: makes targets. A LANE is a word with targets that run one after the other; lanes
# run side by side. Prints a line for each package and target, and of one that fails what failed in
# it; at last which tests were skipped and why. Logs are in .cache/legs.
set -uo pipefail
cd "$(dirname "$0")/.."
logs=.cache/legs
rm -rf "$logs"
mkdir -p "$logs"
export TESTFLAGS="${TESTFLAGS--v}" # for the names and reasons of skipped tests

# Of a log, the lines outside of tests and those of tests and packages that failed or did not end.
failed() {
	awk '
		/^=== / { next }
		/^--- (PASS|SKIP)/ { held = ""; lines = 0; next }
		/^--- FAIL|^FAIL\t/ { printf "%s%s\n", held, $0; held = ""; lines = 0; next }
		/^(ok|PASS|\?)[ \t]?/ { held = ""; lines = 0; next }
		++lines <= 120 { held = held $0 "\n" } # a crash says what it was first
		END { printf "%s", held }' "$1" | head -n 600
}

# Copies to a log, and prints a line for each package whose tests have ended.
progress() { tee "$logs/$1.log" | sed -un "s,^\(ok\|FAIL\)[ \t]\+github.com/zramfs/\(zramfs/\)\?\([^ \t]*\)[ \t]\+,   $1: \1 \3 ,p" >&3; }

# One target: its log, and the line that says how long it took.
leg() {
	local begin=$SECONDS status=0 ran cpu
	TIMEFORMAT='%U %S'
	cpu=$({ time make --no-print-directory "$1" 2>&1 | progress "$1"; } 2>&1) || status=$?
	cpu=$(awk '{ printf "%d", $1 + $2 }' <<<"$cpu")
	ran=$(grep -cE '^--- (PASS|FAIL)' "$logs/$1.log")
	if [ "$status" -ne 0 ]; then
		printf '== %s FAILED after %d s\n' "$1" $((SECONDS - begin))
		failed "$logs/$1.log"
		return 1
	fi
	printf '== %-16s %4d s, %4d s of processor time, %5d tests (at %d s)\n' "$1" $((SECONDS - begin)) "$cpu" "$ran" "$SECONDS"
}

lane() {
	local target status=0
	for target in $1; do leg "$target" || status=1; done # one run names all that fails
	return "$status"
}

# The tests that were skipped, by reason, which a test tells last.
skipped() {
	cat "$logs"/*.log | awk '
		/^ *--- SKIP: / {
			count[reason]++
			if (count[reason] < 4) names[reason] = names[reason] " " $3
			else if (count[reason] == 4) names[reason] = names[reason] " ..."
			total++
		}
		/^--- (PASS|FAIL)/ { ran++ }
		sub(/^ +[^ ]+\.go:[0-9]+: /, "") { reason = $0 }
		END {
			printf "== %d tests ran, %d were skipped\n", ran, total
			for (reason in count) printf "%4d  %s:%s\n", count[reason], reason, names[reason]
		}'
}

exec 3>&1
pids=()
for l in "$@"; do
	lane "$l" &
	pids+=($!)
done
trap 'trap - TERM; kill -TERM 0' INT TERM # with what the lanes have started
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
skipped
exit "$status"
