#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# record.sh writes zramctl.txt beside it and sizes.txt of package term: what the real zramctl and lsblk print, for the tests to compare
# with. It needs root, the zram module, util-linux and e2fsprogs, and that nobody else uses zram meanwhile. It hot-adds
# two devices and removes them.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d /tmp/zr-XXXXXX)
export LC_ALL=C.UTF-8
a=$(cat /sys/class/zram-control/hot_add)
b=$(cat /sys/class/zram-control/hot_add)
loop=
cleanup() {
	grep -q "^/dev/zram$b " /proc/self/mounts && umount "/dev/zram$b"
	[ -z "$loop" ] || losetup -d "$loop"
	for n in $a $b; do
		echo 1 >/sys/block/zram$n/reset
		echo $n >/sys/class/zram-control/hot_remove
	done
	rm -rf "$work"
}
trap cleanup EXIT

# fill DEVICE COUNT: COUNT compressible pages, half as many random ones, 100 same-filled ones
fill() {
	yes 'compressible' | tr -d '\n' | dd of="$1" bs=4096 count="$2" iflag=fullblock oflag=direct status=none
	dd if=/dev/urandom of="$1" bs=4096 count=$(($2 / 2)) seek="$2" iflag=fullblock oflag=direct status=none
	dd if=/dev/zero of="$1" bs=4096 count=100 seek=$(($2 * 2)) oflag=direct status=none
}

setup() { # NUMBER ALGORITHM DISKSIZE
	echo "$2" >/sys/block/zram$1/comp_algorithm
	echo "$3" >/sys/block/zram$1/disksize
}

device() { # NUMBER [MOUNTPOINT]: a line of what the kernel says
	s=/sys/block/zram$1
	echo "# device /dev/zram$1 $(cat $s/disksize) $(sed 's/.*\[\(.*\)\].*/\1/' $s/comp_algorithm)" \
		$(cat $s/mm_stat) "${2-}"
}

run() { # WIDTH ARGUMENTS: on a terminal that wide, or on none for 0
	width=$1
	shift
	echo "# $width $*"
	if [ "$width" = 0 ]; then
		zramctl "$@"
	else
		script -qec "stty cols $width; zramctl $*" /dev/null </dev/null | tr -d '\r'
	fi
}

plain() {
	for args in "" "-b" "-n" "--raw" "--raw -n" "--raw -b" "--output-all" "--output-all -b" "--output-all --raw" \
		"-o NAME,DATA" "-o data,name,mountpoint" "-n -o MOUNTPOINT" "-o DATA" "-o NAME,NAME,COMPR" \
		"-o ALGORITHM,MIGRATED,MEM-LIMIT"; do
		run 0 $args
	done
}

narrow() {
	for width in 200 120 100 90 80 66 60 40 20; do
		run $width
		run $width --output-all
		run $width -n -o NAME,MOUNTPOINT,DATA
		run $width -o MOUNTPOINT,NAME
	done
}

mounted() { # NAME: of the mount point
	mkdir -p "$work/$1"
	mount /dev/zram$b "$work/$1"
	echo "# devices"
	device $b "$work/$1"
	run 0
	run 0 --raw
	run 0 -o MOUNTPOINT,NAME
	run 40 -o NAME,MOUNTPOINT
	[ "${2-}" = "" ] || $2
	umount "$work/$1"
}

tables() {
	echo "# What zramctl prints, recorded by record.sh: devices with mm_stat and mount point, then for each run the width of"
	echo "# the terminal (0 for none) and the arguments, then the output. $(zramctl --version)."
	setup $a lz4 1G
	fill /dev/zram$a 2777
	echo 256M >/sys/block/zram$a/mem_limit
	echo "# devices"
	device $a
	plain
	narrow
	setup $b lzo-rle 64M
	echo "# devices" # in zramctl's order, which is that of a directory: the newest first
	device $b
	device $a
	plain
	run 60
	echo 1 >/sys/block/zram$a/reset
	mkfs.ext2 -q /dev/zram$b
	mounted 'a rather long one with blanks/and deeper/and deeper' narrow
	for name in 'back\slash' 'back\xab' 'umläut' '日本' 'tab	here'; do
		mounted "$name"
	done
}

sizes() {
	echo "# Bytes and what zramctl prints for them, recorded by record.sh through mem_limit of a kernel zram; sizes that"
	echo "# are no whole pages through lsblk, of a loop device. $(zramctl --version)."
	for exponent in 12 20 30 40 50 60; do
		for factor in 1 2 4 9 10 1023; do
			[ $exponent -lt 60 ] || [ $factor -le 4 ] || continue
			for share in 0 1 49 50 51 94 95 96 349 350 949 950 951 999; do
				unit=$((1 << exponent))
				for n in $((factor * unit + unit / 1000 * share)) $((factor * unit + unit / 1000 * share + 4096)); do
					echo $n >/sys/block/zram$b/mem_limit
					echo "$(zramctl -bno MEM-LIMIT /dev/zram$b) $(zramctl -no MEM-LIMIT /dev/zram$b)"
				done
			done
		done
	done | sort -nu
	truncate -s 512 "$work/file"
	loop=$(losetup -f --show "$work/file")
	for n in 512 1024 1536 2560 51712 52224 52736 1048064 1049088 1073741312 1099511627264 1100800 1101312; do
		truncate -s $n "$work/file"
		losetup -c "$loop"
		echo "$(lsblk -bdnro SIZE "$loop") $(lsblk -dnro SIZE "$loop")"
	done
	losetup -d "$loop"
	loop=
}

tables >zramctl.txt
sizes >../../term/testdata/sizes.txt
