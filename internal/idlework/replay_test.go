// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store"
)

// pace is how long a recorded second lasts in a replay: machines used for minutes stand for ones
// used for hours, at a sixtieth of the pace.
const pace = time.Minute

// An access is a line of a trace: see tools/agetrace.
type access struct {
	second int
	kind   byte // w, r or d
	page   uint64
	pages  uint64
}

// readTrace reads a file of tools/agetrace.
func readTrace(t testing.TB, name string) (all []access) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "ages", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	second, page := 0, uint64(0)
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var later int
		var further int64
		var a access
		if _, err := fmt.Sscanf(lines.Text(), "%d %c %d %d", &later, &a.kind, &further, &a.pages); err != nil {
			t.Fatalf("%s: %q: %v", name, lines.Text(), err)
		}
		second += later
		page += uint64(further)
		a.second, a.page = second, page
		all = append(all, a)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// An agePolicy says each minute from which age on pages are cold.
type agePolicy interface {
	look(reads [store.AgeClasses]uint64, stored uint64, since time.Duration) time.Duration
}

// A fixedAge is always the same.
type fixedAge time.Duration

func (f fixedAge) look([store.AgeClasses]uint64, uint64, time.Duration) time.Duration {
	return time.Duration(f)
}

// fixed is what Android's memory daemon does where this part of the memory is in use: from four
// hours where none is to two where all is.
func fixed(used float64) fixedAge {
	const least, most = 2 * time.Hour, 4 * time.Hour
	return fixedAge(float64(most-least)*math.Exp(-5*used)) + fixedAge(least)
}

// A stored page is one that the device holds.
type storedPage struct {
	at     time.Duration // of the last read or write
	cold   bool          // it became cold since
	packed bool          // its object is packed: until it is written again
}

// A replay is a device to which a trace happens.
type replay struct {
	policy  agePolicy
	exact   bool // it knows ages to the minute; ours knows classes
	age     time.Duration
	pages   map[uint64]*storedPage
	packed  uint64
	reads   [store.AgeClasses]uint64
	back    uint64 // cold pages that were read in this minute
	minutes []replayMinute
}

// A replayMinute is what a replay has at the end of a minute.
type replayMinute struct {
	stored, packed, back uint64
	age                  time.Duration
}

// run replays a trace to its end.
func run(trace []access, policy agePolicy) *replay {
	_, exact := policy.(fixedAge)
	r := &replay{policy: policy, exact: exact, age: mostAge, pages: map[uint64]*storedPage{}}
	for _, a := range trace {
		now := time.Duration(a.second) * pace
		for r.now() < now {
			r.minute()
		}
		for page := a.page; page < a.page+a.pages; page++ {
			r.access(a.kind, page, now)
		}
	}
	r.minute()
	return r
}

func (r *replay) now() time.Duration { return time.Duration(len(r.minutes)) * time.Minute }

func (r *replay) access(kind byte, page uint64, now time.Duration) {
	p := r.pages[page]
	if kind == 'r' {
		if p == nil { // it holds nothing
			return
		}
		r.reads[classOf(page, now-p.at)]++
		if p.cold {
			r.back++
		}
		p.at, p.cold = now, false
		return
	}
	if p != nil && p.packed {
		r.packed--
	}
	delete(r.pages, page)
	if kind == 'w' {
		r.pages[page] = &storedPage{at: now}
	}
}

// minute ends a minute: pages become cold and are packed, all that are old enough. Packing takes no
// time, with any policy.
func (r *replay) minute() {
	stored := uint64(len(r.pages))
	r.age = r.policy.look(r.reads, stored, time.Minute)
	end := r.now() + time.Minute
	for page, p := range r.pages {
		if p.cold || end-p.at < r.age || !r.exact && classFrom(classOf(page, end-p.at)) < r.age {
			continue
		}
		p.cold = true
		if !p.packed {
			p.packed = true
			r.packed++
		}
	}
	r.minutes = append(r.minutes, replayMinute{stored, r.packed, r.back, r.age})
	r.back = 0
}

// classOf is the class in which a device has a page of this age. It knows ages within a third; what
// a page's share of that is depends on the page.
func classOf(page uint64, age time.Duration) (class int) {
	for ; class < store.AgeClasses-1; class++ {
		from, _ := store.AgeClass(class + 1)
		_, to := store.AgeClass(class)
		if age < from+(to-from)/8*time.Duration(page%8) {
			break
		}
	}
	return class
}
