// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

// A server hands on what it is told, to a successor too, and a session tells what lies in the
// memory of requests until it is closed.
func TestServerHandsOn(t *testing.T) {
	l := newLeft(t)
	noted := 0
	begin := func() *Server {
		s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), Image: 77, Noted: func() { noted++ },
			Status: func(loops []string) ([]byte, error) { return fmt.Append(nil, loops), nil }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := begin()
	set := func(dir uint64, name, text string) fuse.Status {
		f := s.attributes.fs
		_, status := f.Write(nil, &fuse.WriteIn{InHeader: fuse.InHeader{NodeId: f.find(dir, name).id, Unique: 5}}, []byte(text))
		return status
	}
	if set(controlNode, "loops", strings.Repeat("x", maxLoops+1)).Ok() || noted != 0 {
		t.Error("a text that has no room is taken")
	}
	for dir, of := range map[uint64][2]string{controlNode: {"loops", "/dev/a\n/dev/b\n"}, deviceNode: {"writeback_limit", "9"}} {
		if status := set(dir, of[0], of[1]); !status.Ok() {
			t.Errorf("%s: %v", of[0], status)
		}
	}
	if status := set(deviceNode, "writeback_limit_enable", "1"); !status.Ok() || noted != 1 {
		t.Errorf("%v; noted %d times", status, noted)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s = begin()
	f := s.attributes.fs
	if text, err := f.find(controlNode, "status").attribute.show(); string(text) != "[/dev/a /dev/b]" || err != nil {
		t.Errorf("the status has %s, %v", text, err)
	}
	if pages, limited := s.WritebackLimit(); pages != 9 || !limited {
		t.Errorf("%d pages may be written back: %v", pages, limited)
	}
	s.SetExtra(ExtraDevices(0).With(2))
	if !s.ExtraDevices().Has(2) || f.find(blockNode, "zram2") == nil {
		t.Error("an extra device is not there")
	}
	if pages, err := s.Spill(time.Hour, 10); pages != 0 || !errors.Is(err, store.ErrNoBacking) || s.Spent(time.Now()) != 0 {
		t.Errorf("without a backing device: %d, %v, spent %d", pages, err, s.Spent(time.Now()))
	}
	if n := s.RequestBytes(); n != uint64(len(l.session.requests.mem)) {
		t.Errorf("requests have %d bytes", n)
	}
	l.session.requests.word(wordImage).Store(77)
	l.session.NoteEvent(telemetry.Kind(1), "it happened")
	_, at := l.session.Counters()
	area, err := telemetry.Open(l.session.requests.mem[at:])
	if err != nil {
		t.Fatal(err)
	}
	if events, _ := area.Events(0); len(events) != 1 || events[0].Text != "it happened" {
		t.Errorf("the events are %+v", events)
	}
	if got := l.session.Image(); got != 77 {
		t.Errorf("the image is %d", got)
	}
	l.session.requests.word(wordTelemetry).Store(math.MaxUint64 &^ (pageSize - 1))
	l.session.NoteEvent(telemetry.Kind(1), "the place of the counters is damaged")
	if err := errors.Join(s.Close(), l.session.Close()); err != nil {
		t.Error(err)
	}
	l.session.NoteEvent(telemetry.Kind(1), "it is over")
	if l.session.Image() != 0 || l.session.RestoreRequests() || l.session.OpenCount() != 0 {
		t.Error("a closed session tells something")
	}
}

// Requests about what is not there, or of another kind, are refused.
func TestRequestsForOtherNodes(t *testing.T) {
	f, _ := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: 4 << 20}),
		Add: func(uint64) (int, error) { return 0, syscall.ENOSPC }, Remove: func(uint64, int) error { return nil }})
	data := newFileSystem(Config{Store: f.store}, dataTree())
	id := func(dir uint64, name string) fuse.InHeader {
		return fuse.InHeader{NodeId: f.find(dir, name).id, Unique: 5}
	}
	none, directory, size := fuse.InHeader{NodeId: 1 << 40}, fuse.InHeader{NodeId: deviceNode}, id(deviceNode, "size")
	handle := uint64(0) // each read has one
	read := func(in fuse.InHeader, off uint64) fuse.Status {
		handle++
		_, status := f.Read(nil, &fuse.ReadIn{InHeader: in, Fh: handle, Offset: off, Size: 100}, nil)
		return status
	}
	write := func(in fuse.InHeader) fuse.Status {
		_, status := f.Write(nil, &fuse.WriteIn{InHeader: in}, []byte("1"))
		return status
	}
	seek := func(fs *fileSystem, node uint64, off uint64, whence uint32) fuse.Status {
		return fs.Lseek(nil, &fuse.LseekIn{InHeader: fuse.InHeader{NodeId: node}, Offset: off, Whence: whence}, &fuse.LseekOut{})
	}
	for name, c := range map[string]struct{ got, want fuse.Status }{
		"attributes of nothing":    {f.GetAttr(nil, &fuse.GetAttrIn{InHeader: none}, &fuse.AttrOut{}), fuse.ENOENT},
		"changes of nothing":       {f.SetAttr(nil, &fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: none}}, &fuse.AttrOut{}), fuse.ENOENT},
		"no changes":               {f.SetAttr(nil, &fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: size}}, &fuse.AttrOut{}), fuse.OK},
		"opening nothing":          {f.Open(nil, &fuse.OpenIn{InHeader: none}, &fuse.OpenOut{}), fuse.ENOENT},
		"opening no directory":     {f.OpenDir(nil, &fuse.OpenIn{InHeader: none}, &fuse.OpenOut{}), fuse.ENOTDIR},
		"opening a file as one":    {f.OpenDir(nil, &fuse.OpenIn{InHeader: size}, &fuse.OpenOut{}), fuse.ENOTDIR},
		"opening a directory":      {f.OpenDir(nil, &fuse.OpenIn{InHeader: directory}, &fuse.OpenOut{}), fuse.OK},
		"listing nothing":          {f.ReadDir(nil, &fuse.ReadIn{InHeader: none}, nil), fuse.ENOTDIR},
		"listing a file":           {f.ReadDir(nil, &fuse.ReadIn{InHeader: size}, nil), fuse.ENOTDIR},
		"reading nothing":          {read(none, 0), fuse.EBADF},
		"reading a directory":      {read(directory, 0), fuse.EBADF},
		"reading an order":         {read(id(deviceNode, "compact"), 0), fuse.EBADF},
		"reading":                  {read(size, 0), fuse.OK},
		"writing nothing":          {write(none), fuse.EACCES},
		"writing to a directory":   {write(directory), fuse.EACCES},
		"writing to what is shown": {write(size), fuse.EACCES},
		"adding a device in vain":  {read(id(controlNode, "hot_add"), 0), fuse.Status(syscall.ENOSPC)},
		"reading on after that":    {read(id(controlNode, "hot_add"), 5), fuse.OK},
		"seeking in nothing":       {seek(data, 1<<40, 0, unix.SEEK_DATA), fuse.ENOSYS},
		"seeking in a directory":   {seek(data, rootNode, 0, unix.SEEK_DATA), fuse.ENOSYS},
		"seeking from the end":     {seek(data, dataNode, 0, unix.SEEK_END), fuse.EINVAL},
		"seeking data behind it":   {seek(data, dataNode, 4<<20, unix.SEEK_DATA), fuse.Status(unix.ENXIO)},
		"seeking a hole behind it": {seek(data, dataNode, 4<<20, unix.SEEK_HOLE), fuse.Status(unix.ENXIO)},
		"seeking data in a hole":   {seek(data, dataNode, 0, unix.SEEK_DATA), fuse.Status(unix.ENXIO)},
		"seeking a hole in one":    {seek(data, dataNode, 5, unix.SEEK_HOLE), fuse.OK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if n := data.find(rootNode, "zram0"); n == nil || data.String() != typeName {
		t.Errorf("the data file is %v, of %s", n, data)
	}
	if d := SinceBoot(); d <= 0 || SinceBoot() < d {
		t.Errorf("the machine was started %v ago", d)
	}
}

