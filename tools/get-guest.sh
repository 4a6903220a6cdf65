#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# get-guest.sh DIR [SUITE]: brings what the tests in integration/guest boot into DIR: the cloud kernel of Debian with its modules, and busybox, from
# the mirrors that apt's sources name. SUITE is another one of the same mirror, as bookworm-backports, whose kernel is newer. Nothing is installed,
# and apt's lists stay as they are. Then, for the tests: ZRAMFS_GUEST=DIR, or DIR is .cache/guest of the tree.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 DIR [SUITE]" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
suite=${2-}
if [ -f "$dir/vmlinuz" ] && [ -x "$dir/busybox" ]; then echo "$dir has $(ls "$dir/lib/modules") already"; exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/sources" "$work/root"
cp /etc/apt/sources.list.d/debian*.sources "$work/sources/" 2>/dev/null || true
grep -h debian /etc/apt/sources.list >"$work/sources/debian.list" 2>/dev/null || true
if [ -n "$suite" ]; then
	release=$(. /etc/os-release && echo "${VERSION_CODENAME:?this is no Debian release}")
	sed -i "s/^Suites: $release\( .*\)*$/Suites: $release $suite/" "$work"/sources/*.sources 2>/dev/null || true
	sed "s/ $release / $suite /" "$work/sources/debian.list" >"$work/sources/suite.list"
fi
apt() {
	command=$1
	shift
	"$command" -qq -oDir::Etc::sourcelist=/dev/null -oDir::Etc::sourceparts="$work/sources" -oDir::State::Lists="$work/lists" \
		-oDir::Cache="$work/cache" -oAcquire::Languages=none -oAPT::Sandbox::User=root "$@"
}
apt apt-get update
kernel=$(apt apt-cache ${suite:+-t "$suite"} show linux-image-cloud-amd64 | sed -n 's/^Depends: \(linux-image-[^ ]*\).*/\1/p' | sort -V | tail -n 1)
(cd "$work" && apt apt-get download "$kernel" busybox-static)
for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done
# Compressed ones would ask the guest's kernel for a decompressor.
find "$work/root" -name '*.ko.xz' -exec unxz {} +
rm -rf "$dir/lib"
mkdir -p "$dir/lib"
if [ -d "$work/root/usr/lib/modules" ]; then mv "$work/root/usr/lib/modules" "$dir/lib/"; else mv "$work/root/lib/modules" "$dir/lib/"; fi
find "$work/root" -type f -name busybox -exec mv {} "$dir/busybox" \;
mv "$work/root"/boot/vmlinuz-* "$dir/vmlinuz" # last, since it says that all is there
echo "$dir has $(ls "$dir/lib/modules")"
