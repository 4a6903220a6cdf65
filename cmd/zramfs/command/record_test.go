// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

func TestRecord(t *testing.T) {
	m := host.Root(t.TempDir())
	const dir = "/run/a b/%2F"
	if err := forget(io.Discard, m, device{Dir: dir}); err != nil {
		t.Errorf("no record: %v", err)
	}
	want := record{Dir: dir, Loops: []notedLoop{{"/dev/loop7", 9}, {"/dev/loop8", 10}}}
	if err := want.write(m); err != nil {
		t.Fatal(err)
	}
	got := readRecords(m)
	if len(got) != 1 || got[0].Dir != dir || len(got[0].Loops) != 2 || got[0].Loops[1] != want.Loops[1] {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(want.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := want.write(m); err != nil { // again
		t.Fatal(err)
	}
	if files, err := os.ReadDir(m.Path(recordDir)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	var said strings.Builder
	if err := forget(&said, m, device{Dir: dir}); err != nil || said.String() != "" {
		t.Errorf("down says %q, %v", said.String(), err)
	}
	if _, err := os.Stat(m.Path(recordDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of records is left: %v", err)
	}
}

// Two devices on the same DIR have a record each: forgetting one keeps the other.
func TestRecordsOfOneDir(t *testing.T) {
	m := host.Root(t.TempDir())
	one, two := runningRecord(t, "/run/zram"), runningRecord(t, "/run/zram")
	if err := errors.Join(one.write(m), two.write(m)); err != nil {
		t.Fatal(err)
	}
	if err := forget(io.Discard, m, device{Dir: "/run/zram", rec: &one}); err != nil {
		t.Fatal(err)
	}
	if left := readRecords(m); len(left) != 1 || left[0].file != two.file {
		t.Errorf("%+v are left, want %s", left, two.file)
	}
}

// A record of an older version has another name and fewer fields.
func TestRecordOfOlderVersion(t *testing.T) {
	m := host.Root(t.TempDir())
	path := m.Path(recordDir + "/%2Frun%2Fzram.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	const text = `{"dir":"/run/zram","loops":[{"path":"/dev/loop7","sequence":9}],"sysctls":null}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := runningRecord(t, "/run/zram")
	newer.Mount = 50
	if err := newer.write(m); err != nil {
		t.Fatal(err)
	}
	all := readRecords(m)
	if len(all) != 2 || all[0].file != newer.file || !all[1].of("/run/zram") || all[1].Loops[0].Sequence != 9 || all[1].alive() {
		t.Errorf("%+v", all)
	}
	s := &survey{devices: []device{{Dir: "/run/zram", number: 51}}}
	s.addRecord(&all[1])
	if d := s.devices[0]; d.rec == nil || d.noted[0].Path != "/dev/loop7" {
		t.Errorf("%+v", d)
	}
}

func TestRecordGarbled(t *testing.T) {
	m := host.Root(t.TempDir())
	rec := record{Dir: "/a"}
	if err := rec.write(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rec.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := forget(io.Discard, m, device{Dir: "/a"}); err == nil || !strings.Contains(err.Error(), rec.file) {
		t.Errorf("%v", err)
	}
	if err := forget(io.Discard, m, device{Dir: "/a"}); err != nil { // it is not in the way for ever
		t.Error(err)
	}
}
