// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// trained returns a dictionary for pages.
func trained(tb testing.TB, pages [][]byte) []byte {
	tb.Helper()
	data, err := TrainDictionary(pages, 1, 16<<10)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// withDictionary returns a worker of the algorithm that name names, with a dictionary trained on
// some pages.
func withDictionary(tb testing.TB, name string, dict []byte) *worker {
	tb.Helper()
	a, err := Parse(name)
	if err != nil {
		tb.Fatal(err)
	}
	if a, err = a.WithDictionary("/d", dict); err != nil {
		tb.Fatal(err)
	}
	return workerOf(tb, a)
}

// F015: a device's dictionary makes its objects smaller, and they come back.
func TestF015PresetDictionary(t *testing.T) {
	base := codectest.Generated()
	dict := trained(t, base[:400])
	for _, name := range []string{"zstd(level=1,dict=d)", "zstd(dict=d)", "zstd(level=6,dict=d)"} {
		plain, _, _ := strings.Cut(strings.Replace(name, "dict=d", "", 1), ",")
		plain = strings.TrimSuffix(strings.TrimSuffix(plain, ")"), "(")
		if strings.Contains(plain, "(") {
			plain += ")"
		}
		with, without := withDictionary(t, name, dict), newWorker(t, plain)
		kept, sum, other := 0, 0, 0
		for i, page := range base[1000:1500] {
			id, object, err := with.roundTrip(page)
			if err != nil {
				t.Fatalf("%s, page %d: %v", name, i, err)
			}
			switch id {
			case ZstdDict:
				kept++
			case Raw:
			default:
				t.Fatalf("%s, page %d: stored as %s", name, i, id)
			}
			sum += len(object)
			if _, object, err = without.roundTrip(page); err != nil {
				t.Fatal(err)
			}
			other += len(object)
		}
		t.Logf("%s: %d bytes, %s: %d", name, sum, plain, other)
		if kept == 0 || sum >= other {
			t.Errorf("%s: %d objects, %d bytes together, and %d without the dictionary", name, kept, sum, other)
		}
	}
}

// A device with a dictionary reads what was stored without one.
func TestF015DictionaryReadsOtherObjects(t *testing.T) {
	reader := withDictionary(t, "zstd(dict=d)", trained(t, codectest.Generated()[:300]))
	for _, name := range fast() {
		w := newWorker(t, name)
		for i, page := range codectest.Generated()[:100] {
			id, object, err := w.compress(page)
			if err != nil {
				t.Fatal(err)
			}
			if err := reader.d.Decompress(reader.back[:], id, object); err != nil || !bytes.Equal(reader.back[:], page) {
				t.Fatalf("%s, page %d: came back different, or %v", name, i, err)
			}
		}
	}
}

// Without the dictionary, or with another, an object is refused: the wrong bytes would pass any
// checksum of the object.
func TestF015AnotherDictionaryIsRefused(t *testing.T) {
	base := codectest.Generated()
	first, second := trained(t, base[:300]), trained(t, base[300:600])
	copy(second[4:8], first[4:8]) // the number that a dictionary carries is no help
	w, other, none := withDictionary(t, "zstd(dict=d)", first), withDictionary(t, "zstd(dict=d)", second), newWorker(t, "zstd")
	refused := 0
	for i, page := range base[:200] {
		id, object, err := w.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		if id != ZstdDict {
			continue
		}
		refused++
		if err := other.d.Decompress(other.back[:], id, object); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "another dictionary") {
			t.Fatalf("page %d: got %v", i, err)
		}
		if err := none.d.Decompress(none.back[:], id, object); !errors.Is(err, ErrDictionary) || !errors.Is(err, ErrCorrupt) {
			t.Fatalf("page %d, without: got %v", i, err)
		}
	}
	if refused == 0 {
		t.Error("the pages prove nothing")
	}
}

// Every bit of an object but its content's is checked, and its length.
func TestF010TruncationWithDictionary(t *testing.T) {
	w := withDictionary(t, "zstd(dict=d)", trained(t, codectest.Generated()[:300]))
	for i, page := range codectest.Generated()[:12] {
		id, object, err := w.compress(page)
		if err != nil {
			t.Fatal(err)
		}
		for n := range object {
			if err := w.d.Decompress(w.back[:], id, object[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("object %d cut from %d to %d bytes: got %v", i, len(object), n, err)
			}
		}
	}
}

func TestDictionaryThatIsNone(t *testing.T) {
	good := trained(t, codectest.Generated()[:300])
	a, err := Parse("zstd(level=1,dict=/d)")
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{
		"nothing":   nil,
		"no magic":  bytes.Repeat([]byte("page"), 1000),
		"cut short": good[:40],
		"too large": append(good[:len(good):len(good)], make([]byte, MaxDictionary+1-len(good))...),
	} {
		b, err := a.WithDictionary("/d", data)
		if !errors.Is(err, ErrDictionary) || b != (Algorithm{}) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "/d") {
			t.Errorf("%s: got %v, %v", what, b, err)
		}
	}
	if _, err := a.WithDictionary("/a b", good); !errors.Is(err, ErrDictionary) {
		t.Errorf("a name with a space: got %v", err)
	}
	full := append(good[:len(good):len(good)], make([]byte, MaxDictionary-len(good))...)
	if _, err := a.WithDictionary("/d", full); err != nil {
		t.Errorf("the largest dictionary: %v", err)
	}
}

// An algorithm without its dictionary's contents makes nothing, rather than objects without the
// dictionary.
func TestDictionaryThatWasNotRead(t *testing.T) {
	a, err := Parse("zstd(dict=/d)")
	if err != nil || a.DictionaryFile() != "/d" {
		t.Fatalf("%q, %v", a.DictionaryFile(), err)
	}
	if _, err := a.NewCompressor(); !errors.Is(err, ErrDictionary) {
		t.Errorf("made a compressor: %v", err)
	}
	if _, err := a.NewDecompressor(); !errors.Is(err, ErrDictionary) {
		t.Errorf("made a decompressor: %v", err)
	}
	plain, err := Parse("zstd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.WithDictionary("/d", trained(t, codectest.Generated()[:300])); !errors.Is(err, ErrDictionary) {
		t.Errorf("zstd without dict= took one: %v", err)
	}
}

// A decompressor of an algorithm reads what every other makes, but with another dictionary.
func TestReads(t *testing.T) {
	base := codectest.Generated()
	with := func(dict []byte) Algorithm {
		a, err := Parse("zstd(dict=d)")
		if err == nil {
			a, err = a.WithDictionary("/d", dict)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first, second := with(trained(t, base[:300])), with(trained(t, base[300:600]))
	plain, err := Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	if !first.Reads(plain) || !plain.Reads(plain) || !first.Reads(first) {
		t.Error("objects that can be read are said to be unreadable")
	}
	if plain.Reads(first) || first.Reads(second) {
		t.Error("objects of another dictionary are said to be readable")
	}
}
