# SPDX-License-Identifier: Apache-2.0

GO      ?= go
SIZE    ?= 1G
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BIN     ?= bin
PREFIX  = /usr/local
MODULE  := github.com/zramfs/zramfs
PAGES   := .cache/pages.zpg
STAGE   := $(BIN)/stage
LINK    = -s -w -X main.version=$(VERSION) -X $(MODULE)/internal/zramfsd.libexec=$(PREFIX)/libexec
# Root does it itself, others by sudo; empty where there is neither.
SUDO    := $(if $(filter 0,$(shell id -u)),env,$(shell command -v sudo))

.PHONY: all build build-cuda manuals stage install uninstall compiled run test test-guest test-devices test-others check lint test-race race-devices race-others test-cuda test-portable packages release build-release test-release test-packages bench bench-block bench-swap bench-start bench-store bench-codec bench-once explore explore-fixed suites oracle criteria charts test-kubernetes coverage generate sample clean help

all: build

# These lines: of each target the first sentence.
help:
	@awk '/^# /{doc = doc " " substr($$0, 3); next} doc && /^[a-z][a-z -]*:/{sub(/:.*/, ""); sub(/[.:;] .*|[.:]$$/, "", doc); printf "%-20s%s\n", $$0, doc} {doc = ""}' Makefile

# The programs, in bin: the command line and the server, which that looks for in its own directory and
# in PREFIX/libexec.
build:
	@echo build zramfs and zramfsd
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LINK)' -o $(BIN)/ ./cmd/zramfs ./cmd/zramfsd

# The manual pages and the completions for bash, zsh and fish, below MANUALS as below /usr.
manuals:
	GOARCH= $(GO) run ./tools/manuals -o $(or $(MANUALS),bin/manuals) -version $(VERSION) -date $(or $(DATE),$$(git log -1 --format=%cs 2>/dev/null || date +%F))

# All that install copies, in bin/stage as below PREFIX.
stage: build
	@rm -rf $(STAGE)
	@umask 022 && $(MAKE) -s manuals MANUALS=$(STAGE)
	@install -D $(BIN)/zramfs $(STAGE)/bin/zramfs
	@install -D $(BIN)/zramfsd $(STAGE)/libexec/zramfsd
	@umask 022 && cd $(STAGE) && mkdir -p lib/systemd/system lib/systemd/system-generators && \
		ln -s ../../../bin/zramfs lib/systemd/system-generators/zramfs-generator && \
		for unit in $(CURDIR)/dist/systemd/*.service; do \
			sed 's,/usr/bin/zramfs,$(PREFIX)/bin/zramfs,' $$unit >lib/systemd/system/$${unit##*/} || exit 1; done

# Programs, manual pages, completions and units of systemd, below DESTDIR and PREFIX. PREFIX is
# /usr/local. uninstall removes the same files.
install: stage
	@umask 022 && mkdir -p $(DESTDIR)$(PREFIX) && cp -dR --remove-destination $(STAGE)/. $(DESTDIR)$(PREFIX)

uninstall: | $(STAGE)
	@cd $(STAGE) && find . ! -type d -exec rm -f $(abspath $(DESTDIR)$(PREFIX))/{} ';'

$(STAGE):
	@$(MAKE) -s stage

# The program with GPUs. Libcuda is loaded when it is asked for, but by the C library's loader, so this one is dynamic.
build-cuda:
	@echo build zramfs-cuda
	@CGO_ENABLED=0 $(GO) build -trimpath -tags cuda -ldflags '$(LINK)' -o bin/zramfs-cuda ./cmd/zramfs

# What swap on zramfs does for a program that needs more memory than it may have, and ends clean; or,
# without the right to swap, a look at the device in a user namespace.
run: build $(PAGES)
ifeq ($(SUDO),)
	@tools/try.sh bin/zramfs $(SIZE)
else
	@$(GO) build -o bin/bench ./tools/bench
	@$(SUDO) bin/bench show -binary bin/zramfs
endif

# Real pages, from the memory of programs started for it; nothing is committed.
sample: $(PAGES)
$(PAGES):
	@mkdir -p $(@D)
	$(GO) run ./tools/pagesample -o $@

