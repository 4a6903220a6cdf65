// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// TestCorruptIndex flips each bit of one page's index entry in turn. Reading the
// page is an I/O error or right; writing it anew, which frees what the damaged
// entry points to, works and damages no other page unnoticed. There are more
// bits than requests that can be worked on at once, so that the device stops
// when one of them is lost.
func TestCorruptIndex(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	const victim, entryBits = 17, 64
	f, content := corruptible(t)
	memory, _ := image(t, f.pid)
	at := entryOf(t, f.dir, memory, victim, content[victim])
	for bit := range entryBits {
		if err := flipBit(memory, at, bit); err != nil {
			t.Fatal(err)
		}
		got, err := readRange(f.dir, victim*pageSize, pageSize)
		if err == nil {
			err = difference(got, content[victim], victim*pageSize)
		}
		if err != nil && !errors.Is(err, unix.EIO) {
			t.Errorf("bit %d: %v", bit, err)
		}
		writePage(t, f.dir, victim, content[victim])
		mustHold(t, f.dir, victim, content[victim])
	}
	if right, failed := readRounds(t, f.dir, content, 1); failed > entryBits {
		t.Errorf("%d pages are right, %d errors", right, failed)
	}
}

// entryOf returns where in the image the index entry of a page stands: below all
// objects, it alone changes when the page is written again.
func entryOf(t *testing.T, dir string, memory *os.File, number int, page []byte) int64 {
	t.Helper()
	end := locate(t, memory, page) // objects are laid down in order
	before := snapshot(t, memory)
	writePage(t, dir, number, page)
	after := snapshot(t, memory)
	const entrySize = 8
	var found []int64
	for at := int64(0); at < end; at += entrySize {
		if !bytes.Equal(before[at:at+entrySize], after[at:at+entrySize]) {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		t.Fatal("no entry has changed")
	}
	return found[0]
}

// TestCorruptSuperblock flips a bit of the superblock and kills the worker: the next one finds it
// restored, and every page is right. An image that is handed out is restored too.
func TestCorruptSuperblock(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	f, content := corruptible(t)
	memory, _ := image(t, f.pid)
	c := newCrashing(t, f.dir)
	for _, at := range []int64{0, 8, 24, 32, 40} { // magic, version, sizes, checksum
		if err := flipBit(memory, at, 3); err != nil {
			t.Fatal(err)
		}
		c.kill()
		if right, failed := readRounds(t, f.dir, content, 1); failed > 0 || right < len(content) {
			t.Fatalf("byte %d: %d pages are right, %d errors", at, right, failed)
		}
	}
	f.log.wait(t, "was damaged and is restored")
	if err := flipBit(memory, 9, 0); err != nil {
		t.Fatal(err)
	}
	mustRun(t, commandTimeout, "verify", f.dir)
}
