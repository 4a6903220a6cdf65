#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [-simulated] [-for SECONDS] [-build]: finds out what this machine's GPU does and prints it as a table: whether results are the CPU's, and how fast. It takes
# less than eight minutes, or as many seconds as it is told, of which the steps that matter most come first. The exit status is 1 if a step failed.
#
# Where there is Go it builds its program, gpu/check.bin, and with -build does no more, so that the program can be taken to a machine that has a GPU and no Go. There it
# runs what it finds: gpu/check.bin, gpu/check.loop (a loop in C to compare launches with, built where there is a C compiler) and gpu/check.pages (pages that tools/pagesample
# made; without it they are generated). $GPUCHECK_BIN is another program to run, and then nothing is built. NVIDIA's ptxas and compute-sanitizer are used if they are installed. Findings are in $OUT, gpu/check.out if that is not set: as a
# table (check.txt), as JSON (check.json), and what the programs said besides (check.log). -simulated does the same with a simulated GPU and little data.
set -u
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
cd "$root" || exit 1
bin=${GPUCHECK_BIN:-gpu/check.bin}
loop=gpu/check.loop
out=${OUT:-gpu/check.out}
seconds=450 build= simulated=
while [ $# -gt 0 ]; do
	case $1 in
	-simulated) simulated=-simulated ;;
	-build) build=1 ;;
	-for) seconds=${2:?-for wants a number of seconds}; shift ;;
	*) sed -n '3,4s/^# //p' "$0" >&2; exit 2 ;;
	esac
	shift
done
export PATH="$PATH:/usr/local/go/bin:/usr/local/cuda/bin"
has() { command -v "$1" >/dev/null 2>&1; }

if has go && [ -z "${GPUCHECK_BIN:-}" ]; then
	CGO_ENABLED=0 go build -trimpath -tags cuda -ldflags "-s -w -X main.commit=$(git describe --always --dirty)" -o "$bin" ./tools/gpucheck || { [ -x "$bin" ] && [ -z "$build" ]; } || exit 1
fi
if has cc && [ -z "${GPUCHECK_BIN:-}" ]; then cc -O2 -o "$loop" tools/gpucheck/testdata/loop.c -ldl || rm -f "$loop"; fi
[ -x "$bin" ] || { echo "check.sh: there is neither Go nor $bin; gpu/check.sh -build makes it where there is Go" >&2; exit 2; }
[ -z "$build" ] || { ls -l "$bin" "$loop"; exit 0; }

mkdir -p "$out" || exit 1
case $bin in /*) ;; *) bin=$root/$bin ;; esac
findings=$out/check.jsonl log=$out/check.log
: >"$findings" >"$log"
arguments=()
[ -z "$simulated" ] || arguments+=("$simulated")
[ ! -x "$loop" ] || [ -n "$simulated" ] || arguments+=(-loop "$(cd "$(dirname "$loop")" && pwd)/$(basename "$loop")")
[ ! -f gpu/check.pages ] || arguments+=(-pages gpu/check.pages)

# quoted TEXT: as a string of JSON.
quoted() { printf '"%s"' "$(printf %s "$1" | tr '\n\t' '  ' | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }
# tell STEP WHAT TEXT, and fail STEP WHAT ERROR: a finding.
tell() { printf '{"step":%s,"what":%s,"value":0,"text":%s}\n' "$(quoted "$1")" "$(quoted "$2")" "$(quoted "$3")" >>"$findings"; }
fail() { printf '{"step":%s,"what":%s,"value":0,"text":"FAILED","error":%s}\n' "$(quoted "$1")" "$(quoted "$2")" "$(quoted "$3")" >>"$findings"; }

# within LIMIT COMMAND...: runs it for no longer than that, and than there is time at all.
within() {
	local limit=$1 left=$((seconds - SECONDS))
	shift
	[ "$left" -gt 5 ] || return 125
	timeout -k 5 "$((limit < left ? limit : left))" "$@"
}

# step NAME LIMIT: one of the program's. One that was killed cannot say so itself.
step() {
	local status began=$SECONDS
	within "$2" "$bin" "${arguments[@]}" -steps "$1" >>"$findings" 2>>"$log"
	status=$?
	echo "check.sh: $1 took $((SECONDS - began)) s, status $status"
	case $status in
	0) ;;
	125) fail "$1" "the step" "there was no time left for it" ;;
	124 | 137) fail "$1" "the step" "it was killed, or ended after its $2 s" ;;
	*) grep -q "^{\"step\":\"$1\".*\"error\":" "$findings" || fail "$1" "the step" "exit status $status: $(tail -n 1 "$log")" ;;
	esac
}

machine() {
	tell machine processor "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(awk '/^MemAvailable/ {printf "%.0f GB free", $2 / 1e6}' /proc/meminfo)"
	has nvidia-smi || { tell machine nvidia-smi "is not installed"; return; }
	local names=name,driver_version,compute_cap,pcie.link.gen.max,pcie.link.gen.current,pcie.link.width.max,pcie.link.width.current
	names=$names,memory.total,clocks.max.sm,clocks.max.memory,power.limit,ecc.mode.current,mig.mode.current,persistence_mode
	local values i name value
	values=$(within 30 nvidia-smi --query-gpu="$names" --format=csv,noheader -i 0 2>>"$log" | head -n 1)
	IFS=, read -ra name <<<"$names"
	IFS=, read -ra value <<<"$values"
	for i in "${!name[@]}"; do
		tell machine "${name[i]}" "$(sed 's/^ *//' <<<"${value[i]:-not told}")"
	done
}

