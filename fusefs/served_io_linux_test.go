// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	smallDisk = 16 << 20
	longest   = 3 << 19 // a request of the kernel's user may exceed MaxWrite
)

// A model is what the device must hold.
type model struct {
	t     *testing.T
	rng   *rand.Rand
	want  []byte
	files []*os.File // handles to use in turn
	buf   []byte     // starts on a page
}

// TestServedModel does random things to the device, through the page cache's
// API and around it, and to a byte slice, and compares.
func TestServedModel(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk, Algorithm: "adaptive"})
	m := &model{
		t: t, rng: rand.New(rand.NewPCG(5, 6)), want: make([]byte, smallDisk),
		files: []*os.File{d.open(os.O_RDWR), d.open(os.O_RDWR | unix.O_DIRECT)},
		buf:   aligned(t, longest+pageSize),
	}
	steps := 3000
	if testing.Short() || raceDetector {
		steps = 500
	}
	for i := range steps {
		switch m.rng.IntN(10) {
		case 0:
			m.zero(unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE)
		case 1:
			m.zero(unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE)
		case 2, 3, 4, 5:
			m.write()
		default:
			m.read()
		}
		if t.Failed() {
			t.Fatalf("after step %d", i)
		}
	}
	m.readAll(d.open(os.O_RDONLY))
}

// somewhere returns a handle and a range: page-aligned or not, mostly short.
func (m *model) somewhere() (f *os.File, off, n int) {
	n = 1 + m.rng.IntN(3*pageSize)
	if m.rng.IntN(10) == 0 {
		n = 1 + m.rng.IntN(longest)
	}
	off = m.rng.IntN(len(m.want))
	if m.rng.IntN(2) == 0 {
		off, n = off&^(pageSize-1), (n+pageSize-1)&^(pageSize-1)
	}
	return m.files[m.rng.IntN(len(m.files))], off, min(n, len(m.want)-off)
}

// content fills p with what compresses well, badly, or into one word.
func (m *model) content(p []byte) {
	word := []byte{byte(m.rng.Uint32()), byte(m.rng.Uint32()), 0, 7, 0, 0, 1, 0}
	switch m.rng.IntN(4) {
	case 0:
		clear(p)
	case 1:
		for i := range p {
			p[i] = word[i%len(word)]
		}
	case 2:
		for i := range p {
			p[i] = byte(m.rng.Uint32())
		}
	default:
		for i := range p {
			p[i] = "the quick brown fox "[(i+int(word[0]))%20] + byte(i>>9&1)
		}
	}
}

func (m *model) write() {
	m.t.Helper()
	f, off, n := m.somewhere()
	p := m.buf[off%pageSize:][:n]
	m.content(p)
	if got, err := f.WriteAt(p, int64(off)); err != nil || got != n {
		m.t.Errorf("write %d+%d: %d, %v", off, n, got, err)
	}
	copy(m.want[off:], p)
}

func (m *model) read() {
	m.t.Helper()
	f, off, n := m.somewhere()
	p := m.buf[off%pageSize:][:n]
	if got, err := f.ReadAt(p, int64(off)); err != nil || got != n {
		m.t.Errorf("read %d+%d: %d, %v", off, n, got, err)
	}
	m.compare(p, off)
}

func (m *model) zero(mode uint32) {
	m.t.Helper()
	f, off, n := m.somewhere()
	if err := unix.Fallocate(int(f.Fd()), mode, int64(off), int64(n)); err != nil {
		m.t.Errorf("fallocate %#x %d+%d: %v", mode, off, n, err)
	}
	clear(m.want[off : off+n])
}

func (m *model) readAll(f *os.File) {
	m.t.Helper()
	all, err := io.ReadAll(f)
	if err != nil || len(all) != len(m.want) {
		m.t.Fatalf("read all: %d bytes, %v", len(all), err)
	}
	m.compare(all, 0)
}

func (m *model) compare(got []byte, off int) {
	m.t.Helper()
	if want := m.want[off : off+len(got)]; !bytes.Equal(got, want) {
		i := 0
		for got[i] == want[i] {
			i++
		}
		m.t.Errorf("read %d+%d: byte %d is %#x, want %#x", off, len(got), off+i, got[i], want[i])
	}
}