// A handle reads what an attribute held when it was opened, in pieces too, and a polled one what it
// holds at each read from the beginning.
func TestHandlesReadSnapshots(t *testing.T) {
	f := newTestFileSystem(t, 4<<20)
	f.pressure.notify = func(uint64) {}
	read := func(dir uint64, name string, handle, off uint64, size uint32) string {
		t.Helper()
		r, status := f.Read(nil, &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: f.find(dir, name).id}, Fh: handle, Offset: off, Size: size}, nil)
		if !status.Ok() {
			t.Fatal(status)
		}
		text, _ := r.Bytes(make([]byte, size))
		return string(text)
	}
	limit := func(handle, off uint64) string { return read(deviceNode, "mem_limit", handle, off, 100) }
	level := func(off uint64) string { return read(controlNode, pressureName, 9, off, 8) }
	if !writeAttribute(f, "mem_limit", "1M").Ok() || limit(1, 0) != "1048576\n" || level(0) != "level 0\n" {
		t.Fatalf("it begins with %q and %q", limit(1, 0), level(0))
	}
	if !writeAttribute(f, "mem_limit", "2M").Ok() {
		t.Fatal("the limit cannot be set")
	}
	if limit(1, 0) != "1048576\n" || limit(1, 4) != "576\n" || limit(2, 0) != "2097152\n" {
		t.Errorf("read again: %q and %q, by another handle: %q", limit(1, 0), limit(1, 4), limit(2, 0))
	}
	f.pressure.set(80)
	if level(6) != "0\n" || level(0) != "level 80" || level(6) != "80\n" {
		t.Errorf("polled: %q, and %q from the middle", level(0), level(6))
	}
}

// The kernel's answers to what WriteBack says; the cause is kept for the log.
func TestWritebackErrors(t *testing.T) {
	other := errors.New("other")
	for _, c := range []struct{ err, want error }{
		{nil, nil}, {ErrLeft, ErrLeft}, {store.ErrBackingFull, syscall.ENOSPC}, {store.ErrBudget, syscall.EIO}, {store.ErrFull, syscall.ENOMEM},
		{fmt.Errorf("x: %w", syscall.ENODEV), syscall.ENODEV}, {other, syscall.EIO}, {other, other},
	} {
		if got := writebackErrno(c.err); !errors.Is(got, c.want) {
			t.Errorf("%v becomes %v, want %v", c.err, got, c.want)
		}
	}
}
