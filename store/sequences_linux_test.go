// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/simkernel"
	"github.com/zramfs/zramfs/store/internal/image"
)

var (
	sequenceLength = flag.Int("length", 2, "try every sequence of up to this many operations")
	sequenceSample = flag.Int("sample", 0, "besides, how many sequences of two operations more to draw")
	sequenceOne    = flag.String("sequence", "", "try this sequence alone, names with commas between them")
)

// touched is the page that the operations of a sequence are about. Pages around it hold what
// recompression, compaction and same-filled slots bring it together with.
const (
	touched       = 3
	sequencePages = 8
)

// sequencePrefix is what may be used of a segment: the operations of a sequence fill less.
const sequencePrefix = 64 << 10

// An operation is what sequences are made of.
type operation struct {
	name string
	// wish is what the page is to hold after it, as the nth of a sequence; nil for one that changes
	// no page.
	wish func(l *sequenceLife, n int) []byte
	do   func(l *sequenceLife, wish []byte) error
}

var operations = []operation{
	{"same", func(_ *sequenceLife, n int) []byte { return content{1, uint32(n % 2), tableWord}.bytes() }, (*sequenceLife).write},
	{"compressible", func(_ *sequenceLife, n int) []byte { return content{touched, uint32(n), compressible}.bytes() }, (*sequenceLife).write},
	{"random", func(_ *sequenceLife, n int) []byte { return content{touched, uint32(n), random}.bytes() }, (*sequenceLife).write},
	{"alike", func(_ *sequenceLife, n int) []byte { return content{touched, uint32(n), alike}.bytes() }, (*sequenceLife).write},
	{"rewrite", func(l *sequenceLife, _ int) []byte { return bytes.Clone(l.held[touched]) }, (*sequenceLife).write},
	{"partial", (*sequenceLife).partly, (*sequenceLife).writePart},
	{"discard", func(*sequenceLife, int) []byte { return make([]byte, PageSize) }, (*sequenceLife).discard},
	{"read", nil, (*sequenceLife).read},
	{"compact", nil, func(l *sequenceLife, _ []byte) error { l.s.CompactNow(nil); return nil }},
	{"recompress", nil, (*sequenceLife).recompress},
	{"join", nil, func(l *sequenceLife, _ []byte) error { return joinAll(l.s) }},
	{"writeback", nil, (*sequenceLife).writeBack},
}

// A sequenceLife is a process that carries out a sequence, watched during the last operation.
type sequenceLife struct {
	s       *Store
	cfg     Config
	held    [sequencePages][]byte
	seen    *sight
	packing RecompressConfig
}

const partAt, partLength = 1000, 700

// partly is what the page holds with a part of it written.
func (l *sequenceLife) partly(n int) []byte {
	p := bytes.Clone(l.held[touched])
	copy(p[partAt:], content{touched, uint32(n), random}.bytes()[:partLength])
	return p
}

func (l *sequenceLife) write(wish []byte) error { return l.writeAt(0, wish) }

func (l *sequenceLife) writePart(wish []byte) error {
	return l.writeAt(partAt, wish[partAt:partAt+partLength])
}

func (l *sequenceLife) writeAt(off int, p []byte) error {
	w := l.s.Acquire()
	defer w.Release()
	return w.Write(touched, off, p)
}

func (l *sequenceLife) discard([]byte) error {
	w := l.s.Acquire()
	defer w.Release()
	w.Discard(touched, 1)
	return nil
}

func (l *sequenceLife) read([]byte) error { return l.compare(l.held[:], touched, touched+1) }

// compare reads pages and compares them with what they are to hold.
func (l *sequenceLife) compare(want [][]byte, from, to int) error {
	w := l.s.Acquire()
	defer w.Release()
	p := make([]byte, PageSize)
	for page := from; page < to; page++ {
		if err := w.Read(uint64(page), 0, p); err != nil {
			return fmt.Errorf("page %d: %w", page, err)
		}
		if !bytes.Equal(p, want[page]) {
			return fmt.Errorf("page %d: %w", page, errOther)
		}
	}
	return nil
}

