// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/uprecord"
)

func TestRecord(t *testing.T) {
	m := host.Root(t.TempDir())
	const dir = "/run/a b/%2F"
	if err := Forget(io.Discard, m, Device{Dir: dir}); err != nil {
		t.Errorf("no record: %v", err)
	}
	want := uprecord.Record{Dir: dir, Loops: []uprecord.Loop{{Path: "/dev/loop7", Sequence: 9}, {Path: "/dev/loop8", Sequence: 10}}}
	if err := want.Write(m); err != nil {
		t.Fatal(err)
	}
	got := uprecord.Read(m)
	if len(got) != 1 || got[0].Dir != dir || len(got[0].Loops) != 2 || got[0].Loops[1] != want.Loops[1] {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(want.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := want.Write(m); err != nil { // again
		t.Fatal(err)
	}
	if files, err := os.ReadDir(m.Path(uprecord.Dir)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	var said strings.Builder
	if err := Forget(&said, m, Device{Dir: dir}); err != nil || said.String() != "" {
		t.Errorf("down says %q, %v", said.String(), err)
	}
	if _, err := os.Stat(m.Path(uprecord.Dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of records is left: %v", err)
	}
}

// Two devices on the same DIR have a record each: forgetting one keeps the other.
func TestRecordsOfOneDir(t *testing.T) {
	m := host.Root(t.TempDir())
	one, two := runningRecord(t, "/run/zram"), runningRecord(t, "/run/zram")
	if err := errors.Join(one.Write(m), two.Write(m)); err != nil {
		t.Fatal(err)
	}
	if err := Forget(io.Discard, m, Device{Dir: "/run/zram", Record: &one}); err != nil {
		t.Fatal(err)
	}
	if left := uprecord.Read(m); len(left) != 1 || left[0].File != two.File {
		t.Errorf("%+v are left, want %s", left, two.File)
	}
}

func TestRecordGarbled(t *testing.T) {
	m := host.Root(t.TempDir())
	rec := uprecord.Record{Dir: "/a"}
	if err := rec.Write(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rec.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Forget(io.Discard, m, Device{Dir: "/a"}); err == nil || !strings.Contains(err.Error(), rec.File) {
		t.Errorf("%v", err)
	}
	if err := Forget(io.Discard, m, Device{Dir: "/a"}); err != nil { // it is not in the way for ever
		t.Error(err)
	}
}
