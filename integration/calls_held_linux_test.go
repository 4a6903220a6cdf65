// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
)

const (
	heldSize  = "16M"
	heldPages = 1000 // that are written
	// heldSeed and otherSeed are of the contents.
	heldSeed  = 17
	otherSeed = 18
)

// heldContent is what a held device has, from its beginning on, of one seed.
func heldContent(seed uint64) []byte { return bytes.Join(pages.Mix(heldPages, seed), nil) }

// heldPart is the client that works on a data file with its content: it writes that of heldSeed, or
// compares with it ("compare"), with the other ("other"), or with both, page by page ("either").
var heldPart = register("calls-held", func(args []string) error {
	return withData(args[1], func(fd int) error {
		want, other := heldContent(heldSeed), heldContent(otherSeed)
		if args[0] == "write" {
			n, err := unix.Pwrite(fd, want, 0)
			if err == nil && n != len(want) {
				return fmt.Errorf("wrote %d of %d bytes", n, len(want))
			}
			return err
		}
		got := make([]byte, len(want))
		if n, err := unix.Pread(fd, got, 0); err != nil || n != len(got) {
			return fmt.Errorf("read %d of %d bytes: %w", n, len(got), err)
		}
		switch args[0] {
		case "other":
			want = other
		case "either":
			for i := 0; i < len(got); i += pageSize {
				if bytes.Equal(got[i:i+pageSize], other[i:i+pageSize]) {
					copy(want[i:], other[i:i+pageSize])
				}
			}
		}
		return difference(got, want, 0)
	})
})

// A held device has content, and processes below a filter. A loop uses it again and again.
type held struct {
	s      *supervising
	dir    string
	keeper int
	files  int // that the keeper has open
}

// hold makes a device with content.
func hold(t *testing.T, s *supervising) *held {
	t.Helper()
	h := holdEmpty(t, s)
	client(t, heldPart, "write", h.dir)
	return h
}

// holdEmpty makes a device without content.
func holdEmpty(t *testing.T, s *supervising) *held {
	t.Helper()
	h := &held{s: s, dir: filepath.Join(tempDir(t), "zram")}
	t.Cleanup(func() { takeBack(t, h.dir) })
	s.mustRun(t, "mount", "--size", heldSize, h.dir)
	s.mustRun(t, "upgrade", h.dir) // the keeper holds the program of an upgrade open from then on
	h.keeper = statusOf(t, h.dir).KeeperPID
	h.files = openFiles(t, h.keeper)
	return h
}

// wantWhole checks that a device serves what it held, with one worker, and that its keeper has kept
// no descriptor and no process of what has failed.
func (h *held) wantWhole(t *testing.T) {
	t.Helper()
	client(t, heldPart, "compare", h.dir)
	for end := time.Now().Add(leakPatience); ; time.Sleep(20 * time.Millisecond) {
		files, workers := openFiles(t, h.keeper), childrenOf(h.keeper)
		if files <= h.files && len(workers) == 1 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("the keeper has %d files open, before %d, and processes %v", files, h.files, workers)
			return
		}
	}
}

// openFiles counts the descriptors of a process.
func openFiles(t testing.TB, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Error(err)
	}
	return len(entries)
}
