// SPDX-License-Identifier: Apache-2.0

package pagefile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// sample returns programs whose pages all differ.
func sample() []pagefile.Program {
	number := byte(0)
	some := func(n int) []byte {
		var out []byte
		for range n {
			number++
			out = append(out, bytes.Repeat([]byte{number}, pagefile.PageSize)...)
		}
		return out
	}
	return []pagefile.Program{
		{Name: "python", Pages: some(3)},
		{Name: "nothing", Pages: nil},
		{Name: strings.Repeat("n", 255), Pages: some(1)},
	}
}

func save(t *testing.T, programs []pagefile.Program) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deeper", "pages.zpg")
	if err := pagefile.Save(path, programs); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	want := sample()
	path := save(t, want)
	got, err := pagefile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d programs, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Name != want[i].Name || !bytes.Equal(got[i].Pages, want[i].Pages) {
			t.Errorf("program %d is %.20q with %d pages, want %.20q with %d", i, got[i].Name, got[i].Count(), want[i].Name, want[i].Count())
		}
	}
	info, err := pagefile.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Pages != 4 || !slices.Equal(info.Counts, []int{3, 0, 1}) || info.Names[0] != "python" {
		t.Errorf("header says %+v", info)
	}
}

// The file holds memory of programs: only its owner may read it.
func TestFileIsPrivate(t *testing.T) {
	stat, err := os.Stat(save(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	if stat.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", stat.Mode())
	}
}

// A change of any part of the file is noticed, in a byte of each part.
func TestDamageIsNoticed(t *testing.T) {
	path := save(t, sample())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 8, 12, 16, 20, 24, 26, 31, 100, 4095, 4096, 9000, len(good) - 5, len(good) - 1} {
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		wantRefused(t, path, bad, "a flipped bit at %d", at)
	}
	for _, length := range []int{0, 7, 23, 24, 4095, 4096, len(good) - 4096, len(good) - 1} {
		wantRefused(t, path, good[:length], "a cut at %d", length)
	}
	wantRefused(t, path, append(bytes.Clone(good), 0), "a byte too many at %d", len(good))
}

func wantRefused(t *testing.T, path string, data []byte, what string, at int) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pagefile.Load(path); !errors.Is(err, pagefile.ErrFormat) {
		t.Errorf(what+": Load returned %v", at, err)
	}
}

// Inspect reads the header alone, and notices a file that is shorter than the
// header says.
func TestInspectNoticesMissingPages(t *testing.T) {
	path := save(t, sample())
	if err := os.Truncate(path, 4096+pagefile.PageSize); err != nil {
		t.Fatal(err)
	}
	if _, err := pagefile.Inspect(path); !errors.Is(err, pagefile.ErrFormat) {
		t.Errorf("Inspect of a cut file: %v", err)
	}
}

func TestSaveRefusesWhatItCannotWrite(t *testing.T) {
	for what, programs := range map[string][]pagefile.Program{
		"no name":       {{Name: ""}},
		"a long name":   {{Name: strings.Repeat("n", 256)}},
		"half a page":   {{Name: "a", Pages: make([]byte, 2048)}},
		"many programs": make([]pagefile.Program, 1025),
	} {
		dir := t.TempDir()
		if err := pagefile.Save(filepath.Join(dir, "pages.zpg"), programs); err == nil {
			t.Errorf("%s was saved", what)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("%s: left behind %v", what, left)
		}
	}
}

// A failed Save leaves the file that was there.
func TestSaveReplacesAtOnce(t *testing.T) {
	path := save(t, sample())
	if err := pagefile.Save(path, []pagefile.Program{{Name: ""}}); err == nil {
		t.Fatal("a program without a name was saved")
	}
	if _, err := pagefile.Load(path); err != nil {
		t.Errorf("the old file is gone: %v", err)
	}
	if err := pagefile.Save(path, sample()[:1]); err != nil {
		t.Fatal(err)
	}
	if info, err := pagefile.Inspect(path); err != nil || info.Pages != 3 {
		t.Errorf("the new file is not in place: %+v, %v", info, err)
	}
}

func TestFind(t *testing.T) {
	path := save(t, sample())
	t.Setenv(pagefile.Variable, path)
	if got, err := pagefile.Find(); err != nil || got != path {
		t.Errorf("with the variable set: %q, %v", got, err)
	}
	t.Setenv(pagefile.Variable, path+".absent")
	if _, err := pagefile.Find(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with the variable naming nothing: %v", err)
	}

	module := t.TempDir()
	deep := filepath.Join(module, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(pagefile.Variable, "")
	t.Chdir(deep)
	if _, err := pagefile.Default(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("outside every module: %v", err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(module, ".cache", "pages.zpg")
	if got, err := pagefile.Default(); err != nil || got != want {
		t.Errorf("inside a module: %q, %v, want %q", got, err, want)
	}
	if _, err := pagefile.Find(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

// Whatever a file holds, Inspect and Load agree on it, and neither panics nor
// believes a size that the file does not have.
func FuzzLoad(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.zpg")
	if err := pagefile.Save(path, sample()); err != nil {
		f.Fatal(err)
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:4096])
	f.Add([]byte("ZRPAGES\n"))
	huge := bytes.Clone(seed)
	binary.LittleEndian.PutUint32(huge[31:], 1<<31)
	f.Add(huge)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "fuzz.zpg")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		programs, loadErr := pagefile.Load(path)
		info, inspectErr := pagefile.Inspect(path)
		if loadErr != nil {
			return
		}
		if inspectErr != nil || len(info.Names) != len(programs) {
			t.Fatalf("Load read %d programs, Inspect %d, %v", len(programs), len(info.Names), inspectErr)
		}
		for i, program := range programs {
			if program.Count() != info.Counts[i] || len(program.Pages)%pagefile.PageSize != 0 {
				t.Errorf("program %d: %d bytes where the header says %d pages", i, len(program.Pages), info.Counts[i])
			}
		}
	})
}
