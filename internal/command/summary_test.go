// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// smallSummary is the summary of a device of 1 GiB used as swap.
func smallSummary(t *testing.T, limit uint64, said *swapdev.Narration) summary {
	t.Helper()
	algorithm, err := codec.Parse("adaptive")
	if err != nil {
		t.Fatal(err)
	}
	s := newSummary(zramfsd.Config{Dir: "/run/zram", Disksize: 1 << 30, MemLimit: limit, Algorithm: algorithm},
		&status.Report{Dir: "/run/zram", Disksize: 1 << 30},
		swapdev.Device{SwapUse: swapdev.SwapUse{Slots: swapdev.SlotsProcess{PID: 44, Memory: 3 << 20}},
			Status: &status.Status{Memory: status.Memory{MemUsedTotal: 6 << 20, ReserveBytes: 4 << 20}, ProcessMemoryBytes: 25 << 20}}, said)
	priority := 100
	s.Loops, s.Priority = []string{"/dev/loop0"}, &priority
	return s
}

// up prints four lines: the device, its cost, the warnings, the next commands.
func TestSummary(t *testing.T) {
	said := &swapdev.Narration{}
	if err := swapdev.PrintProtections(said, []status.Protection{
		{Name: status.NameOOM, State: status.Warn, Detail: "the OOM killer may kill it: run with CAP_SYS_RESOURCE"},
		{Name: status.NameCore, State: status.OK, Detail: "core dumps are off"},
		{Name: status.NameIOFlusher, State: status.Warn, Detail: "taking memory may wait: run with CAP_SYS_RESOURCE"},
	}); err != nil {
		t.Fatal(err)
	}
	s := smallSummary(t, 0, said)
	want := "1G of compressed swap is on: /dev/loop0, priority 100, algorithm adaptive\n" +
		"  memory   34M taken: 6M store + 25M processes + 3M slots; at worst 1G when full: no --mem-limit\n" +
		"  warning  the OOM killer may kill it; taking memory may wait: run with CAP_SYS_RESOURCE\n" +
		"watch: zramfs top      end: zramfs down\n"
	got := s.swapText() + s.memoryText() + s.warningText() + s.nextText("down")
	if got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
	if want := uint64((1<<30/pageSize)*estimate.PageCost(pageSize)) + 4<<20 + 28<<20; s.Memory.Worst != want || s.Memory.Now != 34<<20 {
		t.Errorf("at worst %d bytes, now %d, want %d, %d", s.Memory.Worst, s.Memory.Now, want, 34<<20)
	}
	s = smallSummary(t, 256<<20, &swapdev.Narration{})
	if got := s.memoryText(); !strings.Contains(got, "at most 284M when full: --mem-limit 256M") {
		t.Errorf("with a limit: %q", got)
	}
	if s = newSummary(zramfsd.Config{}, &status.Report{Dir: "/run/zram"}, swapdev.Device{}, &swapdev.Narration{Warnings: []string{"no cure", "a: b"}}); s.memoryText() != "" {
		t.Errorf("without a status: %q", s.memoryText())
	}
	if want := []string{"no cure", "a: b"}; !slices.Equal(s.Warnings, want) {
		t.Errorf("warnings %q, want %q", s.Warnings, want)
	}
	s.Dir = "/run/a b"
	if got := s.nextText("umount"); got != "watch: zramfs top '/run/a b'      end: zramfs umount '/run/a b'\n" {
		t.Errorf("elsewhere: %q", got)
	}
}

// A size or a limit beyond RAM is a warning.
func TestSizesBeyondRAM(t *testing.T) {
	const ram = 8 << 30
	for _, test := range []struct {
		size, limit uint64
		words       []string // one in each warning
	}{
		{4 << 30, 0, nil},
		{16 << 30, 2 << 30, nil},
		{ram, ram, nil},
		{16 << 30, ram, nil},
		{16 << 30, 0, []string{"the size of 16G is more than RAM (8G)"}},
		{4 << 30, 9 << 30, []string{"the memory limit of 9G is more than RAM (8G)"}},
		{16 << 30, 9 << 30, []string{"limit of 9G", "size of 16G"}},
		{100 << 30, 2 << 30, nil},
		{1 << 40, 2 << 30, []string{"swap of 1T costs the kernel 838.9M for its own tables, used or not"}},
	} {
		got := sizesBeyond(test.size, test.limit, ram)
		if !slices.EqualFunc(got, test.words, strings.Contains) {
			t.Errorf("%d in %d: %q, want %q", test.size, test.limit, got, test.words)
		}
	}
}
