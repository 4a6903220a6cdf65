// SPDX-License-Identifier: Apache-2.0

// Package pagefile reads and writes files of sampled memory pages.
//
// Such a file holds memory of real programs, so that tests and benchmarks see the
// data that a swap device sees. tools/pagesample makes one; nothing sampled is
// ever committed. A file sampled from programs that hold secrets holds them too.
//
// # Format
//
// All numbers are little-endian. The header is padded with zeros to a multiple of
// 4096 bytes, so that the pages are aligned in the file.
//
//	offset  size  what
//	0       8     magic "ZRPAGES\n"
//	8       4     version, 1
//	12      4     page size, 4096
//	16      4     header length in bytes, a multiple of 4096
//	20      4     number of programs
//	24            for each program: 1 byte name length, the name (UTF-8),
//	              4 bytes number of pages
//	header        the pages, program after program in the header's order
//	end-4   4     CRC-32C of everything before
package pagefile
