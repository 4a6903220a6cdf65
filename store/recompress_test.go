// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/codec"
)

// texts are pages of words and noise, from such as hardly compress to such as do well.
func texts(n int) [][]byte {
	rng, words, data := rand.New(rand.NewPCG(3, 4)), make([][]byte, 300), make([][]byte, n)
	for i := range words {
		words[i] = noise(rng, 2+rng.IntN(9))
	}
	for i := range data {
		noisy := rng.IntN(12)
		for len(data[i]) < PageSize {
			if rng.IntN(24) < noisy-1 || noisy > 9 {
				data[i] = append(data[i], noise(rng, 6)...)
			} else {
				data[i] = append(data[i], words[rng.IntN(1+rng.IntN(len(words)))]...)
			}
		}
		data[i] = data[i][:PageSize]
	}
	return data
}

func noise(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// filled is a store full of such pages, by lz4, and one same-filled page.
func filled(t *testing.T, cfg Config) (*Store, [][]byte) {
	t.Helper()
	cfg.Algorithm = algorithm(t, "lz4")
	s, data := newStore(t, cfg), make([][]byte, cfg.Disksize/PageSize)
	newCalendar(s)
	sample := texts(len(data))
	for page := range uint64(len(data)) {
		data[page] = sample[page]
		if page == 9 {
			data[page] = content{9, 1, smallWord}.bytes()
		}
		write(t, s, page, data[page])
	}
	return s, data
}

func unchanged(t *testing.T, s *Store, data [][]byte) {
	t.Helper()
	for page, want := range data {
		if !bytes.Equal(read(t, s, uint64(page)), want) {
			t.Fatalf("page %d is not what it was", page)
		}
	}
}

func recompress(t *testing.T, s *Store, cfg RecompressConfig) Recompressed {
	t.Helper()
	if cfg.Algorithm == (codec.Algorithm{}) {
		cfg.Algorithm = algorithm(t, "zstd")
	}
	did, err := s.Recompress(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// Objects that the algorithm would make again as they are cost no time.
func TestRecompressLeavesItsOwn(t *testing.T) {
	dense := algorithm(t, "page:dense")
	s := newStore(t, Config{Disksize: 1 << 20, Algorithm: dense})
	for page, data := range texts(16) {
		write(t, s, uint64(page), data)
	}
	raw := s.Stats().HugePages
	if did := recompress(t, s, RecompressConfig{Algorithm: dense}); did.Tried != raw || did.Pages != 0 {
		t.Errorf("by page:dense, with %d incompressible pages: %+v", raw, did)
	}
	if did := recompress(t, s, RecompressConfig{}); did.Tried != 16-raw {
		t.Errorf("by zstd: %+v", did)
	}
}

// All objects that become smaller are replaced, once, and everything else stays.
func TestRecompress(t *testing.T) {
	s, data := filled(t, Config{Disksize: 16 << 20})
	before := s.Stats()
	rested := uint64(0)
	did := recompress(t, s, RecompressConfig{Rest: func(r Recompressed) { rested = r.Tried }})
	after := s.Stats()
	if did.Tried != before.OrigDataSize/PageSize-before.SamePages || did.Pages+did.Incompressible != did.Tried || did.Changed != 0 {
		t.Errorf("%+v of %+v", did, before)
	}
	if did.Pages < did.Tried/2 || before.ComprDataSize-after.ComprDataSize != did.SavedBytes || after.RecompressedSince != did.Pages {
		t.Errorf("%+v: compressed %d bytes before, %d after", did, before.ComprDataSize, after.ComprDataSize)
	}
	if rested < did.Tried/2 {
		t.Errorf("%d pages without a rest", did.Tried)
	}
	if before.Writes != after.Writes || before.OrigDataSize != after.OrigDataSize {
		t.Error("recompressing counts as writing")
	}
	states := map[PageState]uint64{}
	for page := range s.Pages() {
		st := s.PageState(page)
		states[PageState{Stored: st.Stored, Recompressed: st.Recompressed, Incompressible: st.Incompressible}]++
	}
	if states[PageState{Stored: true, Recompressed: true}] != did.Pages || states[PageState{Stored: true, Incompressible: true}] != did.Incompressible {
		t.Errorf("%+v, the pages' states are %v", did, states)
	}
	if again := recompress(t, s, RecompressConfig{Algorithm: algorithm(t, "page:dense")}); again.Tried != 0 {
		t.Errorf("pages are tried again: %+v", again)
	}
	unchanged(t, s, data) // and reads keep what is known
	if st := s.PageState(0); !st.Recompressed && !st.Incompressible {
		t.Errorf("a read page is %+v", st)
	}
	write(t, s, 0, data[0])
	if again := recompress(t, s, RecompressConfig{}); again.Tried != 1 {
		t.Errorf("a page that was written is not tried: %+v", again)
	}
}

// No object is replaced by one that takes more memory.
func TestRecompressNeverGrows(t *testing.T) {
	s, data := filled(t, Config{Disksize: 8 << 20})
	recompress(t, s, RecompressConfig{})
	for page, p := range data {
		s.ages.mark(uint64(page), 0, ageSticky) // as if written so
		if page%7 == 0 {
			write(t, s, uint64(page), p)
		}
	}
	lengths := make([]int, len(data))
	for page := range data {
		lengths[page] = s.PageState(uint64(page)).Length
	}
	did := recompress(t, s, RecompressConfig{Algorithm: algorithm(t, "lz4")})
	for page, before := range lengths {
		if now := s.PageState(uint64(page)).Length; now > before {
			t.Fatalf("page %d grew from %d bytes to %d (%+v)", page, before, now, did)
		}
	}
	unchanged(t, s, data)
}

// The longest objects come first, MaxPages ends it.
func TestRecompressLargestFirst(t *testing.T) {
	s, data := filled(t, Config{Disksize: 16 << 20})
	if did := recompress(t, s, RecompressConfig{MaxPages: 300}); did.Tried != 300 {
		t.Errorf("300 pages, no more: %+v", did)
	}
	least, most := PageSize, 0 // of those tried by the old length, of the others
	old := newStore(t, Config{Disksize: PageSize, Algorithm: algorithm(t, "lz4")})
	for page := range s.Pages() {
		write(t, old, 0, data[page])
		length := old.PageState(0).Length
		if st := s.PageState(page); st.Recompressed || st.Incompressible {
			least = min(least, length)
		} else {
			most = max(most, length)
		}
	}
	if least < most-classBytes {
		t.Errorf("an object of %d bytes was tried before one of %d", least, most)
	}
	unchanged(t, s, data)
}

// However many windows there are, the index is scanned once to count, and once for each class of
// length at the most.
func TestRecompressScansOnceAClass(t *testing.T) {
	s, data := filled(t, Config{Disksize: 16 << 20})
	c, err := algorithm(t, "zstd").NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	r := &Recompressor{s: s, compressor: c}
	order := r.order(context.Background(), 16)
	if err := order.run(); err != nil {
		t.Fatal(err)
	}
	if most := (1 + sizeClasses) * s.image.IndexPages; r.did.Tried < 4000 || order.scanned > most+r.did.Tried/16 {
		t.Errorf("%d pages of the index are scanned for %d pages, want %d at the most", order.scanned, r.did.Tried, most)
	}
	unchanged(t, s, data)
}

// A Recompressor takes the pages that are old enough, run after run.
func TestRecompressorTakesOldPages(t *testing.T) {
	s, data := filled(t, Config{Disksize: 16 << 20})
	r, err := s.NewRecompressor(RecompressConfig{Algorithm: algorithm(t, "page:dense")})
	if err != nil {
		t.Fatal(err)
	}
	c := newCalendar(s)
	c.walk(2000, false)
	for page := range data {
		if page%3 < 2 {
			read(t, s, uint64(page))
		}
	}
	c.walk(2001, true)
	c.walk(2800, false)
	for page := 0; page < len(data); page += 3 {
		read(t, s, uint64(page))
	}
	tried := uint64(0)
	for _, run := range []struct {
		age time.Duration
		due [3]bool // pages by their number's rest: accessed now, 800 and 2800 seconds ago
	}{{24 * time.Hour, [3]bool{}}, {1500 * time.Second, [3]bool{2: true}}, {500 * time.Second, [3]bool{1: true, 2: true}}} {
		did, err := r.Run(t.Context(), run.age)
		if err != nil {
			t.Fatal(err)
		}
		tried += did.Tried
		for page := range data {
			st := s.PageState(uint64(page))
			if done := st.Recompressed || st.Incompressible; !st.Same && done != run.due[page%3] {
				t.Fatalf("page %d after a run for %s: %+v", page, run.age, st)
			}
		}
	}
	if tried < uint64(len(data))/3 {
		t.Errorf("%d of %d pages were tried", tried, len(data))
	}
	unchanged(t, s, data)
}

// Which pages are chosen.
func TestRecompressChooses(t *testing.T) {
	s, data := filled(t, Config{Disksize: 16 << 20})
	read(t, s, 0)
	s.MarkIdle(0)
	for page := range s.Pages() / 2 {
		read(t, s, page) // not idle
	}
	count := func(want func(PageState) bool) (n uint64) {
		for page := range s.Pages() {
			if st := s.PageState(page); !st.Same && !st.Recompressed && !st.Incompressible && want(st) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		cfg  RecompressConfig
		want func(PageState) bool
	}{
		{"huge and idle", RecompressConfig{Huge: true, Idle: true}, func(st PageState) bool { return st.Huge && st.Idle }},
		{"huge", RecompressConfig{Huge: true}, func(st PageState) bool { return st.Huge }},
		{"idle, long", RecompressConfig{Idle: true, Threshold: 3000}, func(st PageState) bool { return st.Idle && st.Length >= 3000 }},
		{"idle", RecompressConfig{Idle: true}, func(st PageState) bool { return st.Idle }},
	} {
		want := count(c.want)
		if did := recompress(t, s, c.cfg); did.Tried != want || want == 0 {
			t.Errorf("%s: %d pages are to be tried: %+v", c.name, want, did)
		}
		if left := count(c.want); left != 0 {
			t.Errorf("%s: %d pages are left", c.name, left)
		}
	}
	for page := range s.Pages() {
		if s.PageState(page).Idle {
			t.Fatalf("page %d is still idle", page)
		}
	}
	unchanged(t, s, data)
}

func TestRecompressRefuses(t *testing.T) {
	s, data := filled(t, Config{Disksize: 4 << 20})
	for _, threshold := range []int{-1, PageSize} {
		_, err := s.Recompress(context.Background(), RecompressConfig{Algorithm: algorithm(t, "zstd"), Threshold: threshold})
		if !errors.Is(err, ErrConfig) {
			t.Errorf("threshold %d: %v", threshold, err)
		}
	}
	if _, err := s.Recompress(context.Background(), RecompressConfig{}); !errors.Is(err, codec.ErrUnknownAlgorithm) {
		t.Errorf("no algorithm: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	did, err := s.Recompress(ctx, RecompressConfig{Algorithm: algorithm(t, "zstd"), Rest: func(Recompressed) { cancel() }})
	if !errors.Is(err, context.Canceled) || did.Tried == 0 || did.Tried == s.Pages()-1 {
		t.Errorf("interrupted: %+v, %v", did, err)
	}
	unchanged(t, s, data)
}

// A damaged object is not replaced by anything that looks intact.
func TestRecompressLeavesDamage(t *testing.T) {
	s, data := filled(t, Config{Disksize: 4 << 20})
	flip := func() {
		s.passMu.Lock() // nothing moves
		defer s.passMu.Unlock()
		e := s.idx.load(5)
		s.image.Payload(e.Where(), e.Length())[e.Length()/2] ^= 1
	}
	flip()
	recompress(t, s, RecompressConfig{})
	w := s.Acquire()
	if err := w.Read(5, 0, make([]byte, PageSize)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the damaged page reads: %v", err)
	}
	w.Release()
	flip()
	unchanged(t, s, data)
}

// A page that is written, discarded or moved while its old object is being recompressed stays so.
func TestRecompressLosesRaces(t *testing.T) {
	s, _ := filled(t, Config{Disksize: 4 << 20})
	old := bytes.Clone(s.image.Payload(s.idx.load(3).Where(), s.idx.load(3).Length()))
	id := s.idx.load(3).Codec()
	w := s.Acquire()
	defer w.Release()
	again := func() bool {
		to, err := w.place(3, codec.Raw, content{3, 7, random}.bytes())
		if err != nil {
			t.Fatal(err)
		}
		if w.exchange(3, id, old, to) {
			return true
		}
		w.deferFree(to)
		return false
	}
	write(t, s, 3, content{3, 2, random}.bytes())
	if again() || !bytes.Equal(read(t, s, 3), content{3, 2, random}.bytes()) {
		t.Error("a write was lost")
	}
	discard(s, 3, 1)
	if again() || !allBytes(read(t, s, 3), 0) {
		t.Error("a discard was lost")
	}
	write(t, s, 3, content{3, 3, random}.bytes())
	old, id = bytes.Clone(s.image.Payload(s.idx.load(3).Where(), PageSize)), s.idx.load(3).Codec()
	write(t, s, 3, content{3, 4, random}.bytes()) // an object of the same length
	if again() || !bytes.Equal(read(t, s, 3), content{3, 4, random}.bytes()) {
		t.Error("a write of the same length was lost")
	}
	write(t, s, 3, content{3, 3, random}.bytes())
	s.passMu.Lock()
	err := s.move(s.idx.load(3).Where())
	s.passMu.Unlock()
	if err != nil || !again() || !bytes.Equal(read(t, s, 3), content{3, 7, random}.bytes()) {
		t.Errorf("an object that was moved is not replaced (%v)", err)
	}
}

// Where no limit can be met, recompression comes to its end, and every page is kept.
func TestRecompressWithoutMemory(t *testing.T) {
	s, data := filled(t, Config{Disksize: 8 << 20})
	s.SetMemLimit(1)
	if did := recompress(t, s, RecompressConfig{}); did.Pages < did.Tried/2 {
		t.Errorf("without any memory: %+v", did)
	}
	unchanged(t, s, data)
}

// Everything that an operator may ask for goes on among requests, and the pages are right.
func TestModelWithOperator(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20, MemLimit: 12 << 20})
	m := newModel(t, s)
	stop := make(chan struct{})
	var operating sync.WaitGroup
	for id, act := range []func(i int) error{
		func(i int) error {
			s.MarkIdle(0)
			_, err := s.Recompress(context.Background(), RecompressConfig{
				Algorithm: algorithm(t, []string{"zstd", "page:dense", "lz4"}[i%3]), Idle: i%2 == 0, MaxPages: 500,
			})
			if errors.Is(err, ErrFull) {
				return nil
			}
			return err
		},
		func(i int) error { return s.SetAlgorithm(algorithm(t, codec.Algorithms()[i%7])) },
		func(i int) error {
			s.SetMemLimit([]uint64{4 << 20, 12 << 20, 9 << 20, 64 << 20}[i%4])
			s.CompactNow(nil)
			s.ResetPeak()
			return nil
		},
	} {
		operating.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := act(i); err != nil {
					t.Errorf("operator %d: %v", id, err)
					return
				}
			}
		})
	}
	m.run(4, 2, opsFor(t)/4)
	close(stop)
	operating.Wait()
	s.SetMemLimit(0)
	m.verify()
	holds(t, s)
}
