#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# get-system.sh DIR: brings what tests in integration/guest boot with systemd, OpenRC and runit into DIR: a disk with a small Debian that has all three,
# and a newer kernel than get-guest.sh brings. It needs root and mmdebstrap. Then, for the tests: ZRAMFS_SYSTEM=DIR, or DIR is .cache/system of the tree.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
suite=trixie # a kernel of its backports has request timeouts of FUSE
mkdir -p "$1"
dir=$(cd "$1" && pwd)
if [ -f "$dir/root.ext4" ]; then echo "$dir has a system with Linux $(ls "$dir/lib/modules") already"; exit 0; fi

"$(dirname "$0")/get-guest.sh" "$dir" $suite $suite-backports
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Label: Debian' | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(ls "$dir/lib/modules")
# systemd-sysv would conflict with what the others need; the tests start each as process 1 by its own name.
mmdebstrap --quiet --variant=essential --include=systemd,dbus,udev,kmod,procps,openrc,insserv,runit,initscripts,getty-run \
	--aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io --customize-hook="copy-in $dir/lib/modules /usr/lib" \
	--customize-hook="chroot \"\$1\" depmod $version" --customize-hook='tr -d - </proc/sys/kernel/random/uuid >"$1/etc/machine-id"' \
	--customize-hook='mkdir -p "$1/var/log/journal"' $suite "$work/root" "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?run apt-get update first} $suite main"
truncate -s 1G "$work/root.ext4"
mke2fs -q -t ext4 -O ^has_journal -d "$work/root" "$work/root.ext4"
cp --sparse=always "$work/root.ext4" "$dir/root.ext4.new"
mv "$dir/root.ext4.new" "$dir/root.ext4" # last, since it says that all is there
echo "$dir has a system with Linux $version"