// TestServedPartialWritesKeepNeighbours lets four writers at a time write
// stripes of one and the same pages: none undoes what another wrote.
func TestServedPartialWritesKeepNeighbours(t *testing.T) {
	const (
		writers = 4
		stripe  = 700 // six to a page, and some across two
		total   = 1 << 20
	)
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	var group sync.WaitGroup
	for w := range writers {
		f := d.open(os.O_RDWR)
		group.Go(func() {
			p := bytes.Repeat([]byte{byte('a' + w)}, stripe)
			for _, i := range rand.New(rand.NewPCG(7, uint64(w))).Perm(total / stripe / writers) {
				if _, err := f.WriteAt(p, int64((i*writers+w)*stripe)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got := make([]byte, total/stripe/writers*writers*stripe)
	if _, err := d.open(os.O_RDONLY).ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	for i, b := range got {
		if want := byte('a' + i/stripe%writers); b != want {
			t.Fatalf("byte %d is %q, want %q", i, b, want)
		}
	}
}

// TestServedEnd writes and reads at the end of the device.
func TestServedEnd(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	f := d.open(os.O_RDWR)
	four := []byte("four")
	fd := int(f.Fd())
	if n, err := unix.Pwrite(fd, four, smallDisk-3); n != 3 || err != nil {
		t.Errorf("write across the end: %d, %v; want 3", n, err)
	}
	if _, err := unix.Pwrite(fd, four, smallDisk); err != unix.ENOSPC {
		t.Errorf("write at the end: %v, want ENOSPC", err)
	}
	if _, err := unix.Pwrite(fd, four, smallDisk+1<<40); err != unix.ENOSPC {
		t.Errorf("write behind the end: %v, want ENOSPC", err)
	}
	buf := make([]byte, 10)
	if n, err := unix.Pread(fd, buf, smallDisk-3); n != 3 || err != nil || string(buf[:3]) != "fou" {
		t.Errorf("read across the end: %d, %v, %q", n, err, buf[:max(n, 0)])
	}
	if n, err := unix.Pread(fd, buf, smallDisk); n != 0 || err != nil {
		t.Errorf("read at the end: %d, %v", n, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != smallDisk {
		t.Errorf("size is %d afterwards, %v", info.Size(), err)
	}
	appending := d.open(os.O_WRONLY | os.O_APPEND)
	if _, err := appending.Write(four); err == nil {
		t.Error("appending worked")
	}
}

// TestServedThroughPageCache reads by sendfile(2), which goes through the page
// cache even here: what was written or punched since must show.
func TestServedThroughPageCache(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	f, reader := d.open(os.O_RDWR), d.open(os.O_RDONLY)
	sent := func() []byte {
		t.Helper()
		out, err := os.Create(t.TempDir() + "/out")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		off := int64(0)
		if n, err := unix.Sendfile(int(out.Fd()), int(reader.Fd()), &off, 2*pageSize); err != nil || n != 2*pageSize {
			t.Fatalf("sendfile: %d, %v", n, err)
		}
		got := make([]byte, 2*pageSize)
		if _, err := out.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := make([]byte, 2*pageSize)
	for i, step := range []func() error{
		func() error { return nil },
		func() error { copy(want[4000:], "first"); _, err := f.WriteAt([]byte("first"), 4000); return err },
		func() error { copy(want[4002:], "second"); _, err := f.WriteAt([]byte("second"), 4002); return err },
		func() error {
			clear(want[4001:4003])
			return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4001, 2)
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(sent(), want) {
			t.Fatalf("step %d: the page cache shows something else", i)
		}
	}
}

// TestServedFull fills the store with requests of several pages: the one that
// finds no memory half way fails with ENOSPC and tells no count, what is there
// can be read, and freeing pages lets writes in again.
func TestServedFull(t *testing.T) {
	const request = 16 * pageSize
	d := newDevice(t, serveConfig{Disksize: smallDisk, MemLimit: 6 << 20})
	f := d.open(os.O_RDWR)
	content := func(n int) []byte {
		p := make([]byte, request)
		rng := rand.New(rand.NewPCG(8, uint64(n)))
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return p
	}
	done, n, err := 0, request, error(nil)
	for ; n == request && done*request < smallDisk; done++ {
		n, err = unix.Pwrite(int(f.Fd()), content(done), int64(done)*request)
	}
	done--
	if n != -1 || err != unix.ENOSPC || done < 16 {
		t.Fatalf("request %d: %d, %v; want ENOSPC after many", done, n, err)
	}
	got := make([]byte, request)
	for n := range done {
		if _, err := f.ReadAt(got, int64(n)*request); err != nil || !bytes.Equal(got, content(n)) {
			t.Fatalf("request %d of the full store: %v", n, err)
		}
	}
	if _, err := f.ReadAt(got, int64(done)*request); err != nil {
		t.Fatal(err)
	}
	for off := 0; off < request; off += pageSize {
		page := got[off : off+pageSize]
		if !bytes.Equal(page, content(done)[off:off+pageSize]) && !bytes.Equal(page, make([]byte, pageSize)) {
			t.Errorf("page %d of the failed request is neither old nor new", off/pageSize)
		}
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, smallDisk); err != nil {
		t.Fatal(err)
	}
	for n := range done / 2 {
		if _, err := f.WriteAt(content(n), int64(n)*request); err != nil {
			t.Fatalf("request %d after freeing: %v", n, err)
		}
	}
}
