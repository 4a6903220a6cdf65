#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# get-suites.sh DIR SOURCES: builds into DIR the suites of others that TestSuite and TestSwapSuite in ./integration run: the Linux Test Project, blktests and xfstests,
# from git repositories or source trees SOURCES/ltp, SOURCES/blktests and SOURCES/xfstests; the kernel's selftests of zram and zram-tools, from Debian packages.
# What is not in SOURCES, and what DIR has, is left alone. What a suite needs to be built or to run is named and not installed. Each suite's version is in its file
# .version. Then, for the tests: ZRAMFS_SUITES=DIR, or DIR is .cache/suites of the tree.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 DIR SOURCES" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
sources=$(cd "$2" && pwd)
jobs=${JOBS:-1}

lacking=()
for pair in gcc:gcc make:make automake:automake libtoolize:libtool pkg-config:pkg-config bc:bc gawk:gawk setfacl:acl setfattr:attr mkfs.xfs:xfsprogs \
	stress-ng:stress-ng memtester:memtester fio:fio quota:quota mkswap:util-linux mkfs.ext4:e2fsprogs; do
	command -v "${pair%%:*}" >/dev/null || lacking+=("${pair##*:}")
done
for pair in xfs/xfs.h:xfslibs-dev sys/acl.h:libacl1-dev libaio.h:libaio-dev sys/capability.h:libcap-dev uuid/uuid.h:uuid-dev; do
	[ -f "/usr/include/${pair%%:*}" ] || lacking+=("${pair##*:}")
done
# Under parted a loop device gets partitions, and without udev a test of LTP waits for their nodes for ever.
[ "${#lacking[@]}" -eq 0 ] || { echo "first: apt-get install --no-install-recommends ${lacking[*]}" >&2; exit 1; }

# take NAME: copies the tree of a suite to DIR/NAME.tmp, where there is one and it is not there yet.
take() {
	if [ -f "$dir/$1/.version" ]; then echo "$1: $(cat "$dir/$1/.version"), built before"; return 1; fi
	if [ ! -d "$sources/$1" ]; then echo "$1: left out, $sources/$1 is not there"; return 1; fi
	rm -rf "$dir/$1" "$dir/$1.tmp"
	if git -C "$sources/$1" rev-parse --git-dir >/dev/null 2>&1; then
		git -c safe.directory='*' clone -q --shared "$sources/$1" "$dir/$1.tmp"
		git -C "$dir/$1.tmp" log -1 --abbrev=12 --format='%h of %cs' >"$dir/$1.version"
	else
		cp -a "$sources/$1" "$dir/$1.tmp"
		echo "a tree without a version" >"$dir/$1.version"
	fi
}
# built NAME: gives a suite its name, last, since that says that all is there.
built() {
	mv "$dir/$1.version" "$dir/$1.tmp/.version"
	mv "$dir/$1.tmp" "$dir/$1"
	echo "$1: $(cat "$dir/$1/.version")"
}
# step NAME COMMAND...: runs a step of a build with its words in a file, and shows their end if it fails.
step() {
	local log=$dir/$1.log
	shift
	"$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "failed: $* (all of it: $log)" >&2; exit 1; }
}

if take ltp; then
	cd "$dir/ltp.tmp"
	step ltp make autotools
	step ltp ./configure --without-tirpc
	step ltp make -j "$jobs" -C lib
	step ltp make -j "$jobs" -C libs
	for part in testcases/lib testcases/kernel/syscalls/{swapon,swapoff,ioctl} testcases/kernel/mem/swapping testcases/kernel/device-drivers/zram testcases/kernel/fs/fsx-linux; do
		step ltp make -j "$jobs" -C "$part"
	done
	built ltp
fi
if take blktests; then
	cd "$dir/blktests.tmp"
	step blktests make -j "$jobs"
	built blktests
fi
if take xfstests; then
	cd "$dir/xfstests.tmp"
	step xfstests make configure
	step xfstests ./configure
	step xfstests make -j "$jobs"
	built xfstests
fi

# unpack NAME PACKAGE PATH...: takes files out of a package of Debian's and installs nothing.
unpack() {
	local name=$1 package=$2
	shift 2
	if [ -f "$dir/$name/.version" ]; then echo "$name: $(cat "$dir/$name/.version"), there before"; return 0; fi
	local work
	work=$(mktemp -d "$dir/unpack.XXXXXX")
	if (cd "$work" && apt-get download -qq -oAPT::Sandbox::User=root "$package") && dpkg -x "$work"/*.deb "$work/root"; then
		"$@" "$work/root" "$dir/$name"
		dpkg-deb -f "$work"/*.deb Package Version | cut -d' ' -f2 | paste -sd' ' >"$dir/$name/.version"
		echo "$name: $(cat "$dir/$name/.version")"
	else
		echo "$name: left out, no package $package"
	fi
	rm -rf "$work"
}
whole() { mv "$1" "$2"; }
selftests() {
	mkdir -p "$2"
	tar -xf "$1"/usr/src/linux-source-*.tar.xz -C "$2" --strip-components=5 --wildcards '*/tools/testing/selftests/zram/*'
}
unpack zram-tools zram-tools whole
unpack uuid-runtime uuid-runtime whole # mkswap01 runs uuidgen; installed, the package starts a service
source=$(apt-cache depends linux-source 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }')
unpack zram "${source:-linux-source}" selftests
