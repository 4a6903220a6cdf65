// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// every returns the text of each algorithm that differs in what it does.
func every() []string {
	return []string{"adaptive", "adaptive:entropy", "page", "page:dense", "lz4", "lz4:fast", "zstd(level=1)", "zstd", "zstd(level=6)", "zstd(level=19)", "raw"}
}

// fast returns every algorithm that gets through many pages in a short time.
func fast() []string {
	return []string{"adaptive", "adaptive:entropy", "page", "page:dense", "lz4", "lz4:fast", "zstd(level=1)", "zstd", "raw"}
}

func TestParseAcceptsItsOwnText(t *testing.T) {
	names := slices.Concat(every(), Algorithms())
	for level := 1; level <= 19; level++ {
		names = append(names, fmt.Sprintf("zstd(level=%d)", level))
	}
	for _, name := range names {
		a, err := Parse(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err := Parse(a.String()); b != a || err != nil {
			t.Errorf("%s is written %s, which is read as %v, %v", name, a, b, err)
		}
	}
}

// Everything that may be written, with the text that it is written back as.
func TestTextIsCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"adaptive:entropy":               "adaptive:entropy",
		"page(simd=generic)":             "page:simd=generic",
		"page:dense":                     "page:dense",
		"page:dense(simd=generic)":       "page:dense:simd=generic",
		"lz4:simd=generic":               "lz4:simd=generic",
		"lz4(simd=generic)":              "lz4:simd=generic",
		"lz4:fast":                       "lz4:fast",
		"lz4:fast:simd=generic":          "lz4:fast:simd=generic",
		"lz4:fast(simd=generic)":         "lz4:fast:simd=generic",
		"zstd":                           "zstd",
		"zstd(level=3)":                  "zstd",
		"zstd:level=3":                   "zstd",
		"zstd(level=4)":                  "zstd(level=4)",
		"zstd:level=4":                   "zstd(level=4)",
		"zstd(level=3,dict=/a/b)":        "zstd(dict=/a/b)",
		"zstd(dict=d,level=1)":           "zstd(level=1,dict=d)",
		"zstd:level=1:dict=/a(b)=c":      "zstd(level=1,dict=/a(b)=c)",
		"zstd:level=1:dict=/a,b":         "zstd:level=1:dict=/a,b",
		"zstd(dict=/dev/disk/by-id/a:b)": "zstd(dict=/dev/disk/by-id/a:b)",
	} {
		a, err := Parse(name)
		if err != nil || a.String() != want {
			t.Errorf("%s is written %s, %v, not %s", name, a, err, want)
			continue
		}
		if b, err := Parse(want); a != b || err != nil {
			t.Errorf("%s and %s are two algorithms, or %v", name, want, err)
		}
	}
}