var errOther = errors.New("it does not hold what was written")

func (l *sequenceLife) recompress([]byte) error {
	_, err := l.s.Recompress(context.Background(), l.packing)
	return err
}

func (l *sequenceLife) writeBack([]byte) error {
	_, err := l.s.WriteBack(WritebackConfig{Pages: []Selection{{First: touched - 1, End: touched + 2}}})
	return err
}

// live carries a sequence out and returns an instant for each state of the image during the last
// operation, and at its end.
func (l *sequenceLife) live(mem *Memory, sequence []int) (err error) {
	w := simkernel.New(1)
	w.Memory.Left, w.Memory.Scarce = 1<<30, 0
	w.SetMean(1000)
	p := w.NewProcess("first")
	failure := w.Run(func() {
		done := false
		p.Go("main", func() {
			err = l.carryOut(w, p, mem, sequence)
			done = true
		})
		simkernel.Until(func() bool { return done })
	})
	return errors.Join(err, failure, p.Free())
}

func (l *sequenceLife) carryOut(w *simkernel.World, p *simkernel.Process, mem *Memory, sequence []int) (err error) {
	if l.s, err = Create(mem, l.cfg); err != nil {
		return err
	}
	if err := l.surround(); err != nil {
		return err
	}
	for n, which := range sequence {
		o, last := operations[which], n == len(sequence)-1
		var wish []byte
		if o.wish != nil {
			wish = o.wish(l, n)
		}
		if last {
			l.seen.before, l.seen.after = l.held[touched], wish
			l.seen.look()
			w.Watch(p, l.seen.look)
		}
		if err := o.do(l, wish); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		if wish != nil {
			l.held[touched] = wish
		}
	}
	l.seen.before, l.seen.after = l.held[touched], nil
	l.seen.look()
	simkernel.Sleep(time.Millisecond) // for the maintainer
	w.Watch(nil, nil)
	l.s.Check(func(e error) { err = errors.Join(err, e) })
	return errors.Join(err, l.compare(l.held[:], 0, sequencePages))
}

// around is what pages hold around the one that sequences are about: much as it for joining.
var around = [sequencePages]contentKind{zeros, tableWord, alike, zeros, alike, alike, random, compressible}

// surround writes the pages around the one that sequences are about, some of them twice, so that
// there is garbage.
func (l *sequenceLife) surround() error {
	w := l.s.Acquire()
	defer w.Release()
	for _, version := range []uint32{7, 8} {
		for page := range l.held {
			if page == touched {
				l.held[page] = make([]byte, PageSize)
				continue
			}
			l.held[page] = content{uint32(page), version, around[page]}.bytes()
			if page == 1 { // a word that it shares with the page that sequences are about
				l.held[page] = content{1, version % 2, tableWord}.bytes()
			}
			if err := w.Write(uint64(page), 0, l.held[page]); err != nil {
				return err
			}
		}
	}
	return nil
}

// A sight looks at an image from outside of the process that changes it. It calls nothing of the
// store while that process is watched.
type sight struct {
	file          int    // of the image
	mem           []byte // a mapping of its own
	segments      int64  // where they begin
	before, after []byte // what the page may hold; after is nil where the operation has ended
	instants      []instant
	blocks        int64  // that the file had when it was surveyed
	unsettled     int    // looks until memory that was taken is made present, which changes no blocks
	data, parts   []span // what the survey found; see instant
}

// A span is the bytes from one offset to another.
type span struct{ from, to int64 }

// An instant is what a process leaves that dies: the parts of the image that hold anything, and
// what the page may hold.
type instant struct {
	before, after []byte
	data          []span   // of the file; all beyond is holes
	parts         []span   // of these, what was looked at
	bytes         [][]byte // of each part
}

