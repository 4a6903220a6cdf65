#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/coverage.sh DIR collect ARG...  runs go test ARG..., and keeps in DIR what it and the processes
#                                       that its tests start, keepers and workers too, have run
# tools/coverage.sh DIR report          prints the share of statements, per package and in total
#
# A process that a signal kills writes nothing, so the share is a lower bound. Tests that measure the
# program itself fail where it is built to count: they are named, and decide nothing here.
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
module=$(go list -m)
# What users run, without the tools and helpers of tests.
packages=$(printf "$module/%s/...,"  cmd codec dist fusefs gpu internal loopsetup store)

collect() {
	# Tests build further programs, as other users too, which write to the directory themselves.
	mkdir -p "$dir/data" && chmod 1777 "$dir/data"
	export GOFLAGS="-cover -covermode=atomic -coverpkg=${packages%,}" GOCOVERDIR=$dir/data
	CGO_ENABLED=0 go build -o "$dir/bin/" ./cmd/...
	# By -exec, since go test gives its tests a GOCOVERDIR of its own, which it removes.
	ZRAMFS_BINARY=$dir/bin/zramfs go test -exec "env GOCOVERDIR=$dir/data" -vet=off -count=1 -p 1 "$@" -args -test.gocoverdir="$dir/data" | grep -E '^(--- FAIL|FAIL|panic)' || true
}

report() {
	go tool covdata textfmt -i="$dir/data" -o "$dir/profile"
	# A block that several programs have counts once.
	awk -v module="$module/" 'NR > 1 {
		size[$1] = $2; hit[$1] += $3
	} END {
		for (block in size) {
			package = block; sub(module, "", package); sub("/[^/]*$", "", package)
			all[package] += size[block]; total += size[block]
			if (hit[block]) { run[package] += size[block]; covered += size[block] }
		}
		for (package in all) printf "%5.1f %% of %5d  %s\n", 100 * run[package] / all[package], all[package], package | "sort -k6"
		close("sort -k6")
		printf "%5.1f %% of %5d  in total\n", 100 * covered / total, total
	}' "$dir/profile"
}

case $2 in
collect) collect "${@:3}" ;;
report) report ;;
*) sed -n '4,9s/^# //p' "$0" >&2; exit 2 ;;
esac
