// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/store"
)

// newBackedFileSystem serves a device with a backing device of some pages, and has stored a number
// of pages that do not compress.
func newBackedFileSystem(t *testing.T, blocks int64, pages uint64) (*fileSystem, *attributes) {
	t.Helper()
	fd, err := unix.MemfdCreate("backing", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "backing")
	if err := file.Truncate(blocks * pageSize); err != nil {
		t.Fatal(err)
	}
	secret, err := store.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	b, err := store.NewBacking(file, secret)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	f, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: 4 << 20, Backing: b}), Backing: func() string { return "/a/path" }})
	rng, p := rand.New(rand.NewPCG(1, 1)), make([]byte, pageSize)
	for page := range pages {
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		if _, errno := writeData(f, page*pageSize, p); errno != 0 {
			t.Fatal(errno)
		}
	}
	return f, a
}

// A step writes an attribute, and says how many pages lie on the backing device then.
type backingStep struct {
	name, text string
	want       fuse.Status
	away       int
}

func TestWritebackAttributes(t *testing.T) {
	f, a := newBackedFileSystem(t, 90, 100)
	const erange = fuse.Status(syscall.ERANGE)
	for _, c := range []backingStep{
		{"backing_dev", "/dev/none", fuse.EBUSY, 0},
		{"writeback", "idle", fuse.OK, 0}, {"writeback", "nothing", fuse.EINVAL, 0}, {"writeback", "type=nothing", fuse.EINVAL, 0},
		{"writeback", "", fuse.OK, 0}, {"writeback", "other=thing", fuse.OK, 0},
		{"writeback", "page_index=1024", erange, 0}, {"writeback", "page_index=x", fuse.EINVAL, 0},
		{"writeback", "page_index=1 page_index=1024", erange, 0}, {"writeback", "page_indexes=5", fuse.EINVAL, 0},
		{"writeback", "page_indexes=5-4", erange, 0}, {"writeback", "page_indexes=0-1024", erange, 0},
		{"writeback", "page_index=7\n", fuse.OK, 1}, {"writeback", "page_indexes=6-9 page_index=20 page_index=21", fuse.OK, 6},
		{"writeback_limit", "x", fuse.EINVAL, 6}, {"writeback_limit", "5\n", fuse.OK, 6},
		{"writeback", "page_index=30", fuse.OK, 7}, // the limit does not count yet
		{"writeback_limit_enable", "1\n", fuse.OK, 7},
		{"writeback", "page_index=31", fuse.OK, 8}, {"writeback", "huge", fuse.EIO, 12}, {"writeback", "huge", fuse.EIO, 12},
		{"writeback", "page_index=6", fuse.OK, 12}, // it is there already
		{"writeback_limit_enable", "0", fuse.OK, 12},
		{"idle", "all", fuse.OK, 12}, {"writeback", "huge_idle", fuse.Status(syscall.ENOSPC), 90}, {"writeback", "type=huge", fuse.Status(syscall.ENOSPC), 90},
	} {
		if got := writeAttribute(f, c.name, c.text); got != c.want {
			t.Errorf("%q to %s: %v, want %v", c.text, c.name, got, c.want)
		}
		if got := strings.Count(readAttribute(t, f, "block_state", 4096), " .w...."); got != c.away {
			t.Errorf("after %q to %s %d pages lie on the backing device, want %d", c.text, c.name, got, c.away)
		}
	}
	for name, want := range map[string]string{"backing_dev": "/a/path\n", "bd_stat": "      90        0       90\n", "writeback_limit": "0\n", "writeback_limit_enable": "0\n"} {
		if got := readAttribute(t, f, name, 4096); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	a.working.Store(true)
	if got := writeAttribute(f, "writeback", "huge"); got != fuse.EAGAIN {
		t.Errorf("while pages are recompressed: %v", got)
	}
	a.working.Store(false)
	a.stopping = func() bool { return true }
	if err := a.writeBack(1, []byte("huge")); !errors.Is(err, ErrLeft) {
		t.Errorf("of a server that is to stop: %v", err)
	}
}

// The words of writeback select as the kernel's do.
func TestSelections(t *testing.T) {
	for text, want := range map[string]store.Selection{
		"idle": {Idle: true}, "type=huge": {Huge: true}, "huge_idle": {Idle: true, Huge: true}, "type=incompressible": {Incompressible: true},
	} {
		want.End = 9
		if got, err := selectionsOf([]byte(text), 9); err != nil || !slices.Equal(got, []store.Selection{want}) {
			t.Errorf("%q selects %+v, %v; want %+v", text, got, err, want)
		}
	}
	if got, err := pageNumbers("5-5", 9); err != nil || got != (store.Selection{First: 5, End: 6}) {
		t.Errorf("one page is %+v, %v", got, err)
	}
}

// A device moves as many pages as it may by itself, of that age, within writeback_limit.
func TestSpill(t *testing.T) {
	f, a := newBackedFileSystem(t, 90, 100)
	for _, c := range []struct {
		what    string
		age     time.Duration
		most    int
		want    uint64
		err     error
		limit   string
		working bool
		stops   bool
	}{
		{what: "young pages", age: time.Hour, most: 100},
		{what: "all pages", most: 20, want: 20},
		{what: "beside recompress", most: 20, want: 20, working: true},
		{what: "within a limit", most: 40, limit: "10", want: 10, err: store.ErrBudget},
		{what: "of a server that stops", most: 5, want: 5, stops: true},
		{what: "more than there is room for", most: 100, want: 35, err: store.ErrBackingFull},
	} {
		a.working.Store(c.working)
		a.stopping = func() bool { return c.stops }
		enable := "0"
		if c.limit != "" {
			enable = "1"
			if got := writeAttribute(f, "writeback_limit", c.limit); got != fuse.OK {
				t.Fatal(got)
			}
		}
		if got := writeAttribute(f, "writeback_limit_enable", enable); got != fuse.OK {
			t.Fatal(got)
		}
		if pages, err := a.spill(c.age, c.most); pages != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d pages, %v, want %d, %v", c.what, pages, err, c.want, c.err)
		}
		a.working.Store(false)
	}
	if got := readAttribute(t, f, "bd_stat", 4096); got != "      90        0       90\n" {
		t.Errorf("bd_stat is %q", got)
	}
	if got := a.chosen.Load().spent(time.Now()); got != 90 {
		t.Errorf("%d pages are counted, of 90", got)
	}
}

