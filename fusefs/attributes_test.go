// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// TestStatFormats compares with lines of a kernel's zram that held the same.
func TestStatFormats(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"mm_stat, new": {mmStat(store.Stats{}), "       0        0        0        0        0        0        0        0        0\n"},
		"io_stat, new": {ioStat(store.Stats{}), "       0        0 0        0\n"},
		"debug_stat":   {debugStat(store.Stats{}), "version: 1\n0        0\n"},
		"bd_stat, new": {bdStat(store.Stats{}), "       0        0        0\n"},
		"bd_stat":      {bdStat(store.Stats{WrittenBack: 1, BackingReads: 123456789, BackingWrites: 30}), "       1 123456789       30\n"},
		"stat, new": {blockStat(store.Stats{}, 0), "       0        0        0        0        0        0        0        0        0        0        0" +
			"        0        0        0        0        0        0\n"},
		"stat": {blockStat(store.Stats{Reads: 3, Writes: 1234567, NotifyFree: 2}, 5), "       3        0       24        0  1234567        0  9876536        0" +
			"        5        0        0        2        0       16        0        0        0\n"},
		"decimal":       {decimal(17179869184), "17179869184\n"},
		"decimal, zero": {decimal(0), "0\n"},
		"mm_stat": {
			mmStat(store.Stats{
				OrigDataSize: 181927936, ComprDataSize: 57356288, MemUsedTotal: 64487424, MemLimit: 4096, MemUsedMax: 106221568,
				SamePages: 3992, PagesCompacted: 17, HugePages: 123456789, HugePagesSince: 1234567890,
			}),
			"181927936 57356288 64487424     4096 106221568     3992       17 123456789 1234567890\n",
		},
		"io_stat": {
			ioStat(store.Stats{FailedReads: store.ErrorCount{Count: 1}, FailedWrites: store.ErrorCount{Count: 123456789}, NotifyFree: 512}),
			"       1 123456789 0      512\n",
		},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", name, c.got, c.want)
		}
	}
}

func TestCompAlgorithm(t *testing.T) {
	for setting, want := range map[string]string{
		"adaptive":                "[adaptive] page page:dense lz4 lz4:fast zstd raw \n",
		"adaptive:entropy":        "[adaptive:entropy] page page:dense lz4 lz4:fast zstd raw \n",
		"page":                    "adaptive [page] page:dense lz4 lz4:fast zstd raw \n",
		"page:dense":              "adaptive page [page:dense] lz4 lz4:fast zstd raw \n",
		"page:dense:simd=generic": "adaptive page [page:dense:simd=generic] lz4 lz4:fast zstd raw \n",
		"lz4":                     "adaptive page page:dense [lz4] lz4:fast zstd raw \n",
		"lz4:fast":                "adaptive page page:dense lz4 [lz4:fast] zstd raw \n",
		"lz4:fast:simd=generic":   "adaptive page page:dense lz4 [lz4:fast:simd=generic] zstd raw \n",
		"zstd":                    "adaptive page page:dense lz4 lz4:fast [zstd] raw \n",
		"zstd(level=7)":           "adaptive page page:dense lz4 lz4:fast [zstd(level=7)] raw \n",
		"raw":                     "adaptive page page:dense lz4 lz4:fast zstd [raw] \n",
	} {
		algorithm, err := codec.Parse(setting)
		if err != nil {
			t.Fatal(err)
		}
		if got := compAlgorithm(algorithm); got != want {
			t.Errorf("%s shows as %q, want %q", setting, got, want)
		}
	}
}
