// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io/fs"
	"testing"
	"time"
)

func TestSwap(t *testing.T) {
	r := tree(t, map[string]string{
		"proc/meminfo":                      "SwapCached: 1 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n",
		"sys/block/loop3/loop/backing_file": "/zram0\n",
		"sys/block/sda/size":                "0\n",
	})
	if got, want := r.SwapUse(), (SwapUse{Total: 100 << 10, Used: 60 << 10, Cached: 1 << 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := tree(t, nil).SwapUse(); got != (SwapUse{}) {
		t.Errorf("without meminfo: %+v", got)
	}
	if path, err := r.LoopBackingFile("/dev/loop3"); path != "/zram0" || err != nil {
		t.Errorf("backing file %q, %v", path, err)
	}
	if _, err := r.LoopBackingFile("/dev/sda"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a disk: %v", err)
	}
	if _, err := r.SwapTable(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a kernel without swap: %v", err)
	}
	if !r.HasSys() || r.HasProc() {
		t.Error("HasSys, HasProc")
	}
}

// The memory of zswap is its pool, and 80 bytes for each page.
func TestZswapUse(t *testing.T) {
	r := tree(t, map[string]string{"proc/meminfo": "Zswap: 100 kB\nZswapped: 400 kB\n", "proc/vmstat": "zswpin 5\nzswpout 107\nzswpwb 2\n"})
	want := ZswapUse{Held: 400 << 10, Pool: 100 << 10, Loads: 5, Stores: 107, WrittenBack: 2}
	if got := r.ZswapUse(); got != want || got.Memory() != 100<<10+100*80 {
		t.Errorf("%+v, %d bytes, want %+v", got, got.Memory(), want)
	}
	if got := tree(t, nil).ZswapUse(); got != (ZswapUse{}) || got.Memory() != 0 {
		t.Errorf("without zswap: %+v", got)
	}
}

func TestBlockTimes(t *testing.T) {
	r := tree(t, map[string]string{
		"sys/block/loop3/stat": "    1310        1    10480       52      200        0    25600       81        0       60      133        9        0        0        0\n",
		"sys/block/loop4/stat": "1 2\n",
	})
	want := BlockTimes{Reads: 1310, Writes: 200, ReadTime: 52 * time.Millisecond, WriteTime: 81 * time.Millisecond}
	if got, err := r.BlockTimes("/dev/loop3"); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got := want.Plus(want); got.Reads != 2620 || got.WriteTime != 162*time.Millisecond {
		t.Errorf("twice: %+v", got)
	}
	for _, name := range []string{"/dev/loop4", "/dev/loop5"} {
		if got, err := r.BlockTimes(name); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
