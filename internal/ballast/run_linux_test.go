// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"os"
	"strings"
	"testing"
	"time"
)

// holderAt makes a holder that finds an empty device of 4 GiB, all of the machine's swap.
func holderAt(t *testing.T, meminfo string) *holder {
	t.Helper()
	root := kernelFiles(t, map[string]string{"proc/meminfo": meminfo,
		"proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/dev/loop0 partition\t4194300\t0\t100\n"})
	r, err := newReader(root, []string{"/dev/loop0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return &holder{governor: governor{policy: Free}, read: r, keeper: -1, pid: os.Getpid()}
}

const emptySwap = "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\nSwapTotal: 4194300 kB\nSwapFree: 4194300 kB\n"

// Where its pages stay in memory, the ballast stops soon, and is freed; it grows again a minute
// later.
func TestBallastThatCannotSwap(t *testing.T) {
	h, now := holderAt(t, emptySwap), time.Now()
	before := own(t, "VmHWM")
	if err := h.look(now); err != nil {
		t.Fatal(err)
	}
	if h.size() != 0 || !h.notUntil.After(now) {
		t.Errorf("%d bytes are held, until %v", h.size(), h.notUntil)
	}
	if grown := own(t, "VmHWM") - before; grown > 64<<20 {
		t.Errorf("it took %d bytes of memory", grown)
	}
	if err := h.look(now.Add(time.Second)); err != nil || h.size() != 0 {
		t.Errorf("%d bytes are held a second later, %v", h.size(), err)
	}
}

// At a swapoff the kernel would bring the ballast back: it is freed.
func TestBallastGoesAtSwapoff(t *testing.T) {
	h, now := holderAt(t, strings.Replace(emptySwap, "SwapTotal: 4194300", "SwapTotal: 3145728", 1)), time.Now()
	var err error
	if h.ballast, err = newBallast(64 << 20); err != nil {
		t.Fatal(err)
	}
	if err := h.ballast.resize(8<<20, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	h.total = 4194300 << 10
	if err := h.look(now); err != nil || h.size() != 0 {
		t.Errorf("%d bytes are held, %v", h.size(), err)
	}
}

func TestEnded(t *testing.T) {
	h := holder{keeper: -1, pid: os.Getpid()}
	if h.ended(0) {
		t.Error("this process has ended")
	}
	h.pid = 1 << 30
	if !h.ended(0) {
		t.Error("a process that is not there lives")
	}
}
