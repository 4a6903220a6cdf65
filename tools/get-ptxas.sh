#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# get-ptxas.sh DIR: brings NVIDIA's assembler ptxas, and nvdisasm, into DIR, from the non-free part of the Debian mirror that the system's own apt
# sources name. Nothing is installed and the system's apt lists stay as they are. The licence lets everybody use these programs but not pass them
# on, so DIR must not be in what is committed or shipped. Then, for the tests: ZRAMFS_PTXAS=DIR/ptxas
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ ! -x "$dir/ptxas" ] || { echo "$dir/ptxas is there already"; exit 0; }

release=$(. /etc/os-release && echo "${VERSION_CODENAME:?this is no Debian release}")
# The first source whose suite is the release itself, in either of apt's formats: its address and what signs it.
find_source() {
	cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk -v release="$release" '
		function done() { if (uri != "" && found) { print uri, key; exit } uri = key = ""; found = 0 }
		/^$/ { done() }
		$1 == "URIs:" { uri = $2 }
		$1 == "Signed-By:" { key = $2 }
		$1 == "Suites:" { for (i = 2; i <= NF; i++) if ($i == release) found = 1 }
		END { done() }' | head -n 1
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | awk -v release="$release" '
		$1 == "deb" { sub(/\[[^]]*\] */, ""); if ($3 == release) { print $2; exit } }' | head -n 1
}
found=$(find_source | head -n 1)
uri=${found%% *} key=
case $found in *" "*) key=${found#* } ;; esac
[ -n "$uri" ] || { echo "apt's sources name no mirror for $release" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
{
	printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: non-free\n' "$uri" "$release"
	[ -z "$key" ] || printf 'Signed-By: %s\n' "$key"
} >"$work/nonfree.sources"
get() {
	apt-get -qq -oDir::Etc::sourcelist="$work/nonfree.sources" -oDir::Etc::sourceparts=- -oDir::State::Lists="$work/lists" \
		-oDir::Cache="$work/cache" -oAcquire::Languages=none -oAPT::Sandbox::User=root "$@"
}
get update
(cd "$work" && get download nvidia-cuda-toolkit)
dpkg-deb --fsys-tarfile "$work"/nvidia-cuda-toolkit_*.deb | tar -x -C "$work/root" ./usr/bin/ptxas ./usr/bin/nvdisasm
mv "$work/root/usr/bin/ptxas" "$work/root/usr/bin/nvdisasm" "$dir"
"$dir/ptxas" --version | tail -n 2
