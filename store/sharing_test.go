// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"
)

// F030: no two processors write to one cache line for different reasons, and none
// writes to one that others need for something that never changes.
func TestF030NoFalseSharing(t *testing.T) {
	s := newStore(t, Config{Disksize: 1 << 20})
	lines := map[uintptr]string{}
	sharing(t, lines, "store", reflect.ValueOf(s).Elem(), [][]string{
		{"image", "memory", "cfg", "segments", "workers", "idx", "wake"},
		{"full", "sleeping", "openMayBeEmpty", "unswept"},
		{"epoch"}, {"charged", "peak"}, {"mu", "ready"}, {"passMu", "written"}, {"locks"},
	})
	sharing(t, lines, "same", reflect.ValueOf(&s.same).Elem(), [][]string{{"words"}, {"mu", "refs"}})
	for i, w := range s.workers {
		sharing(t, lines, fmt.Sprintf("worker %d", i), reflect.ValueOf(w).Elem(), [][]string{
			{"s", "busy"}, {"readEpoch"}, {"coder", "packed", "open", "retired", "freed", "count"},
		})
	}
	for n := range s.image.Segments - 7 { // which several workers fill at the same time
		on := map[uintptr]bool{}
		for i := range uint64(8) {
			on[uintptr(unsafe.Pointer(s.segment(n+i)))/cacheLine] = true
		}
		if len(on) != 8 {
			t.Errorf("eight segments from %d share %d cache lines", n, len(on))
		}
	}
	if n := unsafe.Sizeof(stripe{}); n != cacheLine {
		t.Errorf("a stripe has %d bytes", n)
	}
}

// sharing notes which cache lines each group of an object's fields lies on, and
// complains of those that have another group already, of whatever object.
func sharing(t *testing.T, lines map[uintptr]string, name string, object reflect.Value, groups [][]string) {
	t.Helper()
	for i, fields := range groups {
		group := fmt.Sprintf("%s %d", name, i)
		for _, field := range fields {
			f := object.FieldByName(field)
			if !f.IsValid() {
				t.Fatalf("%s has no field %s", name, field)
			}
			start := f.UnsafeAddr()
			for line := start / cacheLine; line <= (start+f.Type().Size()-1)/cacheLine; line++ {
				if other := lines[line]; other != "" && other != group {
					t.Errorf("%s of %s shares a cache line with %s", field, group, other)
				}
				lines[line] = group
			}
		}
	}
}
