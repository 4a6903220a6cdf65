#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# sequences.sh LENGTH SAMPLE: tries every sequence of up to LENGTH operations, and SAMPLE longer
# ones. PLANT=3 plants that fault of tools/simulate first.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/.cache/sequences
go run ./tools/simulate -o "$dir" -plant "${PLANT:-0}"
go test -c -overlay "$dir/overlay.json" -tags simulation,invariants -o "$dir/test" ./store
cd store
"$dir/test" -test.run '^TestEverySequence$' -test.timeout 24h -test.v -length "$1" -sample "$2"
