// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/dicttest"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/internal/term"
)

// quiet shows no progress.
var quiet = term.NewSteps(nil, "", 0)

// A savedPage is a page by its object or, with codec.None, by its word.
type savedPage struct {
	page   uint64
	id     codec.ID
	word   uint64
	object []byte
}

// saved writes a snapshot of a device with 4096 pages.
func saved(t *testing.T, dictionary []byte, pages ...savedPage) (name string) {
	t.Helper()
	e := snapshot.NewEncoder()
	header, err := e.Header(snapshot.Header{Pages: 4096, Algorithm: "any", Dictionary: dictionary})
	if err != nil {
		t.Fatal(err)
	}
	file := bytes.Clone(header)
	e.Begin(0)
	first := uint64(0)
	for _, p := range pages {
		if begin := p.page / snapshot.BlockPages * snapshot.BlockPages; begin != first {
			file = append(file, e.Block()...)
			e.Begin(begin)
			first = begin
		}
		if p.id == codec.None {
			e.Word(p.page, p.word)
		} else {
			e.Object(p.page, p.id, p.object)
		}
	}
	file = append(file, e.Block()...)
	end, _ := e.Trailer(true)
	name = filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(name, append(file, end...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// object compresses a page of text.
func object(t *testing.T, a codec.Algorithm, page uint64, seed byte) savedPage {
	t.Helper()
	c, err := a.NewCompressor()
	if err != nil {
		t.Fatal(err)
	}
	packed := make([]byte, pageSize)
	id, n, err := c.Compress(packed, textPage(seed))
	if err != nil || id == codec.Raw {
		t.Fatal(id, err)
	}
	return savedPage{page: page, id: id, object: packed[:n]}
}

func textPage(seed byte) []byte { return bytes.Repeat([]byte{'a', 'b', seed, seed + 1}, pageSize/4) }

func TestInspect(t *testing.T) {
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	packed := object(t, lz4, 2000, 1)
	raw := savedPage{page: 4095, id: codec.Raw, object: textPage(9)}
	name := saved(t, nil, savedPage{page: 3, word: 77}, packed, raw)
	r, err := Inspect(t.Context(), name, quiet)
	if err != nil || r.Damage != nil || r.Pages != 3 || r.Same != 1 || r.ObjectBytes != uint64(len(packed.object)+pageSize) || r.Disksize != 16<<20 || !r.OneMoment || len(r.SHA256) != 64 || len(r.Codecs) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if want := 2 * pageSize / float64(r.ObjectBytes); r.Ratio != want {
		t.Errorf("the ratio is %v, want %v", r.Ratio, want)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, file[:len(file)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = Inspect(t.Context(), name, quiet); err != nil || r.Damage == nil || r.Damage.Offset != int64(len(file)-76) || r.SHA256 != "" || r.Pages != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, other := range []string{filepath.Dir(name), "/dev/null", name + "-not-there"} {
		if _, err := Inspect(t.Context(), other, quiet); err == nil {
			t.Errorf("%s is a snapshot", other)
		}
	}
}

// Objects that no codec can read are damage of their page although all checksums hold.
func TestInspectReadsObjects(t *testing.T) {
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	withDictionary, data := dicttest.Algorithm(t)
	good := object(t, lz4, 1030, 1)
	for name, c := range map[string]struct {
		dictionary []byte
		bad        savedPage
		want       string
	}{
		"cut":           {nil, savedPage{page: 2050, id: codec.LZ4, object: good.object[:len(good.object)-1]}, "the object of page 2050 cannot be read: corrupt"},
		"another codec": {nil, savedPage{page: 1031, id: codec.Zstd, object: good.object}, "the object of page 1031 cannot be read: corrupt"},
		"no dictionary": {nil, object(t, withDictionary, 4000, 2), "the object of page 4000 cannot be read: no dictionary"},
		"good":          {data, object(t, withDictionary, 4000, 2), ""},
	} {
		file := saved(t, c.dictionary, savedPage{page: 1029, word: 5}, good, c.bad)
		r, err := Inspect(t.Context(), file, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if r.Damage != nil {
				t.Errorf("%s: %v", name, r.Damage)
			}
			continue
		}
		if r.Damage == nil || r.Damage.What != c.want || r.Damage.Page != c.bad.page {
			t.Errorf("%s: %+v, want %q", name, r.Damage, c.want)
			continue
		}
		all, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.LastIndex(all, c.bad.object); r.Damage.Offset != int64(at) {
			t.Errorf("%s: at offset %d, want %d", name, r.Damage.Offset, at)
		}
	}
}

// A recoder makes of an object with a dictionary another one of the same page.
func TestRecoder(t *testing.T) {
	from, _ := dicttest.Algorithm(t)
	packed := object(t, from, 0, 7)
	if packed.id != codec.ZstdDict {
		t.Fatal(packed.id)
	}
	if same, err := newRecoder(from, from); same != nil || err != nil {
		t.Errorf("%v, %v for the same dictionary", same, err)
	}
	for _, name := range []string{"lz4", "raw", "zstd"} {
		to, err := codec.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if none, err := newRecoder(to, from); none != nil || err != nil {
			t.Errorf("%v, %v for no dictionary", none, err)
		}
		r, err := newRecoder(from, to)
		if err != nil {
			t.Fatal(err)
		}
		id, object, err := r.recode(packed.id, packed.object)
		if err != nil || id == codec.ZstdDict {
			t.Fatalf("%s: %s, %v", name, id, err)
		}
		d, err := to.NewDecompressor()
		if err != nil {
			t.Fatal(err)
		}
		page := make([]byte, pageSize)
		if err := d.Decompress(page, id, object); err != nil || !bytes.Equal(page, textPage(7)) {
			t.Errorf("%s: another page, %v", name, err)
		}
		if _, _, err := r.recode(packed.id, packed.object[:1]); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// Restore changes nothing unless it was told to replace what the device holds.
func TestRestoreToADeviceThatHoldsData(t *testing.T) {
	r := Restorer{Progress: quiet, Report: RestoreReport{File: "/none", Dir: "/none"}}
	if err := r.Restore(t.Context()); !errors.Is(err, ErrHolds) {
		t.Errorf("%v, want ErrHolds", err)
	}
	r.Force = true
	if err := r.Restore(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
}
