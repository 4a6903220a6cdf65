// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// settingsOf reads what a text has, and wants nothing to be lost.
func settingsOf(t *testing.T, r requests) Settings {
	t.Helper()
	c, lost, _ := r.settings()
	if lost != nil {
		t.Errorf("lost %q", lost)
	}
	return c
}

// TestChosenIsKept writes many texts, each over the one before last.
func TestChosenIsKept(t *testing.T) {
	r := requests{make([]byte, buffersAt)}
	if c := settingsOf(t, r); c != (Settings{}) {
		t.Errorf("new memory has %+v", c)
	}
	for i := range uint64(100) {
		want := Settings{Algorithm: strings.Repeat("a", int(i)), WritebackLimit: i, Resized: i}
		want.Recompression[i%recompressions] = "zstd"
		if err := r.keepChosen(want); err != nil {
			t.Fatal(err)
		}
		if got := settingsOf(t, r); got != want {
			t.Fatalf("%+v; want %+v", got, want)
		}
	}
	before := settingsOf(t, r)
	if err := r.keepChosen(Settings{Algorithm: strings.Repeat("a", chosenSize)}); !errors.Is(err, syscall.E2BIG) {
		t.Errorf("too long a text: %v", err)
	}
	copy(r.chosenRoom(1), strings.Repeat("x", chosenSize)) // as a process that is killed while it writes
	if got := settingsOf(t, r); got != before {
		t.Errorf("after an unfinished text %+v; want %+v", got, before)
	}
	if loops := []byte(strings.Repeat("l", maxLoops)); !r.setLoops(loops) || string(r.loops()) != string(loops) || len(loops) != 2048 {
		t.Errorf("the text of control/loops has no room: %d bytes", len(loops))
	}
}

// Each bit of the settings may be damaged. Each setting is then read as written, or reported as
// lost.
func TestDamagedSettings(t *testing.T) {
	memory := make([]byte, buffersAt)
	r := requests{memory}
	before := Settings{Algorithm: "lz4", WritebackLimit: 77}
	last := Settings{Algorithm: "zstd(level=7)", WritebackLimit: 78, WritebackLimited: true}
	for _, c := range []Settings{before, last} {
		if err := r.keepChosen(c); err != nil {
			t.Fatal(err)
		}
	}
	intact := bytes.Clone(memory)
	check := func(where string) {
		t.Helper()
		c, lost, _ := r.settings()
		if c == last || c == before && len(lost) == 1 {
			return
		}
		t.Fatalf("%s damaged: %+v, lost %q", where, c, lost)
	}
	for bit := range 8 * 2 * chosenSize {
		memory[chosenAt+bit/8] ^= 1 << (bit % 8)
		check(fmt.Sprintf("bit %d of the texts", bit))
		next := Settings{WritebackLimit: 79} // by a later change of a setting
		if err := r.keepChosen(next); err != nil {
			t.Fatal(err)
		}
		if c := settingsOf(t, r); c != next {
			t.Fatalf("after bit %d was damaged and a setting changed: %+v", bit, c)
		}
		clear(r.chosenRoom(r.word(wordChosen).Load() >> chosenShift)[10:]) // as a process that is killed at work
		copy(memory[8*wordChosen:], intact[8*wordChosen:8*wordChosen+8])
		check(fmt.Sprintf("bit %d of the texts, with an unfinished change,", bit))
		copy(memory, intact)
	}
	for bit := range 64 {
		r.word(wordChosen).Store(r.word(wordChosen).Load() ^ 1<<bit)
		check(fmt.Sprintf("bit %d of the word", bit))
		copy(memory, intact)
	}
	clear(memory[chosenAt:slotWordsAt])
	if c, lost, _ := r.settings(); c != (Settings{}) || len(lost) != 1 {
		t.Errorf("both texts damaged: %+v, lost %q", c, lost)
	}
}

// keepText keeps any text.
func keepText(r requests, text string) {
	copy(r.chosenRoom(1), text)
	r.word(wordChosen).Store(1<<chosenShift | uint64(len(text)))
}

// A setting that has no room changes nothing.
func TestSettingWithoutRoom(t *testing.T) {
	l := newLeft(t)
	r := l.session.requests
	long := Settings{Recompression: [recompressions]string{2: strings.Repeat("x", chosenSize-50)}}
	if err := r.keepChosen(long); err != nil {
		t.Fatal(err)
	}
	a := &attributes{cfg: Config{Store: l.store, Algorithm: l.algorithm()}, stopping: func() bool { return false }, keep: r.keepChosen}
	a.chosen.Store(&long)
	limit, algorithm := l.store.Stats().MemLimit, l.store.Algorithm()
	for name, set := range map[string]func([]byte, *Settings) error{"1G": a.setMemLimit, "zstd(level=7)": a.setAlgorithm, "algo=lz4:fast": a.setRecompression} {
		if err := a.order("", set).set(10, []byte(name)); !errors.Is(err, syscall.E2BIG) {
			t.Errorf("%s: %v, want E2BIG", name, err)
		}
	}
	if got := l.store.Stats().MemLimit; got != limit || l.store.Algorithm() != algorithm {
		t.Errorf("the store has the limit %d and algorithm %v, want %d and %v", got, l.store.Algorithm(), limit, algorithm)
	}
	if c := settingsOf(t, r); c != long {
		t.Errorf("kept %+v", c)
	}
}

