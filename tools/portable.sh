#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the codecs without assembly, for x86-64-v3, and in emulators of processors that are not here.
set -euo pipefail
cd "$(dirname "$0")/.."
renice -n 19 $$ >/dev/null # other tests use devices at the same time

few=pages,commands
# What depends on the processor or the compiler: the choice of routines, what these make of pages, and
# objects of other machines. Emulators are slow, and run no more.
choice='^TestF00[1-8]|^TestF015|^TestF02|Golden|^TestChild|SwitchedOff|Misspelt'
go vet -tags purego ./codec/...
GOARCH=riscv64 go vet ./codec/... # nothing was written for it
ZRAMFS_REQUIRE=$few go test -vet=off ${TESTFLAGS-} -tags purego -short -run "$choice|^TestSelected" ./codec/...
ZRAMFS_REQUIRE=$few GOAMD64=v3 go test -vet=off ${TESTFLAGS-} -short -run "$choice" ./codec/...

emulated() { # GOARCH, what is required of it, packages, tests, the emulator
	local arch=$1 require=$2 packages=$3 tests=$4
	shift 4
	# shellcheck disable=SC2086 # packages are several words
	CGO_ENABLED=0 GOARCH=$arch GOAMD64=v1 ZRAMFS_REQUIRE=$require ZRAMFS_TEST_EMULATOR="$*" \
		go test -vet=off ${TESTFLAGS-} -trimpath -short -timeout 20m -run "$tests" -exec "$*" $packages
}
# These have assembly for arm64, which no other leg runs.
emulated arm64 $few,neon "./codec/internal/impl ./codec/lz4 ./codec/pagescan" . qemu-aarch64-static
emulated arm64 $few "./codec ./codec/bulk ./codec/page ./codec/zstd" "$choice" qemu-aarch64-static

refused() { # an instruction, the emulator: it must end the program, or the test that follows proves nothing
	local probe status=0
	probe=$(mktemp)
	echo "int main(void) { __asm__ volatile(\"$1\"); return 0; }" | gcc -x c -o "$probe" -
	shift
	(ulimit -c 0 && exec "$@" "$probe") || status=$?
	rm "$probe"
	test "$status" = 132 # SIGILL
}
# A Nehalem has no AVX, and the emulator's best processor has AVX2 but no AVX-512.
old=(qemu-x86_64-static -cpu Nehalem)
refused "vpxor %ymm0, %ymm0, %ymm0" "${old[@]}"
emulated amd64 $few ./codec/... "$choice" "${old[@]}"
middling=(qemu-x86_64-static -cpu max)
refused "vpxorq %zmm0, %zmm0, %zmm0" "${middling[@]}"
emulated amd64 $few,avx2 ./codec/... "$choice" "${middling[@]}"
# LZCNT is another instruction where it is missing, which raises no fault.
emulated amd64 $few "./codec ./codec/internal/impl ./codec/lz4 ./codec/page" "$choice" qemu-x86_64-static -cpu max,-abm
