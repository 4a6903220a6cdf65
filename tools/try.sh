#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# try.sh PROGRAM SIZE: shows the device to someone who may not swap. In a user
# namespace it is mounted, 64 MiB of files are written to it, read back and
# compared. Nothing stays.
set -eu
program=$(realpath "$1") size=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find /usr/bin /usr/lib -type f -readable -size +16k 2>/dev/null | head -n 2000 | tr '\n' '\0' |
	xargs -0 cat 2>/dev/null | head -c 67108864 >"$work/in" || true

unshare --user --map-root-user --mount timeout 60 sh -eu -c '
	program=$1 size=$2 work=$3
	"$program" mount --size "$size" "$work/zram"
	trap "\"$program\" umount \"$work/zram\"" EXIT
	dd if="$work/in" of="$work/zram/dev/zram0" bs=1M conv=notrunc,fsync status=none
	dd if="$work/zram/dev/zram0" bs=1M count="$(stat -c %s "$work/in")" iflag=count_bytes status=none | cmp - "$work/in"
	echo "$(stat -c %s "$work/in") bytes written, read back and compared: equal"
	"$program" list "$work/zram"
	echo "This was a look without swap; as root, make run shows it with swap."
' try "$program" "$size" "$work"