// Each refusal is one line that repeats what was written and says what may stand there.
func TestUnknownAlgorithmSaysWhatToUse(t *testing.T) {
	names, levels := "use adaptive, adaptive:entropy, page (simd=), page:dense (simd=), lz4 (simd=), ", "levels are 1 to 19"
	for name, word := range map[string]string{
		"": names, "lzo": names, "LZ4": names, " lz4": names, "lz4 ": names, "none": names, "zstd:3": names, "adaptive:": names,
		"adaptive:speed": names, "lz4:best": names, "page:fast": names, "dense": names, "simd=avx2": names, "zstd:fast(level=3)": names,
		"zstd(level=0)": levels, "zstd(level=20)": levels, "zstd(level=)": levels, "zstd(level=03)": levels, "zstd(level=+3)": levels,
		"zstd(level=-1)": levels, "zstd(level=300)": levels, "zstd(level= 3)": levels, "zstd:level=20": levels,
		"zstd(level=3":              "parenthesis",
		"zstd(level=3)x":            "parenthesis",
		"lz4(level=3)":              "lz4 takes the parameters simd=",
		"zstd()":                    "zstd takes the parameters level=, dict=",
		"zstd(level)":               "zstd takes the parameters level=, dict=",
		"zstd(level=3,)":            "zstd takes the parameters level=, dict=",
		"zstd(window=3)":            "zstd takes the parameters level=, dict=",
		"adaptive:simd=generic":     "adaptive takes no parameters",
		"raw(level=1)":              "raw takes no parameters",
		"zstd(level=3,level=4)":     "level is given twice",
		"lz4:simd=mmx":              "this machine has",
		"lz4:simd=":                 "this machine has",
		"zstd(dict=)":               "dict= needs a file",
		"zstd(dict=/a b)":           "spaces",
		"zstd(dict=/a]b)":           "brackets",
		"zstd(dict=/a\nb)":          "control characters",
		"lz4:batch=1024":            "backend=",
		"lz4:backend=gpu:batch=0":   "a batch is of 1 to",
		"lz4:backend=gpu:batch=1e3": "a batch is of 1 to",
	} {
		a, err := Parse(name)
		if !errors.Is(err, ErrUnknownAlgorithm) || a != (Algorithm{}) {
			t.Errorf("%q: got %v, %v", name, a, err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, fmt.Sprintf("%q", name)) || !strings.Contains(text, word) {
			t.Errorf("%q: the error does not say %q: %s", name, word, text)
		}
	}
}

// An engine that the caller does not have is refused as such.
func TestEngineIsRefused(t *testing.T) {
	for _, name := range []string{"lz4:backend=gpu:batch=1024", "lz4:batch=1024:backend=gpu", "lz4:backend=gpu", "lz4:fast(backend=gpu,batch=1)"} {
		if _, err := Parse(name); !errors.Is(err, ErrNoEngine) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `backend="gpu"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Parse("zstd:backend=gpu"); err == nil || errors.Is(err, ErrNoEngine) {
		t.Errorf("zstd has no such parameter: got %v", err)
	}
}

// F068, F087: with an engine its name is accepted, and given back as it was.
func TestF087EngineIsAccepted(t *testing.T) {
	for name, want := range map[string]struct {
		text, engine string
		batch        int
	}{
		"lz4:backend=gpu:batch=1024":            {"lz4:backend=gpu:batch=1024", "gpu", 1024},
		"lz4:batch=1024:backend=gpu":            {"lz4:backend=gpu:batch=1024", "gpu", 1024},
		"lz4:fast(backend=gpu)":                 {"lz4:fast:backend=gpu", "gpu", 0},
		"lz4:simd=generic:backend=gpu:batch=50": {"lz4:simd=generic:backend=gpu:batch=50", "gpu", 50},
		"lz4":                                   {"lz4", "", 0},
	} {
		a, err := Parse(name, "gpu")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		engine, batch := a.Engine()
		if again, err := Parse(a.String(), "gpu"); a.String() != want.text || engine != want.engine || batch != want.batch || again != a || err != nil {
			t.Errorf("%s: %s for %q by %d, read again as %s: %v", name, a, engine, batch, again, err)
		}
	}
	for name, word := range map[string]string{
		"lz4:backend=tpu": "it has gpu", "lz4:backend=": "it has gpu", "page:backend=gpu": "simd=", "lz4:batch=5": "batch= needs backend=", "nonesuch": "backend=",
	} {
		if _, err := Parse(name, "gpu"); err == nil || !strings.Contains(err.Error(), word) || errors.Is(err, ErrNoEngine) != (word == "it has gpu") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The engine of an algorithm makes no difference to the objects of single pages.
func TestEngineIsNotForSinglePages(t *testing.T) {
	a, err := Parse("lz4:backend=gpu:batch=1024", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	w, same := workerOf(t, a), newWorker(t, "lz4")
	for i, page := range codectest.Generated()[:100] {
		_, a, err := w.roundTrip(page)
		if err != nil {
			t.Fatal(err)
		}
		if _, b, err := same.compress(page); err != nil || !bytes.Equal(a, b) {
			t.Fatalf("page %d: another object, or %v", i, err)
		}
	}
}

// Every set that the machine has can be asked for, and the objects are those of any other.
func TestEverySetMakesTheSameObjects(t *testing.T) {
	for _, name := range []string{"page", "page:dense", "lz4", "lz4:fast"} {
		want := newWorker(t, name+":simd=generic")
		for _, set := range impl.Usable() {
			w := newWorker(t, name+":simd="+string(set))
			for i, page := range codectest.Generated()[:200] {
				_, object, err := w.roundTrip(page)
				if err != nil {
					t.Fatal(err)
				}
				if _, same, err := want.compress(page); err != nil || !bytes.Equal(object, same) {
					t.Fatalf("%s, page %d: another object by %s, or %v", name, i, set, err)
				}
			}
		}
	}
}

func TestZeroAlgorithmIsNone(t *testing.T) {
	var zero Algorithm
	if _, err := zero.NewCompressor(); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("made a compressor: %v", err)
	}
	if _, err := Parse(zero.String()); !errors.Is(err, ErrUnknownAlgorithm) {
		t.Errorf("its text %q is read as an algorithm", zero)
	}
}

// The numbers are in images. This test may grow, but no line of it may ever change.
func TestIDsAreFrozen(t *testing.T) {
	for id, want := range map[ID]string{
		0: "none", 1: "raw", 2: "lz4", 3: "zstd", 4: "page", 5: "page:dense", 6: "zstd with dictionary", 7: "page:dense cluster", 8: "zstd cluster",
	} {
		if got := id.String(); got != want {
			t.Errorf("ID %d is %s, not %s", id, got, want)
		}
	}
	if None != 0 || Raw != 1 || LZ4 != 2 || Zstd != 3 || Page != 4 || PageDense != 5 || ZstdDict != 6 || PageDenseCluster != 7 || ZstdCluster != 8 {
		t.Error("an ID has changed its number")
	}
	for _, id := range []ID{9, 27, 255} {
		if got := id.String(); got != fmt.Sprint("id ", int(id)) {
			t.Errorf("an unknown ID is called %s", got)
		}
	}
}
