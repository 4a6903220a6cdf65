# SPDX-License-Identifier: Apache-2.0

GO      ?= go
DIR     ?= /run/zram
SIZE    ?= 1G
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
PAGES   := .cache/pages.zpg
# Root does it itself, others by sudo; empty where there is neither.
SUDO    := $(if $(filter 0,$(shell id -u)),env,$(shell command -v sudo))

.PHONY: all build build-cuda run stop test bench bench-block bench-swap bench-codec crash-test soak oracle criteria generate sample vet clean

all: build

# The documentation generators of the command line library are left out.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags urfave_cli_no_docs -ldflags '-s -w -X main.version=$(VERSION)' -o bin/zramfs ./cmd/zramfs

# With GPUs. Libcuda is loaded when it is asked for, but by the C library's loader, so this one is dynamic.
build-cuda:
	CGO_ENABLED=0 $(GO) build -trimpath -tags cuda,urfave_cli_no_docs -ldflags '-s -w -X main.version=$(VERSION)' -o bin/zramfs-cuda ./cmd/zramfs

# Swap on a compressed device, or, without the right to swap, a look at the
# device in a user namespace.
run: build
ifeq ($(SUDO),)
	@tools/try.sh bin/zramfs $(SIZE)
else
	@$(SUDO) bin/zramfs up --size $(SIZE) $(DIR)
	@$(SUDO) bin/zramfs list $(DIR)
	@echo "Stop it with: make stop"
endif

stop:
	@$(SUDO) bin/zramfs down $(DIR)

# Real pages, from the memory of programs started for it; nothing is committed.
sample: $(PAGES)
$(PAGES):
	@mkdir -p $(@D)
	$(GO) run ./tools/pagesample -o $@

vet:
	$(GO) vet ./...
	$(GO) vet -tags invariants ./...
	CGO_ENABLED=0 $(GO) vet -tags cuda ./...

# Each package alone: tests that use loop devices or swap must not meet.
test: build vet $(PAGES)
	$(GO) test -tags invariants -count=1 -p 1 -timeout 20m ./...
	CGO_ENABLED=0 $(GO) test -tags cuda -short -count=1 -p 1 ./gpu/driver
	CGO_ENABLED=0 $(GO) test -tags cuda -short -count=1 -p 1 -run 'GPU|Engine|Workshop|Bulk|Doctor' ./cmd/zramfs/command
	$(GO) test -race -short -count=1 -p 1 -timeout 20m ./codec/... ./store/... ./fusefs/... ./cmd/... ./loopsetup/... ./gpu ./gpu/driver ./gpu/ptx/sim
	CGO_ENABLED=0 $(GO) test -tags cuda -count=1 -timeout 20m -run '^TestF036Million|^TestF050|^TestF054|^TestF087' ./gpu

# Beside kernel zram in the same run, as block devices and as swap; both need root.
# BENCHFLAGS is passed on: -rounds 1 -size 256M -runtime 1s is short for the former,
# -rounds 1 -limit 64M for the latter.
bench: bench-block

bench-block: build $(PAGES)
	$(GO) run ./tools/bench block -binary bin/zramfs $(BENCHFLAGS)

bench-swap: build $(PAGES)
	$(GO) run ./tools/bench swap -binary bin/zramfs $(BENCHFLAGS)

# Kills workers at random instants under a verifying load on a loop device, and
# prints how long that was felt; KILLS=1000 goes on longer than three minutes.
crash-test:
	$(GO) test -count=1 -timeout 2h -v -run '^TestCrashOnLoop$$' ./integration -kills $(or $(KILLS),200)

# Swaps under pressure in windows of less than a minute; FOR=1h goes on longer.
soak: $(PAGES)
	$(GO) test -count=1 -timeout 24h -v -run '^TestSwapSoak$$' ./integration -soak $(or $(FOR),10m)

# Our codecs beside liblz4 and others; a module of its own, with cgo. ROUNDS=400
# measures longer than the 45 seconds of the default, BENCHFLAGS is passed on.
bench-codec: $(PAGES)
	cd tools/codecbench && ZRAMFS_PAGES=$(abspath $(PAGES)) $(GO) run . $(if $(ROUNDS),-rounds $(ROUNDS)) $(BENCHFLAGS)

# What we and liblz4 read of each other's, and of hostile input.
oracle: $(PAGES)
	cd tools/codecbench && $(GO) vet . && ZRAMFS_PAGES=$(abspath $(PAGES)) $(GO) test -count=1 .

# Runs the tests that docs/criteria.md names, and rewrites the states of their claims.
criteria: build $(PAGES)
	$(GO) test -json -count=1 -p 1 -timeout 30m -run "$$($(GO) run ./tools/criteria -judges)" ./... | $(GO) run ./tools/criteria

# The assembly for amd64 is written by programs, one for each package.
generate:
	cd codec/_asm && $(GO) vet ./... && for p in */; do p=$${p%/}; $(GO) run ./$$p -out ../$$p/$${p}_amd64.s -pkg $$p || exit 1; done

clean:
	rm -rf bin .cache
