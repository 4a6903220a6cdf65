#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# simulate.sh FOR [SEED [PROCESSES]]: simulates for a time such as 2m, from SEED on; in as many
# processes as there are processors, whose output stays in .cache/simulation/log.0 and so on. First
# it runs what failed once (tools/simulate/seeds) and one seed twice. Go arguments of one run follow
# in ARGS.
set -euo pipefail
cd "$(dirname "$0")/.."
for=$1 seed=${2:-1} processes=${3:-$(nproc)}
dir=$PWD/.cache/simulation
go run ./tools/simulate -o "$dir"
go test -c -overlay "$dir/overlay.json" -tags simulation,invariants -o "$dir/test" ./internal/daemon
cd internal/daemon
run() { "$dir/test" -test.timeout 24h "$@"; }
if [ -z "${ARGS:-}" ]; then
	run -test.run '^TestSameSeedSameRun$|^TestSeedsThatFailed$'
fi
pids=()
for ((i = 0; i < processes; i++)); do
	(run -test.run '^TestSimulate$' -test.v -seed $((seed + i * 1000000)) -for "$for" ${ARGS:-} | tee "$dir/log.$i") &
	pids+=($!)
done
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
exit "$status"
