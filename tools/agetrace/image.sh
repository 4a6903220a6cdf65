#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# image.sh FILE: makes FILE the root file system, of type ext4, of a machine that runs the
# workloads: sqlite3, node and Go of this machine, and busybox of .cache/guest.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FILE" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bin" "$tree/usr/bin" "$tree/usr/local/go/pkg/tool" "$tree/var/tmp" "$tree/workloads"
for empty in proc sys dev run tmp root sbin; do mkdir "$tree/$empty"; done
cp "$here"/workloads/* "$tree/workloads/"
cp "$here/../../.cache/guest/busybox" "$tree/bin/"
"$tree/bin/busybox" --list | while read -r name; do [ "$name" = busybox ] || ln -s busybox "$tree/bin/$name"; done
for program in sqlite3 node; do
	path=$(readlink -f "$(command -v "$program")")
	cp "$path" "$tree/usr/bin/$program"
	ldd "$path" | grep -oE '/[^ ]+' | while read -r library; do mkdir -p "$tree$(dirname "$library")" && cp -L "$library" "$tree$library"; done
done
go=$(go env GOROOT)
cp -r "$go/bin" "$go/go.env" "$go/VERSION" "$tree/usr/local/go/"
cp -r "$go/pkg/include" "$tree/usr/local/go/pkg/"
cp -r "$go/pkg/tool/linux_amd64" "$tree/usr/local/go/pkg/tool/"
(cd "$go" && find src -type f ! -path 'src/cmd/*' ! -path '*/testdata/*' ! -name '*_test.go' | cpio -pdm --quiet "$tree/usr/local/go")
rm -f "$1"
mke2fs -q -t ext4 -m 0 -d "$tree" "$1" 1500M
