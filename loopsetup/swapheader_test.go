// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// sparseFile returns a new file of size bytes.
func sparseFile(t *testing.T, size int64) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "area"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFormatSwapWritesTheHeader(t *testing.T) {
	f := sparseFile(t, 1<<20)
	// A rest of less than a page cannot be used.
	uuid, err := FormatSwap(f, 1<<20+uint64(os.Getpagesize())-1, "fifteen letters")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(uuid) {
		t.Errorf("%q is no random UUID of RFC 9562", uuid)
	}
	pageSize := os.Getpagesize()
	got := make([]byte, pageSize)
	if _, err := f.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	id, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	want, err := encodeSwapHeader(1<<20/uint64(pageSize), [uuidSize]byte(id), "fifteen letters", pageSize)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("wrote %x, %v, want %x", got, err, want)
	}
	again, err := FormatSwap(f, 1<<20, "")
	if err != nil || again == uuid {
		t.Errorf("second UUID %q, %v", again, err)
	}
}

func TestF077FormatSwapChecksSizes(t *testing.T) {
	for _, c := range []struct {
		pages uint64
		label string
		ok    bool
	}{
		{10, "", true}, {9, "", false}, {0, "", false}, {1 << 32, "", true}, {1<<32 + 1, "", false}, {1 << 50, "", false},
		{100, "sixteen letters!", false}, {100, "nul\x00", false},
	} {
		_, err := formatSwap(new(pageWriter), c.pages*4096, c.label, 4096)
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("%d pages, label %q: %v", c.pages, c.label, err)
		}
	}
}

// A pageWriter is memory that accepts one write.
type pageWriter []byte

func (p *pageWriter) WriteAt(b []byte, off int64) (int, error) {
	if off != 0 || *p != nil {
		return 0, errors.New("second write, or not at the beginning")
	}
	*p = bytes.Clone(b)
	return len(b), nil
}

func TestFormatSwapReportsTheFile(t *testing.T) {
	f := sparseFile(t, 1<<20)
	readOnly, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	_, err = FormatSwap(readOnly, 1<<20, "")
	var e *Error
	if !errors.As(err, &e) || e.Op != OpFormat || e.Path != f.Name() {
		t.Errorf("%v does not name the operation and the file", err)
	}
}

// TestF071SwapHeaderEqualsMkswap compares every byte of the first page, for both page sizes that
// Linux uses on our machines.
func TestF071SwapHeaderEqualsMkswap(t *testing.T) {
	require.Command(t, "mkswap")
	uuid := [uuidSize]byte{0xde, 0xad, 0xbe, 0xef, 0, 1, 0x42, 3, 0x84, 5, 6, 7, 8, 9, 10, 11}
	for _, pageSize := range []int{4096, 65536} {
		f := sparseFile(t, 8<<20)
		run(t, "mkswap", "-p", fmt.Sprint(pageSize), "-U", formatUUID(uuid), "-L", "zram0", f.Name())
		theirs := make([]byte, pageSize)
		if _, err := f.ReadAt(theirs, 0); err != nil {
			t.Fatal(err)
		}
		ours, err := encodeSwapHeader(8<<20/uint64(pageSize), uuid, "zram0", pageSize)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ours {
			if ours[i] != theirs[i] {
				t.Errorf("page size %d: byte %d is %#x, mkswap writes %#x", pageSize, i, ours[i], theirs[i])
			}
		}
	}
}

func TestF071UtilLinuxReadsOurHeader(t *testing.T) {
	require.Command(t, "swaplabel")
	require.Command(t, "blkid")
	f := sparseFile(t, 1<<20)
	uuid, err := FormatSwap(f, 1<<20, "zram0")
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{run(t, "swaplabel", f.Name()), run(t, "blkid", "-p", "-o", "export", f.Name())} {
		if !strings.Contains(out, uuid) || !strings.Contains(out, "zram0") {
			t.Errorf("label zram0 and UUID %s are not in %q", uuid, out)
		}
	}
	if out := run(t, "blkid", "-p", "-o", "export", f.Name()); !strings.Contains(out, "TYPE=swap") {
		t.Errorf("blkid sees no swap area: %q", out)
	}
}

// run returns what a command prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}
