#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# get-guest.sh DIR [SUITE...]: brings what the tests in integration/guest boot into DIR: the cloud kernel of Debian with its modules, and busybox,
# from the mirrors that apt's sources name. SUITEs of the same mirror, as trixie and trixie-backports, take the place of this machine's; the newest kernel
# of all is taken. FLAVOUR=amd64 takes the kernel for hardware, which has zswap, in place of the cloud kernel. Nothing is installed, and apt's lists stay
# as they are. Then, for the tests: ZRAMFS_GUEST=DIR, or DIR is .cache/guest of the tree; with FLAVOUR=amd64 ZRAMFS_GUEST_ZSWAP, or DIR is .cache/guest-zswap.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 DIR [SUITE...]" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
if [ -f "$dir/vmlinuz" ] && [ -x "$dir/busybox" ]; then echo "$dir has $(ls "$dir/lib/modules") already"; exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/sources" "$work/root"
if [ $# -eq 0 ]; then
	cp /etc/apt/sources.list.d/debian*.sources "$work/sources/" 2>/dev/null || true
	grep -h debian /etc/apt/sources.list >"$work/sources/debian.list" 2>/dev/null || true
fi
for suite; do
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' | head -n 1)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?run apt-get update first} $suite main" >>"$work/sources/debian.list"
done
apt() {
	command=$1
	shift
	"$command" -qq -oDir::Etc::sourcelist=/dev/null -oDir::Etc::sourceparts="$work/sources" -oDir::State::Lists="$work/lists" \
		-oDir::Cache="$work/cache" -oAcquire::Languages=none -oAPT::Sandbox::User=root "$@"
}
apt apt-get update
newest() { apt apt-cache show "$1" | grep -o "^Depends: .*" | grep -oE "$2" | sort -uV; }
kernel=$(newest "linux-image-${FLAVOUR:-cloud-amd64}" 'linux-image-[^ ,]+' | tail -n 1)
# Later kernels are in several packages.
(cd "$work" && apt apt-get download "$kernel" $(newest "$kernel" 'linux-(binary|modules|base)-[0-9][^ ,]*') busybox-static)
for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done
# Compressed ones would ask the guest's kernel for a decompressor.
find "$work/root" -name '*.ko.xz' -exec unxz {} +
rm -rf "$dir/lib"
mkdir -p "$dir/lib"
if [ -d "$work/root/usr/lib/modules" ]; then mv "$work/root/usr/lib/modules" "$dir/lib/"; else mv "$work/root/lib/modules" "$dir/lib/"; fi
find "$work/root" -type f -name busybox -exec mv {} "$dir/busybox" \;
find "$work/root" "$dir/lib/modules" -name 'vmlinuz*' -exec mv {} "$dir/vmlinuz" \; # last, since it says that all is there
echo "$dir has $(ls "$dir/lib/modules")"
