// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The swap tests depend on what the memory client notices: here a flipped bit, a page in the place
// of another, an older round of a page, and a page that cannot be read. The last is the end of a
// mapping whose file was cut, which raises the same signal as a failed read from swap.
func TestSwapCheckerNoticesEveryDamage(t *testing.T) {
	const count = 8
	file, err := os.CreateTemp(tempDir(t), "memory-")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(count * memoryPage); err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, count*memoryPage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	base, err := loadBase(sourceMix)
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{memory: memory, rounds: make([]uint64, count), base: base}
	for n := range h.rounds {
		h.write(n)
	}
	for n := range h.rounds {
		if err := h.check(n); err != nil {
			t.Errorf("without damage: %v", err)
		}
	}

	h.page(1)[4095] ^= 1
	copy(h.page(3), h.page(2))
	h.rounds[5]++
	if err := file.Truncate((count - 1) * memoryPage); err != nil {
		t.Fatal(err)
	}
	for n, words := range []string{1: "page 1, round 1, is wrong from byte 4095 on", 3: "its stamp says page 2, round 1",
		5: "page 5, round 2, is wrong", 7: "page 7, round 1, is lost"} {
		err := h.check(n)
		if words == "" && err != nil || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("page %d: %v, the damage is %q", n, err, words)
		}
	}
}