# assembled TARGET FILE has it take one text, or each of several that stand in one file, as the address cases do.
assembled() {
	local part parts
	parts=$(mktemp -d) || return 1
	awk -v to="$parts/$(basename "$2" .ptx)" '/^\.version/ { n++ } { print > sprintf("%s.%03d.ptx", to, n) }' "$2"
	for part in "$parts"/*.ptx; do
		within 60 ptxas -arch="$1" -v -o /dev/null "$part" || { rm -rf "$parts"; return 1; }
	done
	rm -rf "$parts"
}

# assemble has NVIDIA's assembler take every text for this device, or for sm_90 if there is none.
assemble() {
	has ptxas || { tell ptxas ptxas "is not installed"; return; }
	local capability target file text registers spills taken=0
	capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 2>/dev/null | head -n 1 | tr -cd 0-9)
	target=sm_${capability:-90}
	tell ptxas version "$(ptxas --version | sed -n 's/.*release \([^,]*\),.*/\1/p'), $target"
	for file in gpu/kernels/testdata/*.ptx gpu/ptx/testdata/*.ptx; do
		if text=$(assembled "$target" "$file" 2>&1); then
			taken=$((taken + 1))
			[ "${file#gpu/kernels}" != "$file" ] || continue
			registers=$(printf '%s\n' "$text" | sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' | sort -n | tail -n 1)
			spills=$(printf '%s\n' "$text" | sed -n 's/.* \([0-9]*\) bytes spill loads.*/\1/p' | sort -n | tail -n 1)
			tell ptxas "$file" "at most ${registers:-?} registers, ${spills:-?} bytes spilled, $(printf '%s\n' "$text" | grep -ci warning) warnings"
		else
			fail ptxas "$file" "$text"
		fi
	done
	tell ptxas "all golden texts" "$taken are taken"
}

# sanitize TOOL LIMIT: the small batch under compute-sanitizer. Not every machine lets it at its device.
sanitize() {
	local said=$out/sanitizer-$1.txt status
	within "$2" compute-sanitizer --tool "$1" --error-exitcode 99 "$bin" "${arguments[@]}" -steps small >"$said" 2>&1
	status=$?
	if [ $status -eq 0 ] && grep -q 'SUMMARY: 0 ' "$said"; then
		tell sanitizer "$1" "$(grep 'SUMMARY' "$said" | tail -n 1)"
	elif grep -q 'SUMMARY' "$said" || [ $status -eq 99 ]; then
		fail sanitizer "$1" "$(grep 'SUMMARY' "$said" | tail -n 1): see $(basename "$said")"
	else
		tell sanitizer "$1" "did not run here, status $status: $(tail -n 1 "$said")"
	fi
}

machine
assemble
"$bin" -list | while read -r name limit _; do
	[ "$name" = small ] || step "$name" "$limit" </dev/null
done
step small 60
if has compute-sanitizer; then
	sanitize memcheck 90
	sanitize racecheck 90
	sanitize synccheck 60
else
	tell sanitizer compute-sanitizer "is not installed"
fi
tell machine "all of it" "took $SECONDS s"

echo
"$bin" -table "$findings" -json "$out/check.json" >"$out/check.txt" 2>>"$log"
status=$?
cat "$out/check.txt"
[ $status -eq 0 ] || { echo "check.sh: a step failed; see $log" >&2; exit 1; }
