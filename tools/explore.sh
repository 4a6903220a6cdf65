#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# explore.sh PART...: tests inputs that a fresh seed draws, or SEED, which it prints. A PART is
#   simulate   store, server and supervision on a machine on which the seed decides everything, for FOR
#   sequences  the operations of the store: every sequence of up to LENGTH, and SAMPLE longer ones,
#              with a death at each instant that another process can see
#   calls      system calls of commands, keeper and worker that fail, once and for good: a sample, or
#              with STRIDE=4 each fourth of a kind; LOOP=Mount has one operation, TURN=1 other errors
#   flips      bits of an image, of requests and of counters: a sample, or with ALL=1 each, an hour
#   fuzz       every fuzz target, for FOR in all
#   crash      KILLS workers killed under a verifying load, and how long that was felt
#   soak       real swap under pressure, in windows of less than a minute, for FOR
#   planted    whether simulations find each mistake of tools/simulate, within five minutes each
set -euo pipefail
cd "$(dirname "$0")/.."
export ZRAMFS_SEED=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}
export ZRAMFS_BINARY=${ZRAMFS_BINARY:-$PWD/bin/zramfs}

tests() { nice -n 19 go test -count=1 -timeout 24h -v "$@"; }

# Without errexit, for its status is asked for.
explore() {
	case $1 in
	simulate) tools/simulate.sh "${FOR:-1m}" "$ZRAMFS_SEED" ${PROCESSES:-} ;;
	sequences) tools/sequences.sh "${LENGTH:-2}" "${SAMPLE:-1000}" ;;
	calls) tests -run "^Test(Swap)?CallsOf${LOOP:-.*}\$" ./integration -calls-stride "${STRIDE:-0}" -calls-turn "${TURN:-0}" ;;
	flips) tests -run '^TestFlips' ./store -flips="${ALL:-0}" && tests -run '^TestFlips' ./fusefs ./telemetry -flips="${ALL:-0}" ;;
	fuzz) tools/fuzz.sh "${FOR:-10m}" ;;
	crash) tests -run '^TestCrashOnLoop$' ./integration -kills "${KILLS:-200}" ;;
	soak) tests -run '^TestSwapSoak$' ./integration -soak "${FOR:-10m}" ;;
	planted) tools/planted.sh 300 ;;
	*)
		echo "no part is called $1: there are simulate, sequences, calls, flips, fuzz, crash, soak and planted" >&2
		exit 2
		;;
	esac
}

status=0
for part; do
	echo "== $part, SEED=$ZRAMFS_SEED"
	explore "$part" || {
		echo "== $part failed: make explore WHAT=$part SEED=$ZRAMFS_SEED tries it again"
		status=1
	}
done
exit "$status"