# The tests of DEVICES mount, attach loop devices, turn on swap or lock memory, and run one package
# after the other. Those of OTHERS compute; they run beside the former, with what processor time
# these leave.
DEVICES := /(integration|fusefs|loopsetup|tools/bench|internal/(ballast|command|control|daemon|helper|host|pmqos|prefetch|procpages|protect|require|swapdev|tune))$$
PACKAGES = $$($(GO) list ./... | grep -E '$(DEVICES)')
OTHERS  = $$($(GO) list ./... | grep / | grep -vE '$(DEVICES)|zramfs/zramfs$$')
BESIDE  := nice -n 19
TEST    = $(GO) test -vet=off -timeout 45m $(TESTFLAGS)
# Tests of package zramfs that build everything for each tag and platform; check has them.
BUILDS  := ^TestF0(80|88|93|94|95)

# All tests on this kernel and processor: what a newcomer runs.
test: compiled
	@echo 'test: usually 15 minutes on two processors; .cache/legs has all that it prints'
	@tools/legs.sh test-devices test-others

# Compiles what both parts of test need, which keeps each from doing it.
compiled: build $(PAGES)
	@echo build tests
	@$(GO) list -export -test -tags invariants -f '{{""}}' ./... >/dev/null

# The part of test that uses devices, on the program that was built where tests build no other.
test-devices: compiled
	ZRAMFS_BINARY=$(abspath bin/zramfs) $(TEST) -tags invariants -count=1 -p 1 -parallel 4 $(PACKAGES)

# The part of test that computes. Go answers from its cache for packages that did not change.
test-others: compiled
	$(BESIDE) $(GO) vet ./...
	$(BESIDE) $(TEST) -count=1 -skip '$(BUILDS)' .
	ZRAMFS_BINARY=$(abspath bin/zramfs) $(BESIDE) $(TEST) -tags invariants $(OTHERS)

# What uses devices beside what computes.
DEVICE_LEGS := test-devices race-devices bench-once explore-fixed
OTHER_LEGS  := lint test-others race-others test-cuda test-portable test-release oracle
# All that CI runs once .ci/run has prepared the machine.
check: compiled
	@tools/legs.sh "$(DEVICE_LEGS)" "$(OTHER_LEGS)"