// A server and its store begin with what they can use of damaged settings, or of those of a program
// with other algorithms.
func TestServerBeginsWithDamagedSettings(t *testing.T) {
	l := newLeft(t)
	limit := uint64(1 << 30)
	others, err := Settings{Algorithm: "later(level=1)", MemLimit: &limit, Recompression: [recompressions]string{"lz4", "newer"}}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{string(others): 2, `{"algorithm":"lz4"}`: 1, `{"algorithm":`: 1, "damaged": 1} {
		clear(l.session.requests.chosenRoom(1))
		keepText(l.session.requests, text)
		c, lost, err := l.session.files.Settings()
		if err != nil {
			t.Fatal(err)
		}
		if lost = append(lost, c.Apply(l.store, l.algorithm())...); len(lost) != want {
			t.Errorf("%s: lost %q", text, lost)
		}
		s := l.successor()
		if limit := l.store.Stats().MemLimit; l.store.Algorithm() != l.algorithm() || c.MemLimit != nil && limit != *c.MemLimit {
			t.Errorf("%s: algorithm %v, limit %d", text, l.store.Algorithm(), limit)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestExtra(t *testing.T) {
	var s ExtraDevices
	for want := 1; want <= MaxExtra; want++ {
		n, ok := s.Free()
		if n != want || !ok || s.Has(n) {
			t.Fatalf("%d is free, %v; want %d", n, ok, want)
		}
		s = s.With(n)
	}
	if n, ok := s.Free(); ok {
		t.Errorf("%d is free in a full set", n)
	}
	for dir, want := range map[string]bool{
		ExtraDir("/a", 1): true, ExtraDir("/a/devices/zram1", MaxExtra): true, "/devices": false, "/a/zram1": false, "/a/devices/zram0": false, "/a/devices/x": false,
	} {
		if got := IsExtraDir(dir); got != want {
			t.Errorf("%s is the directory of an extra device: %v", dir, got)
		}
	}
	if n, ok := s.Without(7).Free(); n != 7 || !ok {
		t.Errorf("%d is free, %v; want 7", n, ok)
	}
	for name, want := range map[string]int{"zram1": 1, "zram15": 15, "zram0": 0, "zram16": 0, "zram01": 0, "zram-1": 0, "zram": 0, "x1": 0, "5": 0} {
		if got := numberOfName(name); got != want {
			t.Errorf("%s has the number %d, want %d", name, got, want)
		}
	}
}

// The trees list each extra device, and no other.
func TestExtraAreListed(t *testing.T) {
	f := newTestFileSystem(t, pageSize)
	there := ExtraDevices(0).With(1).With(7).With(MaxExtra)
	f.extraDevices = func() ExtraDevices { return there }
	for _, dir := range []uint64{devicesNode, blockNode} {
		var got []string
		for _, e := range f.entries(f.node(dir)) {
			if n := numberOfName(e.Name); n != 0 {
				got = append(got, e.Name)
				found, same := f.find(dir, e.Name), f.node(e.Ino)
				if found == nil || same == nil || found.id != e.Ino || same.id != e.Ino || same.name != e.Name || same.parent != dir || same.target != found.target {
					t.Errorf("%s in directory %d is %+v, and by its number %+v", e.Name, dir, found, same)
				}
			}
		}
		if !slices.Equal(got, []string{"zram1", "zram7", "zram15"}) {
			t.Errorf("directory %d lists %q", dir, got)
		}
	}
}

// A write to hot_remove ends the device of that number, and has the error that ending it has.
func TestHotRemove(t *testing.T) {
	var removed []int
	a := &attributes{cfg: Config{Remove: func(_ uint64, number int) error {
		removed = append(removed, number)
		if number == 8 {
			return syscall.EBUSY
		}
		return nil
	}}}
	for text, want := range map[string]error{
		"7": nil, "8\n": syscall.EBUSY, "0": syscall.EBUSY, "-1": syscall.EINVAL, "x": syscall.EINVAL, "99999999999": syscall.ERANGE,
	} {
		if err := a.hotRemove(2, []byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	if slices.Sort(removed); !slices.Equal(removed, []int{7, 8}) {
		t.Errorf("removed %d", removed)
	}
}

// Texts that just have room are read, the shortest and the longest.
func TestExtremeTexts(t *testing.T) {
	const members = "}"
	text := fmt.Sprintf("%s%08x\"%s", sumKey, crc32.Checksum([]byte(members), castagnoli), members)
	if got, err := unsummed([]byte(text)); err != nil || string(got) != "{}" {
		t.Errorf("%s is %q, %v", text, got, err)
	}
	long := Settings{Algorithm: "x"}
	least, err := long.encode()
	if err != nil {
		t.Fatal(err)
	}
	long.Algorithm += strings.Repeat("x", chosenSize-len(least))
	r := requests{make([]byte, buffersAt)}
	if err := r.keepChosen(long); err != nil {
		t.Fatal(err)
	}
	if got := settingsOf(t, r); got != long {
		t.Errorf("kept %+v", got)
	}
}

// A text that ends within its checksum is damaged, as one with another checksum is.
func TestShortSum(t *testing.T) {
	whole, err := Settings{Algorithm: "lz4"}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(sumKey) + sumLength + len(`"}`) {
		if _, err := decodeChosen(whole[:n]); !errors.Is(err, errSum) {
			t.Errorf("%q: %v", whole[:n], err)
		}
	}
}
