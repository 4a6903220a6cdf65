#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails unless the assembly for amd64 is what its programs write, and vet accepts all assembly. It
# writes nothing into the tree, where other tests may be building.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
make --no-print-directory generate TO="$out"
mapfile -t asm < <(find codec -name '*_amd64.s')
for file in "${asm[@]}"; do cmp "$file" "$out/${file#codec/}"; done
test "$(find "$out" -name '*_amd64.s' | wc -l)" = "${#asm[@]}"
for arch in amd64 arm64; do GOARCH=$arch go vet -asmdecl -framepointer ./codec/...; done
