// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/store/view"
)

// recordedSteps records the sums that were shown.
type recordedSteps struct{ sums []uint64 }

func (s *recordedSteps) Add(more uint64) error {
	if n := len(s.sums); n > 0 {
		more += s.sums[n-1]
	}
	s.sums = append(s.sums, more)
	return nil
}

func (s *recordedSteps) End() error { return nil }

// A slowDisk records the parts that were synced.
type slowDisk struct {
	io.WriterAt
	started, settled int64 // bytes
}

func (d *slowDisk) startSync(begin, length int64) error {
	d.started = max(d.started, begin+length)
	return nil
}

func (d *slowDisk) sync(begin, length int64) error {
	d.settled = max(d.settled, begin+length)
	return nil
}

// Export's bar counts a page once it is on the disk, not once it is in the kernel's cache, so it is
// full only at the end.
func TestExportProgress(t *testing.T) {
	const window, windows = 1024, 5
	var shown recordedSteps
	disk, e := &slowDisk{}, Exporter{Progress: &shown}
	for i := range int64(windows) {
		if err := e.settle(disk, i*window*pageSize, window*pageSize, window); err != nil {
			t.Fatal(err)
		}
		bar := int64(shown.sums[i])
		if bar*pageSize != disk.settled || disk.started != (i+1)*window*pageSize || bar != i*window {
			t.Errorf("window %d: the bar shows %d pages, %d bytes are on the disk", i, bar, disk.settled)
		}
	}
	if e.pending != window {
		t.Errorf("%d pages are left to show at the end", e.pending)
	}
}

// A failingFile fails at one of its calls, counted from 1.
type failingFile struct {
	fails, calls int
	written      map[int64][]byte // by offset
}

var errDisk = errors.New("no space")

func (f *failingFile) call() error {
	if f.calls++; f.calls == f.fails {
		return errDisk
	}
	return nil
}

func (f *failingFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	f.written[off] = bytes.Clone(p)
	return len(p), nil
}

func (f *failingFile) startSync(int64, int64) error { return f.call() }
func (f *failingFile) sync(int64, int64) error      { return f.call() }

// Each run of pages between holes is one write, and whichever call fails, the export fails.
func TestExportFailsWithItsFile(t *testing.T) {
	const first = 40 // page of the device
	const d, h, z, w = view.PageObject, view.PageEmpty, view.PageSame, view.PageSame
	kinds := []view.PageKind{d, d, h, d, z, w, d, h}
	words := []uint64{5: 0x0102030405060708}
	words = append(words, 0, 0)
	window := &imageWindow{Window: &view.Window{First: first + 16, Pages: len(kinds), Kind: kinds, Word: words}}
	export := func(fails int) (*Exporter, *failingFile, error) {
		window.batch.Pages = bytes.Repeat([]byte{'x'}, len(kinds)*pageSize)
		f, e := &failingFile{fails: fails, written: map[int64][]byte{}}, &Exporter{Progress: &recordedSteps{}}
		e.Report.First = first
		return e, f, e.write(window, f)
	}
	e, f, err := export(0)
	if err != nil || f.calls != 5 || e.Report.Data != 5 {
		t.Fatalf("%d calls, %d pages of data: %v", f.calls, e.Report.Data, err)
	}
	data, same := bytes.Repeat([]byte{'x'}, pageSize), bytes.Repeat([]byte{8, 7, 6, 5, 4, 3, 2, 1}, pageSize/8)
	want := map[int64][]byte{16: slices.Concat(data, data), 19: data, 21: slices.Concat(same, data)}
	for page, b := range want {
		if !bytes.Equal(f.written[page*pageSize], b) {
			t.Errorf("from page %d of the file on: %d bytes, or other ones", page, len(f.written[page*pageSize]))
		}
	}
	if len(f.written) != len(want) {
		t.Errorf("%d runs of pages were written", len(f.written))
	}
	for fails := 1; fails <= f.calls; fails++ {
		if _, _, err := export(fails); !errors.Is(err, errDisk) {
			t.Errorf("call %d failed, and the export says %v", fails, err)
		}
	}
}

// A page that the image does not give ends the export.
func TestExportRefusesDamage(t *testing.T) {
	for kind, want := range map[view.PageKind]string{
		view.PageCorrupt: "page 7 is damaged; zramfs verify lists all such pages", view.PageWrittenBack: "page 7: " + ErrWrittenBack.Error(),
	} {
		w := &imageWindow{Window: &view.Window{First: 6, Pages: 2, Kind: []view.PageKind{view.PageEmpty, kind}, Word: make([]uint64, 2)}}
		e := &Exporter{Progress: &recordedSteps{}}
		if err := e.write(w, &failingFile{written: map[int64][]byte{}}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
