// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// calendar keeps the maintainer from walking and lets a test say what time it is.
type calendar struct{ s *Store }

func newCalendar(s *Store) calendar {
	s.passMu.Lock()
	defer s.passMu.Unlock()
	s.ages.walk.under, s.ages.walk.due = false, time.Now().Add(time.Hour)
	return calendar{s}
}

// walk brings all ages to a tick.
func (c calendar) walk(tick int64, accessed bool) {
	c.s.passMu.Lock()
	defer c.s.passMu.Unlock()
	c.s.ages.walk.begin(tick, accessed)
	for !c.s.ages.piece() {
		// batch by piece
	}
}

// Whatever the times at which pages are accessed, the age that the store knows contains the true
// one.
func TestAgesContainTheTruth(t *testing.T) {
	const pages, ticks = 500, 3000
	s := newStore(t, Config{Disksize: 4 << 20})
	c, rng := newCalendar(s), rand.New(rand.NewPCG(1, 2))
	accessed := make([]int64, pages) // the tick after which it was
	for page := range uint64(pages) {
		write(t, s, page, content{uint32(page), 1, compressible}.bytes())
	}
	for tick := int64(1); tick <= ticks; tick++ {
		c.walk(tick, true)
		page := rng.Uint64N(pages)
		if tick%2 == 0 {
			page = rng.Uint64N(20) // some are young
			write(t, s, page, content{uint32(page), 2, compressible}.bytes())
		} else {
			read(t, s, page)
		}
		accessed[page] = tick
	}
	for page := range uint64(pages) {
		// Accessed between two ticks: n ticks are an age of more than n-1 and at most n.
		age := time.Duration(ticks-accessed[page]) * ageTick
		step := int(s.ages.of(page)&ageCode) - ageNow
		least, _ := stepAges(step)
		_, most := stepAges(step + 1)
		if got := s.PageState(page).Age; got != least || age < least || age > most {
			t.Errorf("page %d of %v is of step %d, from %v to %v; its state says %v", page, age, step, least, most, got)
		}
	}
}

// Ages grow by a walk over many ticks as by many walks, and end.
func TestAgesSkipTicks(t *testing.T) {
	for _, to := range []int64{1, 2, 3, 7, 64, 1000, 1 << 17} {
		for from := range int64(40) {
			for step := range ageCodes - 1 {
				by := step
				for tick := from; tick < from+to && by < ageCodes-2 && tick-from < 2000; tick++ {
					by = stepAfter(by, tick, tick+1, false)
				}
				if got := stepAfter(step, from, from+to, false); to < 2000 && got != by || got > ageCodes-2 {
					t.Fatalf("step %d from tick %d to %d becomes %d, tick by tick %d", step, from, from+to, got, by)
				}
			}
		}
	}
	if got := stepAfter(0, 5, 500, true); got != 1 {
		t.Errorf("a page that may just have been accessed becomes %d steps old", got)
	}
	if got := stepAfter(0, 0, 1<<20, false); got != ageCodes-2 {
		t.Errorf("the oldest step is %d", got)
	}
}

// The ages at which pages come to a step are those of the text at the table, in ticks.
func TestStepAges(t *testing.T) {
	for step, want := range [][2]time.Duration{{0, 0}, {0, 1}, {1, 2}, {2, 4}, {4, 6}, {6, 10}, {10, 14}} {
		if least, most := stepAges(step); least != want[0]*ageTick || most != want[1]*ageTick {
			t.Errorf("step %d: %v to %v, want %v ticks", step, least, most, want)
		}
	}
}

// The classes follow one another, and say in Stats how old pages are and at which age they are
// read.
func TestAgeStats(t *testing.T) {
	for class := range AgeClasses - 1 {
		from, to := AgeClass(class)
		next, _ := AgeClass(class + 1)
		if from >= next || to < next || class > 2 && to > 3*from {
			t.Errorf("class %d is from %v to %v, the next one from %v", class, from, to, next)
		}
	}
	s := newStore(t, Config{Disksize: 4 << 20})
	c := newCalendar(s)
	for page := range uint64(100) {
		write(t, s, page, content{uint32(page), 1, contentKind(page) % contentKinds}.bytes())
	}
	for tick := range int64(200) {
		c.walk(tick, true)
	}
	for page := range uint64(30) {
		read(t, s, page)
	}
	read(t, s, 5)
	discard(s, 99, 1)
	c.walk(200, true)
	old := 0
	for from, _ := AgeClass(old + 1); from < 195*time.Second; from, _ = AgeClass(old + 1) {
		old++
	}
	st := s.Stats().Ages
	if st.Classes[0] != 30 || st.Classes[old] != 69 {
		t.Errorf("30 pages are young, and 69 of class %d: %v", old, st.Classes)
	}
	if st.Idle != 0 || st.Recompressed != 0 || st.Incompressible != 0 {
		t.Errorf("no page is marked: %+v", st)
	}
	if st.Refaults[0] != 1 || st.Refaults[old] != 30 {
		t.Errorf("30 pages of class %d were read, and a young one: %v", old, st.Refaults)
	}
	for page, flags := range []byte{ageRecompressed, ageUncompressing, ageUncompressing, ageSticky, ageIdle, ageIdle, ageIdle} {
		s.ages.mark(uint64(page), flags, 0)
	}
	s.ages.mark(4, 0, ageRecompressed) // what it does not have
	if s.ages.mark(99, ageIdle, 0); s.ages.of(99) != ageNone {
		t.Errorf("a page that holds nothing has an age: %#x", s.ages.of(99))
	}
	c.walk(201, true)
	if st := s.Stats().Ages; st.Recompressed != 1 || st.Incompressible != 2 || st.Idle != 3 {
		t.Errorf("one page is recompressed, two are incompressible and three idle: %+v", st)
	}
}

