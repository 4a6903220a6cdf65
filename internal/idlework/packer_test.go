// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

const pages = 2000

// direct does work on the thread that calls it.
func direct(work func()) { work() }

// calm is a machine with time.
func calm() string { return "" }

// newStore is a store of pages by lz4.
func newStore(t *testing.T) *store.Store {
	t.Helper()
	a, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	cfg := store.Config{Disksize: pages * store.PageSize, Algorithm: a}
	memory, err := store.NewMemory(store.MemoryAuto)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(memory, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	for page := range uint64(pages) {
		w := s.Acquire()
		if err := w.Write(page, 0, content(page)); err != nil {
			t.Fatal(err)
		}
		w.Release()
	}
	return s
}

func content(page uint64) []byte {
	text := ""
	for line := page; len(text) < store.PageSize; line = line*1103515245 + 12345 {
		text += fmt.Sprintf("line %d of page %d says %x\n", line%1000, page, line%65536)
	}
	return []byte(text[:store.PageSize])
}

// A Packer packs all pages that are old enough, once the machine has time, and no byte changes.
func TestPackerPacks(t *testing.T) {
	s := newStore(t)
	var reason atomic.Value
	reason.Store("programs wait for processors")
	p := NewPacker(s, 100, func() string { return reason.Load().(string) }, nil)
	p.pack(t.Context(), from{time.Second, time.Second})
	if got := p.Status(); got.State != status.Waiting || got.Reason != "programs wait for processors" || got.Pages != 0 {
		t.Errorf("on a busy machine: %+v", got)
	}
	reason.Store("")
	before := s.Stats()
	dense := func() uint64 {
		all := s.Stats().Codecs
		return all[codec.PageDense].Pages + all[codec.PageDenseCluster].Pages
	}
	for until := time.Now().Add(time.Minute); dense() < pages*9/10 && time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		p.pack(t.Context(), from{time.Second, time.Second}) // once the pages are that old
	}
	got, after := p.Status(), s.Stats()
	if got.Joined < pages/4 || after.Codecs[codec.PageDenseCluster].Pages != got.Joined {
		t.Errorf("%+v, clusters have %+v", got, after.Codecs[codec.PageDenseCluster])
	}
	if saved := before.ComprDataSize - after.ComprDataSize; dense() < pages*9/10 || got.SavedBytes != saved || saved < before.ComprDataSize/10 {
		t.Errorf("%+v, compressed %d bytes before and %d after", got, before.ComprDataSize, after.ComprDataSize)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for page := range uint64(pages) {
		w, data := s.Acquire(), make([]byte, store.PageSize)
		if err := w.Read(page, 0, data); err != nil || !bytes.Equal(data, content(page)) {
			t.Fatalf("page %d is another, %v", page, err)
		}
		w.Release()
	}
}

// Packing takes its share of the time and no more, and ends at once when the Packer is closed.
func TestPackerTakesItsShare(t *testing.T) {
	p := NewPacker(newStore(t), 10, calm, nil)
	rest := p.restAfter(&p.packed)
	rest(store.Recompressed{})
	begun := time.Now()
	for range 10 {
		time.Sleep(2 * time.Millisecond) // a piece
		rest(store.Recompressed{})
	}
	took, spent := time.Since(begun), p.Status().SpentSeconds
	if spent < 0.02 || spent > took.Seconds()/8 {
		t.Errorf("%f s of %s", spent, took)
	}
	p.pacer.busy = func() string { return "programs wait for memory" }
	time.AfterFunc(lookAround+50*time.Millisecond, func() { close(p.pacer.stop) })
	time.Sleep(lookAround)
	begun = time.Now()
	if rest(store.Recompressed{}); time.Since(begun) > 10*lookAround || p.Status().Reason == "" {
		t.Errorf("it rested for %s: %+v", time.Since(begun), p.Status())
	}
}

// A run that would take minutes ends once the limit is nearer, so that the next one packs harder,
// and one for a lowered limit once that is kept.
func TestPackerLooksAgain(t *testing.T) {
	p := NewPacker(newStore(t), 1, calm, nil)
	for _, c := range []struct {
		level level
		fill  float64
	}{{plenty, scarce}, {scarcely, dire}, {plenty, 1.1}, {beyond, 1}} {
		p.level, p.fill = c.level, func() float64 { return c.fill }
		p.pack(t.Context(), from{})
		if !p.again {
			t.Errorf("level %d: the run was over", c.level)
		}
	}
	p.level, p.fill, p.looked = critical, func() float64 { return scarce }, time.Time{}
	p.end = func() { t.Error("a run ends although the limit is not nearer") }
	p.look()
}

// Start and Close, and what cannot be started.
func TestPackerRuns(t *testing.T) {
	s := newStore(t)
	p := NewPacker(s, Default, ThrottleOf(host.Local), nil)
	p.every = 10 * time.Millisecond
	p.Start(direct)
	for until := time.Now().Add(10 * time.Second); p.Status().AgeSeconds == mostAge.Seconds() && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if got := p.Status(); got.Share != 5 || got.AgeSeconds >= mostAge.Seconds() {
		t.Errorf("%+v", got)
	}
	none := NewPacker(s, 0, calm, nil)
	none.Start(direct)
	if got := none.Status(); got.State != status.Off || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// The kernel's words decide whether the machine is busy.
func TestBusy(t *testing.T) {
	const calm, hot = "some avg10=0.50 avg60=", "some avg10=60.00 avg60="
	for _, c := range []struct{ memory, cpu, load, want string }{
		{calm, calm, "90.0 1 1", ""},
		{hot, calm, "", "memory"},
		{calm, hot, "", "processors"},
		{"", "", "900.0 1 1", "processors"},
		{"", "", "0.1 1 1", ""},
	} {
		root := machine(t, map[string]string{"proc/pressure/memory": c.memory, "proc/pressure/cpu": c.cpu, "proc/loadavg": c.load})
		if got := busy(root); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func machine(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	root := t.TempDir()
	writeFiles(t, root, files)
	return host.Root(root)
}

// writeFiles writes those that have a text.
func writeFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if text == "" {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
