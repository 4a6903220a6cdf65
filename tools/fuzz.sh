#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target one after the other. The argument, as 90s, 10m or 2h, is for all together;
# each gets at least a second besides building.
set -euo pipefail
cd "$(dirname "$0")/.."
renice -n 19 $$ >/dev/null # other tests use devices at the same time

case $1 in
*h) total=$((${1%h} * 3600)) ;;
*m) total=$((${1%m} * 60)) ;;
*) total=${1%s} ;;
esac
mapfile -t targets < <(grep -rho --include='*_test.go' -H '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func / /' | sort)
each=$((total / ${#targets[@]}))
# Before Go 1.27 a target may end with the deadline's own error as its time is over
# (go.dev/issue/75804). Whatever a target finds comes with more lines than that.
nothing_found() {
	[ "$(grep -c '^    ' <<<"$1")" = 1 ] && grep -qx '    context deadline exceeded' <<<"$1"
}
# Without a bound go test spends up to a minute on shortening each input that reaches something new,
# and a target tries hardly any other.
shorter=10x
for target in "${targets[@]}"; do
	file=${target% *}
	said=$(go test -vet=off -run '^$' -fuzz "^${target#* }\$" -fuzztime "$((each > 0 ? each : 1))s" -fuzzminimizetime "$shorter" "$(dirname "$file")" 2>&1) ||
		nothing_found "$said" || { echo "$said"; exit 1; }
	tail -n 1 <<<"$said"
done
