// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// Fields of mm_stat that do not depend on how well a page compresses.
var exactFields = map[string]int{"orig_data_size": 0, "mem_limit": 3, "same_pages": 5, "huge_pages": 7, "huge_pages_since": 8}

// TestAttributesAsTheKernel writes the same pages to a zram device of the kernel
// and to ours, and compares what the two say.
func TestAttributesAsTheKernel(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	number := hotAdd(t, "lz4", "64M")
	dir := mount(t, "--size", "64M", "-a", "lz4")
	files := []*os.File{openFile(t, "/dev/zram"+number, unix.O_DIRECT), openData(t, dir, unix.O_DIRECT)}
	compare(t, "empty", number, dir)
	content := assorted(1500)
	writeBoth(t, content, files)
	compare(t, "filled", number, dir)
	if got, want := statField(t, dir, 0), uint64(len(content))*pageSize; got != want {
		t.Errorf("%d bytes are stored, want %d", got, want)
	}
	writeBoth(t, assorted(700), files)
	compare(t, "written again", number, dir)
	// The kernel discards what is punched out of a block device (blkdev_fallocate).
	for _, f := range files {
		if err := unix.Fallocate(int(f.Fd()), punchHole, 100*pageSize, 1000*pageSize); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, "after a discard", number, dir)
	theirs, got := field(t, readKernel(t, number, "io_stat"), 3), field(t, attribute(t, dir, "io_stat"), 3)
	if got != theirs || got != 1000 {
		t.Errorf("notify_free is %d, the kernel's %d", got, theirs)
	}
}

// compare compares the attributes of the kernel's device with those of ours.
func compare(t *testing.T, when, number, dir string) {
	t.Helper()
	for name, format := range formats {
		theirs, got := readKernel(t, number, name), attribute(t, dir, name)
		if !format.MatchString(theirs) {
			t.Errorf("%s: the kernel's %s is %q: the test is wrong about its format", when, name, theirs)
		}
		if !format.MatchString(got) {
			t.Errorf("%s: %s is %q, the kernel's %q", when, name, got, theirs)
		}
	}
	for name, i := range exactFields {
		theirs, got := field(t, readKernel(t, number, "mm_stat"), i), statField(t, dir, i)
		if got != theirs {
			t.Errorf("%s: %s is %d, the kernel's %d", when, name, got, theirs)
		}
	}
	if got, theirs := attribute(t, dir, "disksize"), readKernel(t, number, "disksize"); got != theirs {
		t.Errorf("%s: disksize is %q, the kernel's %q", when, got, theirs)
	}
}

func readKernel(t *testing.T, number, name string) string {
	t.Helper()
	text, err := os.ReadFile(zramAttribute(number, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// assorted returns n pages, a quarter each of zeros, one repeated word, text and random bytes, in
// no order.
func assorted(n int) [][]byte {
	rng := rand.New(rand.NewPCG(17, uint64(n)))
	all := slices.Concat(pages.Generate(pages.Text, n/4, 31), pages.Generate(pages.Random, n/4, 32))
	for len(all) < n {
		word := make([]byte, 8)
		if len(all)%2 == 0 {
			copy(word, "zramfs!") // and one of 32 last bytes
			word[7] = byte(rng.IntN(32))
		}
		all = append(all, bytes.Repeat(word, pageSize/8))
	}
	rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// writeBoth writes pages from the start of files on, from memory that is aligned
// as a block device wants it.
func writeBoth(t *testing.T, content [][]byte, files []*os.File) {
	t.Helper()
	page := aligned(t)
	for i := range content {
		copy(page, content[i])
		for _, f := range files {
			if _, err := f.WriteAt(page, int64(i)*pageSize); err != nil {
				t.Fatal(err)
			}
		}
	}
}
