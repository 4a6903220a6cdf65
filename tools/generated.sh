#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails unless the assembly for amd64 is what its programs write, and vet accepts all assembly.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t asm < <(find codec -name '*_amd64.s')
sums=$(sha256sum "${asm[@]}")
stamp=$(mktemp)
trap 'rm "$stamp"' EXIT
make generate
sha256sum --check --quiet <<<"$sums"
test -z "$(find codec -name '*_amd64.s' ! -newer "$stamp" -print | tee /dev/stderr)" # no program writes these
test "$(find codec -name '*_amd64.s' | wc -l)" = "${#asm[@]}"
for arch in amd64 arm64; do GOARCH=$arch go vet -asmdecl -framepointer ./codec/...; done