# Format, modules, scripts, generated files, and builds for each tag and platform.
lint: build build-cuda
	@said=$$(gofmt -l $$(find . -name .cache -prune -o -name '*.go' -print) 2>&1) && test -z "$$said" || { echo "$$said" >&2; exit 1; }
	for m in . codec/_asm tools/codecbench tools/release tools/conform; do (cd $$m && $(GO) mod tidy -diff) || exit 1; done
	for f in .ci/run tools/*.sh gpu/*.sh; do bash -n $$f || exit 1; done
	cd tools/conform && $(GO) vet . && $(BESIDE) $(TEST) -count=1 .
	$(BESIDE) tools/generated.sh
	$(GO) version -m bin/zramfs | grep -q CGO_ENABLED=0
	CGO_ENABLED=0 GOARCH=arm64 $(BESIDE) $(GO) build -trimpath -o /dev/null ./cmd/...
	$(BESIDE) $(TEST) -count=1 -run '$(BUILDS)' .

# With the race detector, where goroutines meet: what one goroutine of a codec does is left out.
test-race: race-devices race-others

# Only where a goroutine is started can there be a race: in the package or in its tests.
STARTS := \bgo (func|[a-zA-Z.]+)\(|\.Go\(
RACED   = $$(grep -rlE '$(STARTS)' --include='*.go' store fusefs cmd internal loopsetup | xargs -n1 dirname | sort -u | sed 's,^,$(MODULE)/,')

race-devices: $(PAGES)
	$(TEST) -race -short -count=1 -p 1 $$(printf '%s\n' $(RACED) | grep -E '$(DEVICES)')

race-others: $(PAGES)
	$(BESIDE) $(TEST) -race -short -run '^TestF012|Lossless' ./codec ./codec/lz4 ./codec/page ./codec/zstd
	$(BESIDE) $(TEST) -race -short ./codec/bulk ./gpu ./gpu/driver ./gpu/ptx/sim
	$(BESIDE) $(TEST) -race -short -count=1 $$(printf '%s\n' $(RACED) | grep -vE '$(DEVICES)')

CUDA := GPU|Engine|Workshop|Runner|Bulk|Doctor

# With the build tag cuda, where a GPU is simulated or libcuda finds none.
test-cuda:
	CGO_ENABLED=0 $(BESIDE) $(TEST) -tags cuda -short -count=1 ./gpu/driver
	CGO_ENABLED=0 $(BESIDE) $(TEST) -tags cuda -short -count=1 -run '$(CUDA)' $$(grep -rlE '^func Test\w*($(CUDA))' --include='*_test.go' internal | xargs -n1 dirname | sort -u | sed 's,^,./,')
	CGO_ENABLED=0 $(BESIDE) $(TEST) -tags cuda -count=1 -run '^TestF036Million|^TestF050|^TestF054|^TestF087' ./gpu

# The codecs without assembly, for x86-64-v3, and on processors that are not here.
test-portable: $(PAGES)
	tools/portable.sh

ARCHES ?= amd64,arm64

# deb, rpm and apk, the container image, bill of materials and checksums, of the tree as it is.
# ARCHES=amd64 makes less. release makes the last commit twice, from nothing, and compares.
packages release: build-release
	bin/make-release $(if $(filter release,$@),release,make) -o bin/$@ -arch $(ARCHES)

build-release:
	@echo build make-release
	@cd tools/release && CGO_ENABLED=0 $(GO) build -trimpath -o $(abspath bin)/make-release .

# What packages and image contain, and how their scripts behave.
test-release:
	cd tools/release && $(GO) vet . && $(BESIDE) $(TEST) -count=1 .

PACKAGED := bin/test-packages
TWO_VERSIONS = for v in 1.0.0 1.0.1; do bin/make-release make -version v$$v -o $(PACKAGED)/$$v -arch $$($(GO) env GOARCH) || exit 1; done

# Installs, upgrades and removes packages of two versions, in a system that mmdebstrap makes from the
# sources of this one, while a device holds pages; apk where a static one is in PATH.
test-packages: build-release $(PACKAGED)/tree
	$(TWO_VERSIONS)
	$(GO) test -count=1 -timeout 20m -v -run '^TestSwapPackages' ./integration -packages $(abspath $(PACKAGED))

$(PACKAGED)/tree:
	mkdir -p $(PACKAGED)
	mmdebstrap --variant=apt --include=rpm $$(. /etc/os-release; echo $$VERSION_CODENAME) $@ $(wildcard /etc/apt/sources.list /etc/apt/sources.list.d/*.sources)

# In virtual machines, whose kernel comes from the mirror: slow where there is no /dev/kvm. Without
# -machines, as in CI, only those that take less than a minute.
test-guest: build build-release
	tools/get-guest.sh .cache/guest
	FLAVOUR=amd64 tools/get-guest.sh .cache/guest-zswap trixie
	tools/get-system.sh .cache/system
	$(TWO_VERSIONS)
	ZRAMFS_BINARY=$(abspath bin/zramfs) $(BESIDE) $(TEST) -count=1 -v -timeout 3h ./integration/guest -machines -packages $(abspath $(PACKAGED))

# Every benchmark once; what they measure is not looked at.
bench-once: build $(PAGES)
	$(GO) test -vet=off -run '^$$' -bench . -benchtime 1x ./codec/... ./store/...
	$(MAKE) bench BENCHFLAGS='-size 256M -rounds 1 -runtime 1s'
	$(MAKE) bench-store BENCHFLAGS='-size 64M -idle 2s -churn 1'
	$(MAKE) bench-codec ROUNDS=2

# Compares with kernel zram in the same run, as block devices and as swap; both need root.
# BENCHFLAGS is passed on: -rounds 1 -size 256M -runtime 1s is short for the former,
# -rounds 1 -limit 64M for the latter, which measures swap with three values of
# vm.page-cluster: about two minutes a round, and -page-clusters 0 a third of it. -workload zipf, or
# a trace as -workload internal/idlework/testdata/ages/build.gz, touches some pages again and again.
bench: bench-block

bench-block: build $(PAGES)
	$(GO) run ./tools/bench block -binary bin/zramfs $(BENCHFLAGS)

bench-swap: build $(PAGES)
	$(GO) run ./tools/bench swap -binary bin/zramfs $(BENCHFLAGS)

# Tests inputs that a fresh seed draws: WHAT="simulate sequences calls flips fuzz", and crash, soak and
# planted. SEED=7 FOR=1h are passed on, and what else tools/explore.sh has.
explore: build $(PAGES)
	tools/explore.sh $(or $(WHAT),simulate sequences calls flips fuzz)

# The part of explore that CI runs, from fixed seeds.
explore-fixed:
	$(BESIDE) env SEED=3 FOR=2m PROCESSES=1 SAMPLE=100 tools/explore.sh simulate sequences

# How long up takes until swap is on, beside kernel zram: four minutes for its 200 rounds.
bench-start: build
	$(GO) run ./tools/bench start -binary bin/zramfs $(BENCHFLAGS)

# The memory of a stored page over time, beside kernel zram: filled, idle, overwritten ten times, 80 %
# freed. It takes 20 minutes, and draws PLOT.
bench-store: build $(PAGES)
	$(GO) run ./tools/bench store -binary bin/zramfs -plot $(or $(PLOT),bin/memory.svg) $(BENCHFLAGS)

# Suites of others, built from SOURCES/ltp, SOURCES/blktests and SOURCES/xfstests, as root: hours. They
# run for the device and for a loop device on a tmpfs. SUITE=LTP, or a pattern, runs some of them.
# docs/suites.md has what came out.
SUITED := ^Test(Swap)?(Suite|F066KernelSelftests|F066LTP|F069ZramTools).*
suites: build $(PAGES)
	tools/get-suites.sh .cache/suites $(SOURCES)
	ZRAMFS_BINARY=$(abspath bin/zramfs) ZRAMFS_SUITES=$(abspath .cache/suites) ZRAMFS_REQUIRE=suites \
		$(GO) test -count=1 -v -timeout 8h -run '$(SUITED)$(SUITE)' ./integration

# Our codecs beside liblz4 and others; a module of its own, with cgo. ROUNDS=400
# measures longer than the 45 seconds of the default, BENCHFLAGS is passed on.
bench-codec: $(PAGES)
	cd tools/codecbench && ZRAMFS_PAGES=$(abspath $(PAGES)) $(GO) run . $(if $(ROUNDS),-rounds $(ROUNDS)) $(BENCHFLAGS)

# What we and liblz4 read of each other's, and of hostile input.
oracle: $(PAGES)
	cd tools/codecbench && $(GO) vet . && ZRAMFS_PAGES=$(abspath $(PAGES)) $(BESIDE) $(TEST) -count=1 .

# Runs the tests that docs/criteria.md names, and rewrites the states of their claims.
criteria: build $(PAGES)
	( $(GO) test -json -tags invariants -count=1 -p 1 -timeout 30m -run "$$($(GO) run ./tools/criteria -judges)" ./...; \
	  $(GO) test -json -race -count=1 -run '^TestF079' ./store ) | $(GO) run ./tools/criteria

# What tests cover of the statements, per package and in total, over the processes that they start
# too: an hour. It is a run of all tests, on programs that count.
coverage: build $(PAGES)
	tools/coverage.sh .cache/coverage collect -tags invariants -timeout 60m $(OTHERS)
	tools/coverage.sh .cache/coverage collect -tags invariants -timeout 60m -parallel 4 $(PACKAGES)
	tools/coverage.sh .cache/coverage report

# The assembly for amd64 is written by programs, one for each package, to the packages or below TO.
TO ?= $(abspath codec)
generate:
	cd codec/_asm && $(GO) vet ./... && for p in */; do p=$${p%/}; mkdir -p $(TO)/_asm $(TO)/$$p; \
		$(GO) run -exec 'env -C $(TO)/_asm' ./$$p -out ../$$p/$${p}_amd64.s -pkg $$p || exit 1; done

# The manifests from the Helm chart; lint compares digests. Helm's library takes two minutes to compile.
charts:
	cp dist/node-problem-detector/zramfs.* dist/helm/zramfs/files/
	cp dist/monitoring/alerts.yml dist/helm/zramfs/files/alerts.yaml
	cd tools/charttest && $(GO) run . render

# The chart by Helm, and chart, manifests and pods with a real API server: needs root, swap and
# etcd, and compiles kube-apiserver, which takes ten minutes, to .cache/kubernetes.
test-kubernetes: build charts
	tools/get-kubernetes.sh .cache/kubernetes
	cd tools/charttest && $(GO) mod tidy -diff && $(GO) vet ./... && ZRAMFS_KUBERNETES=$(abspath .cache/kubernetes) $(GO) test -count=1 -v -timeout 20m ./...
	ZRAMFS_BINARY=$(abspath bin/zramfs) $(GO) test -count=1 -v -timeout 20m -run '^Test(Swap)?Cluster' ./integration -kubernetes $(abspath .cache/kubernetes)

clean:
	rm -rf bin .cache