// survey finds the parts of the image that exist and, of those, the parts that are used.
func (v *sight) survey() (data, parts []span) {
	var st unix.Stat_t
	if err := unix.Fstat(v.file, &st); err != nil {
		panic(err)
	}
	if st.Blocks != v.blocks {
		v.blocks, v.unsettled = st.Blocks, 32
	}
	if v.unsettled == 0 {
		return v.data, v.parts
	}
	v.unsettled--
	v.data, v.parts = nil, nil
	for off := int64(0); ; {
		from, err := unix.Seek(v.file, off, unix.SEEK_DATA)
		if err != nil { // there is no more
			break
		}
		if off, err = unix.Seek(v.file, from, unix.SEEK_HOLE); err != nil {
			panic(err)
		}
		v.data = append(v.data, span{from, off})
	}
	for _, d := range v.data {
		for from := d.from; from < d.to; {
			to := min(d.to, v.segments)
			if from >= v.segments {
				to = min(d.to, from+image.SegmentSize-(from-v.segments)%image.SegmentSize)
			}
			v.parts = append(v.parts, span{from, min(to, from+sequencePrefix)})
			from = to
		}
	}
	return v.data, v.parts
}

// look notes the instant, if the image or what the page may hold has changed.
func (v *sight) look() {
	data, parts := v.survey()
	if n := len(v.instants); n > 0 && v.instants[n-1].is(v, data, parts) {
		return
	}
	i := instant{before: v.before, after: v.after, data: data, parts: parts}
	for _, p := range parts {
		i.bytes = append(i.bytes, bytes.Clone(v.mem[p.from:p.to]))
	}
	v.instants = append(v.instants, i)
}

func (i *instant) is(v *sight, data, parts []span) bool {
	if !slices.Equal(data, i.data) || !slices.Equal(parts, i.parts) || (v.after == nil) != (i.after == nil) {
		return false
	}
	for n, p := range parts {
		if !bytes.Equal(v.mem[p.from:p.to], i.bytes[n]) {
			return false
		}
	}
	return true
}

// restore makes a file what the process left.
func (i *instant) restore(f memoryFile, size int64) error {
	if err := errors.Join(f.Truncate(0), f.Truncate(size)); err != nil {
		return err
	}
	for _, d := range i.data {
		if err := unix.Fallocate(int(f.Fd()), 0, d.from, d.to-d.from); err != nil {
			return err
		}
	}
	for n, p := range i.parts {
		if _, err := f.WriteAt(i.bytes[n], p.from); err != nil {
			return err
		}
	}
	return nil
}

// survive opens what the process left and compares everything: the page holds what it held before
// or what it was to hold, the others what they hold, and so they do after a further write.
func (i *instant) survive(mem *Memory, l *sequenceLife) (err error) {
	if err := i.restore(mem.file, int64(len(l.seen.mem))); err != nil {
		return err
	}
	w := simkernel.New(2)
	w.Memory.Left = 1 << 30
	w.SetMean(1000)
	p := w.NewProcess("second")
	failure := w.Run(func() {
		done := false
		p.Go("main", func() {
			err = i.open(mem, l)
			done = true
		})
		simkernel.Until(func() bool { return done })
	})
	mem.mem = nil // Free removes the mapping
	return errors.Join(err, failure, p.Free())
}

func (i *instant) open(mem *Memory, l *sequenceLife) (err error) {
	next := &sequenceLife{cfg: l.cfg, held: l.held}
	if next.s, err = Open(mem, l.cfg); err != nil {
		return err
	}
	next.held[touched] = i.before
	if err = next.compare(next.held[:], 0, sequencePages); err != nil && i.after != nil {
		next.held[touched] = i.after
		err = next.compare(next.held[:], 0, sequencePages)
	}
	if err != nil {
		return err
	}
	next.s.Check(func(e error) { err = errors.Join(err, e) })
	if err != nil {
		return err
	}
	next.held[touched] = content{touched, 99, compressible}.bytes()
	if err := next.write(next.held[touched]); err != nil {
		return err
	}
	return next.compare(next.held[:], 0, sequencePages)
}

