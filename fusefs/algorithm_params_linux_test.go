// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

// algorithm_params sets the level of the algorithm that a priority or a name says, and of no other.
func TestAlgorithmParams(t *testing.T) {
	f, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: pageSize})})
	if got := writeAttribute(f, "recomp_algorithm", "algo=zstd priority=2"); !got.Ok() {
		t.Fatal(got)
	}
	const second = "zstd(level=7)"
	for _, c := range []struct {
		text          string
		want          fuse.Status
		first, second string
	}{
		{"level=3", fuse.OK, "lz4", "zstd"}, // lz4 has no levels
		{"priority=1 level=3", fuse.OK, "lz4", "zstd"},
		{"priority=2 level=7", fuse.OK, "lz4", second},
		{"algo=zstd level=5", fuse.OK, "lz4", "zstd(level=5)"},
		{"algo=zstd(level=5) level=7", fuse.OK, "lz4", second},
		{"algo=page level=3", fuse.EINVAL, "lz4", second}, // no priority has it
		{"priority=4 level=3", fuse.EINVAL, "lz4", second},
		{"priority=-1 level=3", fuse.EINVAL, "lz4", second},
		{"priority=2 dict=/a", fuse.EINVAL, "lz4", second},
		{"priority=2", fuse.OK, "lz4", second},
		{"priority=2 level=x", fuse.EINVAL, "lz4", second},
		{"priority=2 level", fuse.EINVAL, "lz4", second},
	} {
		if got := writeAttribute(f, "algorithm_params", c.text); got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
		first, chosen := f.store.Algorithm().String(), a.chosen.Load().Recompression
		if first != c.first || chosen != [recompressions]string{"", c.second, ""} {
			t.Errorf("after %q: %s, then %q", c.text, first, chosen)
		}
	}
	if got := writeAttribute(f, "comp_algorithm", "zstd"); !got.Ok() {
		t.Fatal(got)
	}
	if got := writeAttribute(f, "algorithm_params", "algo=zstd level=4"); !got.Ok() || f.store.Algorithm().String() != "zstd(level=4)" {
		t.Errorf("the first algorithm of the name: %v, %s", got, f.store.Algorithm())
	}
}

// An algorithm with a dictionary that the device does not have keeps its level, and recompresses
// nothing.
func TestForeignDictionary(t *testing.T) {
	var logs logBook
	f, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: pageSize})})
	f.logf = logs.add
	a.chosen.Store(&Settings{Recompression: [recompressions]string{"zstd(dict=/a)"}})
	for name, text := range map[string]string{"algorithm_params": "priority=1 level=3", "recompress": "type=all"} {
		before := len(logs.all())
		if got := writeAttribute(f, name, text); got != fuse.EINVAL || len(logs.all()) != before+1 {
			t.Errorf("%s: %v, logged %q", name, got, logs.all())
		}
	}
}