// The maintainer walks by itself.
func TestMaintainerAges(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 20})
	write(t, s, 3, content{3, 1, random}.bytes())
	eventually(t, "the page ages", func() bool { return s.ages.of(3)&ageCode > ageNow+1 })
}

// Walks follow one another less and less often while no page is used, but once a minute; the
// maintainer may walk as well.
func TestWalksLessOften(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 20})
	write(t, s, 3, content{3, 1, random}.bytes())
	every := func() time.Duration {
		s.passMu.Lock()
		defer s.passMu.Unlock()
		s.ages.walk.under, s.ages.walk.due = false, time.Time{}
		return s.ages.walk.every
	}
	every()
	for n := range 10 {
		s.ageSome()
		if got, least := every(), min(time.Second<<n, ageQuiet); got < least || got > ageQuiet {
			t.Errorf("%d walks after the last access the next is due after %v, want %v to %v", n, got, least, ageQuiet)
		}
	}
}

// Objects alone are idle, of an age or all, until they are read, written or discarded.
func TestMarkIdle(t *testing.T) {
	s := newStore(t, Config{Disksize: 4 << 20})
	c := newCalendar(s)
	for page := range uint64(8) {
		write(t, s, page, content{uint32(page), 1, random}.bytes())
	}
	write(t, s, 8, content{8, 1, smallWord}.bytes())
	c.walk(1000, false)
	read(t, s, 7)
	if got := s.MarkIdle(300 * time.Second); got != 7 {
		t.Errorf("%d pages are marked for 300 seconds, of 7", got)
	}
	if got := s.MarkIdle(2000 * time.Second); got != 0 {
		t.Errorf("%d pages are marked that are younger", got)
	}
	if got := s.MarkIdle(0); got != 8 {
		t.Errorf("%d pages are marked, of 8", got)
	}
	read(t, s, 0)
	w := s.Acquire()
	if err := w.Write(1, 100, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	w.Discard(2, 1)
	w.Release()
	for page, want := range []bool{false, false, false, true, true, true, true, true, false, false} {
		if got := s.PageState(uint64(page)); got.Idle != want || got.Stored != (page != 2 && page != 9) || got.Same != (page == 8) {
			t.Errorf("page %d: idle is to be %v: %+v", page, want, got)
		}
	}
	if got := s.PageState(s.Pages()); got != (PageState{}) {
		t.Errorf("a page beyond the device: %+v", got)
	}
	c.walk(1001, true)
	if got := s.Stats().Ages.Idle; got != 5 {
		t.Errorf("%d pages are counted as idle, of 5", got)
	}
}

// Ages outlive the process; an image that never had any gets them.
func TestAgesAreInTheImage(t *testing.T) {
	for _, size := range []uint64{16 << 20, steppedDisk} {
		mem, cfg := newMemory(t), withAlgorithm(t, Config{Disksize: size, MaxMemory: 1 << 28})
		s, err := Create(mem, cfg)
		if err != nil {
			t.Fatal(err)
		}
		far := s.Pages() - 9
		write(t, s, 3, content{3, 1, random}.bytes())
		write(t, s, far, content{uint32(far), 1, random}.bytes())
		newCalendar(s).walk(1000, false)
		s.MarkIdle(0)
		was := s.PageState(far)
		s.die()
		if s, err = Open(mem, cfg); err != nil {
			t.Fatal(err)
		}
		if got := s.PageState(far); !got.Idle || got.Age < was.Age || got.Age < 300*time.Second {
			t.Errorf("the page's state is %+v, was %+v", got, was)
		}
		begin, n := s.image.AgePageAt(0), int64(s.image.AgePages())*PageSize
		s.die()
		if err := mem.reserve(s.image.Size); err != nil {
			t.Fatal(err)
		}
		if err := mem.punch(begin, n); err != nil {
			t.Fatal(err)
		}
		if err := mem.unmap(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(mem, cfg); err != nil {
			t.Fatal(err)
		}
		if b := s.ages.of(far); b != ageNow {
			t.Errorf("the age of a page that had none is %#x", b)
		}
		write(t, s, far/2, content{uint32(far / 2), 1, random}.bytes())
		finish(t, s)
	}
}

// Ages may be looked at and changed by all at once.
func TestAgesAmongRequests(t *testing.T) {
	s := newStore(t, Config{Disksize: 16 << 20})
	m := newModel(t, s)
	stop := make(chan struct{})
	var marking sync.WaitGroup
	marking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			s.MarkIdle(0)
			s.Stats()
			s.PageState(7)
		}
	})
	m.run(4, 2, opsFor(t)/4)
	close(stop)
	marking.Wait()
	m.verify()
}

// A flipped bit behind the age of the last page, in a word that eight pages share, is of no page:
// no walk looks for one, and the bit goes.
func TestFlipBehindTheLastAge(t *testing.T) {
	s := newStore(t, Config{Disksize: 13 * PageSize})
	c := newCalendar(s)
	write(t, s, 12, content{12, 1, compressible}.bytes())
	for bit := range int64(4) {
		s.ages.words[1].Or(1 << (5*8 + bit))
		for tick := range int64(500) {
			c.walk(500*bit+tick, true)
		}
		if b := byte(s.ages.words[1].Load() >> (5 * 8)); b != ageNone {
			t.Errorf("bit %d behind the last page has become %#x", bit, b)
		}
	}
}
