// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/store"
)

// A worker may take longer to open an image the more is stored in it.
func TestOpenTime(t *testing.T) {
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	if memory.File() == nil {
		t.Skip("with the race detector an image has no file")
	}
	i := &image{memory: memory}
	defer func() {
		if err := i.close(nil); err != nil {
			t.Error(err)
		}
	}()
	if err := memory.File().Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 8 << 20} {
		if _, err := memory.File().WriteAt(make([]byte, n), 1<<20); err != nil {
			t.Fatal(err)
		}
		for _, begun := range []bool{false, true} {
			i.begun.Store(begun)
			want := time.Duration(0)
			if begun {
				want = time.Duration(n) * time.Second / (512 << 20)
			}
			if got := i.openTime(); got != want {
				t.Errorf("%d bytes, laid out %v: %v, want %v", n, begun, got, want)
			}
		}
	}
}
