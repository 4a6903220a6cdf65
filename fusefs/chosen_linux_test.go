// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// TestChosenIsKept writes many texts, each over the one before last.
func TestChosenIsKept(t *testing.T) {
	r := requests{make([]byte, buffersAt)}
	if c, err := r.chosen(); err != nil || c != (Chosen{}) {
		t.Errorf("new memory has %+v, %v", c, err)
	}
	for i := range uint64(100) {
		want := Chosen{Algorithm: strings.Repeat("a", int(i)), WritebackLimit: i, Resized: i}
		want.Recompression[i%recompressions] = "zstd"
		if err := r.keepChosen(want); err != nil {
			t.Fatal(err)
		}
		if got, err := r.chosen(); err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	}
	before, _ := r.chosen()
	if err := r.keepChosen(Chosen{Algorithm: strings.Repeat("a", chosenSize)}); !errors.Is(err, syscall.E2BIG) {
		t.Errorf("too long a text: %v", err)
	}
	copy(r.chosenRoom(1), strings.Repeat("x", chosenSize)) // as a process that is killed while it writes
	if got, err := r.chosen(); err != nil || got != before {
		t.Errorf("after an unfinished text %+v, %v; want %+v", got, err, before)
	}
	copy(r.chosenRoom(0), "damaged")
	if _, err := r.chosen(); !errors.Is(err, errRequests) {
		t.Errorf("a damaged text: %v", err)
	}
	if loops := []byte(strings.Repeat("l", maxLoops)); !r.setLoops(loops) || string(r.loops()) != string(loops) || len(loops) != 2048 {
		t.Errorf("the text of control/loops has no room: %d bytes", len(loops))
	}
}

func TestFurther(t *testing.T) {
	var s Further
	for want := 1; want <= MaxFurther; want++ {
		n, ok := s.Free()
		if n != want || !ok || s.Has(n) {
			t.Fatalf("%d is free, %v; want %d", n, ok, want)
		}
		s = s.With(n)
	}
	if n, ok := s.Free(); ok {
		t.Errorf("%d is free in a full set", n)
	}
	if n, ok := s.Without(7).Free(); n != 7 || !ok {
		t.Errorf("%d is free, %v; want 7", n, ok)
	}
	for name, want := range map[string]int{"zram1": 1, "zram63": 63, "zram0": 0, "zram64": 0, "zram01": 0, "zram-1": 0, "zram": 0, "x1": 0} {
		if got := numberOfName(name); got != want {
			t.Errorf("%s has the number %d, want %d", name, got, want)
		}
	}
}