// A device moves pages by itself once a writeback that an operator asked for has ended, and neither
// fails for the other.
func TestSpillWaitsForWriteback(t *testing.T) {
	_, a := newBackedFileSystem(t, 90, 100)
	begun, goOn := make(chan struct{}), make(chan struct{})
	wait := sync.OnceFunc(func() {
		close(begun)
		<-goOn
	})
	a.stopping = func() bool { wait(); return false }
	asked, spilled := make(chan error), make(chan error)
	go func() { asked <- a.writeBack(1, []byte("page_indexes=0-9")) }()
	<-begun
	go func() {
		pages, err := a.spill(0, 20)
		if err == nil && pages != 20 {
			err = fmt.Errorf("%d pages", pages)
		}
		spilled <- err
	}()
	select {
	case err := <-spilled:
		t.Fatalf("pages are moved while writeback moves some: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	close(goOn)
	for name, c := range map[string]chan error{"writeback": asked, "spill": spilled} {
		if err := <-c; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := a.cfg.Store.Stats().WrittenBack; n != 30 {
		t.Errorf("%d pages are on the device, want 30", n)
	}
}

// Pages that were moved count for a day and up to four hours more, whatever the clock does.
func TestSpentIsForgotten(t *testing.T) {
	at := time.Unix(1_800_000_000, 0).Truncate(spentPeriod)
	var c Settings
	c.spend(at, 100)
	c.spend(at.Add(spentPeriod-1), 20)
	c.spend(at.Add(spentPeriod-1), -10)
	c.spend(at.Add(10*time.Hour), 5)
	for _, w := range []struct {
		after time.Duration
		want  uint64
	}{{10 * time.Hour, 115}, {-100 * time.Hour, 115}, {24 * time.Hour, 115}, {28*time.Hour - 1, 115}, {28 * time.Hour, 5}, {36 * time.Hour, 0}, {1000 * time.Hour, 0}} {
		if got := c.spent(at.Add(w.after)); got != w.want {
			t.Errorf("%s later %d pages count, want %d", w.after, got, w.want)
		}
	}
	c.spend(at.Add(-100*time.Hour), 7) // the clock was wrong before
	if got := c.spent(at.Add(-100 * time.Hour)); got != 122 {
		t.Errorf("after the clock was set back %d pages count", got)
	}
	if got := c.spent(at.Add(-71 * time.Hour)); got != 0 {
		t.Errorf("a day after the clock was set back %d pages count", got)
	}
	c.spend(at, -1000)
	if got := c.spent(at); got != 0 {
		t.Errorf("%d pages count after more than all was given back", got)
	}
}

// setter returns a function that sets attributes.
func setter(t *testing.T, f *fileSystem) func(name, text string) {
	return func(name, text string) {
		t.Helper()
		if got := writeAttribute(f, name, text); got != fuse.OK {
			t.Fatal(got)
		}
	}
}

// The limit gets back only blocks that were taken from it.
func TestWritebackLimitThatBeginsToCount(t *testing.T) {
	f, a := newBackedFileSystem(t, 90, 1)
	budget := a.budget(a.stopping)
	set := setter(t, f)
	for _, c := range []struct{ before, after string }{{"0", "1"}, {"1", "0"}, {"1", "1"}} {
		set("writeback_limit", "100")
		set("writeback_limit_enable", c.before)
		if n, err := budget(32); n != 32 || err != nil {
			t.Error(n, err)
		}
		set("writeback_limit_enable", c.after)
		if _, err := budget(-32); err != nil {
			t.Error(err)
		}
		if got := readAttribute(t, f, "writeback_limit", 4096); got != "100\n" {
			t.Errorf("counting %s, then %s: %q are left", c.before, c.after, got)
		}
	}
}

// Blocks that come back to a limit leave it at the largest number, where it was set to that since.
func TestWritebackLimitAtItsMost(t *testing.T) {
	const most = "18446744073709551615"
	f, a := newBackedFileSystem(t, 90, 1)
	budget := a.budget(a.stopping)
	set := setter(t, f)
	set("writeback_limit", "100")
	set("writeback_limit_enable", "1")
	if n, err := budget(32); n != 32 || err != nil {
		t.Error(n, err)
	}
	set("writeback_limit", most)
	if _, err := budget(-32); err != nil {
		t.Error(err)
	}
	if got := readAttribute(t, f, "writeback_limit", 4096); got != most+"\n" {
		t.Errorf("%q are left, want %s", got, most)
	}
}

// Without a backing device the files are there, as the kernel's are.
func TestNoBackingDevice(t *testing.T) {
	f := newTestFileSystem(t, 1<<20)
	if got := readAttribute(t, f, "backing_dev", 4096); got != "none\n" {
		t.Errorf("backing_dev is %q", got)
	}
	for _, c := range []backingStep{{"writeback", "nothing", fuse.Status(syscall.ENODEV), 0}, {"backing_dev", "/dev/none", fuse.EBUSY, 0}} {
		if got := writeAttribute(f, c.name, c.text); got != c.want {
			t.Errorf("%q to %s: %v, want %v", c.text, c.name, got, c.want)
		}
	}
}

// A device without a size takes a path.
func TestSetBackingDevice(t *testing.T) {
	var asked []string
	set := func(_ uint64, path string) error {
		asked = append(asked, path)
		return syscall.ENOTBLK
	}
	f, _ := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: pageSize}), Uninitialised: true, SetBacking: set})
	if got := writeAttribute(f, "backing_dev", "/dev/a b\n"); got != fuse.Status(syscall.ENOTBLK) || !slices.Equal(asked, []string{"/dev/a b"}) {
		t.Errorf("%v, asked for %q", got, asked)
	}
	if got := writeAttribute(f, "writeback", "huge"); got != fuse.EINVAL {
		t.Errorf("writeback without a size: %v", got)
	}
}
