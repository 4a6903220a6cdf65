// SPDX-License-Identifier: Apache-2.0

package zramctl

import "fmt"

// HelpText returns what --help prints; columns are lines that describe the columns.
func HelpText(columns string) string {
	return fmt.Sprintf(`
Usage:
 zramctl [options] <device>
 zramctl -r <device> [...]
 zramctl [options] -f | <device> -s <size>

Make, list and remove compressed devices of zramfs, as zramctl of util-linux does those of the kernel.

Options:
 -a, --algorithm <alg>     how to compress
 -b, --bytes               sizes in bytes
 -f, --find                name a device that does not exist yet; with -s make it
 -n, --noheadings          no headings
 -o, --output <list>       columns to print; +<list> adds them to the usual ones
     --output-all          print all columns
 -p, --algorithm-params <params>
                           parameters of the algorithm, as level=3
     --raw                 one blank between columns
 -r, --reset               remove the devices and what they store
 -s, --size <size>         size of the device
 -t, --streams <number>    accepted and without effect, as in the kernel

 -h, --help                print this help
 -V, --version             print the version

Devices:
 /dev/zram0 is the device at /run/zram, and /dev/zramN the one at /run/zramN; a loop device and a DIR
 name a device too. -f -s prints the loop device, for mkswap and swapon.
 <size> is a number with a unit: K, M, G or T of 1024, or KB and so on of 1000
 <alg> is adaptive, page, page:dense, lz4, zstd or raw

Columns:
%s
For more see zramfs(8) and zramfs list --help.
`, columns)
}