// A sequenceRun tries sequences.
type sequenceRun struct {
	t         *testing.T
	cfg       Config
	packing   RecompressConfig
	next      *Memory // of the processes that carry on
	sequences int
	instants  int
}

// try carries a sequence out, and dies at each instant of its last operation.
func (r *sequenceRun) try(sequence []int) bool {
	mem, err := NewMemory(MemoryMemfd)
	if err != nil {
		r.t.Fatal(err)
	}
	b := image.NewSuperblock(r.cfg.Disksize, segmentsFor(r.cfg), false)
	g := b.Geometry()
	view, err := unix.Mmap(int(mem.file.Fd()), 0, int(g.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		r.t.Fatal(err)
	}
	l := &sequenceLife{cfg: r.cfg, packing: r.packing, seen: &sight{file: int(mem.file.Fd()), mem: view, segments: g.SegmentAt(0)}}
	err = l.live(mem, sequence)
	mem.mem = nil
	for n := range l.seen.instants {
		if err != nil {
			break
		}
		if err = l.seen.instants[n].survive(r.next, l); err != nil {
			err = fmt.Errorf("died at instant %d of %d of the last operation: %w", n+1, len(l.seen.instants), err)
		}
		r.instants++
	}
	r.sequences++
	if err = errors.Join(err, unix.Munmap(view), mem.Close()); err != nil {
		r.t.Errorf("%s: %v", sequenceName(sequence), err)
	}
	return err == nil
}

func sequenceName(sequence []int) string {
	var names []string
	for _, which := range sequence {
		names = append(names, operations[which].name)
	}
	return strings.Join(names, ", ")
}

// each tries all sequences that begin so and have up to length operations, but for those that begin
// with one that fails.
func (r *sequenceRun) each(begin []int, length int) {
	if len(begin) > 0 && !r.try(begin) || len(begin) == length {
		return
	}
	for which := range operations {
		r.each(append(begin[:len(begin):len(begin)], which), length)
	}
}

// Every sequence of up to -length operations, with a death at each instant of its last one: each
// page is as it was or as it was to be, and all invariants hold. The deaths in earlier operations
// are those of shorter sequences.
func TestEverySequence(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	next, err := NewMemory(MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	r := &sequenceRun{t: t, next: next, packing: RecompressConfig{Algorithm: algorithm(t, "zstd(level=1)")}}
	r.cfg = withAlgorithm(t, Config{Disksize: sequencePages * PageSize, MaxMemory: 1 << 23, Workers: 4, Backing: newBacking(t, 64)})
	if *sequenceOne != "" {
		r.try(sequenceOf(t, *sequenceOne))
		return
	}
	r.each(nil, *sequenceLength)
	r.sample(*sequenceSample, *sequenceLength+1)
	if r.instants < 4*r.sequences {
		t.Errorf("there are %d instants in %d operations: too few", r.instants, r.sequences)
	}
}

// sample tries sequences that are drawn, of a length or one operation more.
func (r *sequenceRun) sample(sequences, length int) {
	rng := rand.New(rand.NewPCG(require.Seed(r.t, 1), 3))
	for range sequences {
		sequence := make([]int, length+rng.IntN(2))
		for n := range sequence {
			sequence[n] = rng.IntN(len(operations))
		}
		r.try(sequence)
	}
	r.t.Logf("%d sequences, %d deaths; %d sequences drawn", r.sequences, r.instants, sequences)
}

// sequenceOf is the sequence of that name.
func sequenceOf(t *testing.T, name string) (sequence []int) {
	for name := range strings.SplitSeq(name, ",") {
		which := slices.IndexFunc(operations, func(o operation) bool { return o.name == strings.TrimSpace(name) })
		if which < 0 {
			t.Fatalf("no operation is called %q", name)
		}
		sequence = append(sequence, which)
	}
	return sequence
}
