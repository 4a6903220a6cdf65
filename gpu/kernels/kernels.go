// SPDX-License-Identifier: Apache-2.0

package kernels

import "github.com/zramfs/zramfs/gpu/ptx"

// A Kernel is one of this package's programs.
type Kernel struct {
	Name  string                      // for launching
	Build func() (*ptx.Kernel, error) // makes it; an error is a defect of this package
	// PagesPerBlock is how many pages a block works on at a time.
	PagesPerBlock int
}

// All returns the kernels of this package, in the order of their names.
func All() []Kernel {
	return []Kernel{
		{"lz4_compress", LZ4Compress, compressWarpsPerBlock},
		{"lz4_decompress", LZ4Decompress, lz4WarpsPerBlock},
		{"lz4_prove", LZ4Prove, lz4WarpsPerBlock},
		{"lz4_verify", LZ4Verify, lz4WarpsPerBlock},
		{"page_decompress", PageDecompress, pageWarpsPerBlock},
		{"page_verify", PageVerify, pageWarpsPerBlock},
	}
}
