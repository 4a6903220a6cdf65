#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# get-nvidia.sh DIR [ptxas] [libcuda]: brings what tests need of NVIDIA's into DIR, from the non-free part of the Debian mirror that the system's own apt
# sources name: the assembler ptxas, with nvdisasm, and the driver's library libcuda, which needs no GPU to say that there is none. Without a name
# it is the former alone. Nothing is installed and the system's apt lists stay as they are. The licence lets everybody use these programs but
# not pass them on, so DIR must not be in what is committed or shipped. Then, for the tests: ZRAMFS_PTXAS=DIR/ptxas, ZRAMFS_LIBCUDA=DIR
set -eu
[ $# -ge 1 ] || { echo "usage: $0 DIR [ptxas] [libcuda]" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
wanted=
for name in "${@:-ptxas}"; do
	case $name in
	ptxas) file=ptxas ;;
	libcuda) file=libcuda.so.1 ;;
	*) echo "$0 knows ptxas and libcuda, not $name" >&2; exit 2 ;;
	esac
	if [ -x "$dir/$file" ]; then echo "$dir/$file is there already"; else wanted="$wanted $name"; fi
done
[ -n "$wanted" ] || exit 0

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
# fetch PACKAGE PATTERN... unpacks those files of a package.
fetch() {
	package=$1
	shift
	(cd "$work" && get download "$package")
	dpkg-deb --fsys-tarfile "$work/$package"_*.deb | tar -x -C "$work/root" --wildcards "$@"
}
for name in $wanted; do
	case $name in
	ptxas)
		fetch nvidia-cuda-toolkit ./usr/bin/ptxas ./usr/bin/nvdisasm
		mv "$work/root/usr/bin/ptxas" "$work/root/usr/bin/nvdisasm" "$dir"
		"$dir/ptxas" --version | tail -n 2
		;;
	libcuda)
		fetch libcuda1 './usr/lib/*/libcuda.so.*'
		# The package names the library by its release; programs look for it as libcuda.so.1.
		find "$work/root/usr/lib" -name 'libcuda.so.*' -type f -exec mv {} "$dir/libcuda.so.1" \;
		chmod 755 "$dir/libcuda.so.1"
		echo "libcuda.so.1 of $(ls -l "$dir/libcuda.so.1" | awk '{print $5}') bytes"
		;;
	esac
done
