// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestRecord(t *testing.T) {
	m := machine{root: t.TempDir()}
	if err := forget(io.Discard, m, "/run/zram", nil); err != nil {
		t.Errorf("no record: %v", err)
	}
	want := record{Dir: "/run/a b/%2F", Loops: []notedLoop{{"/dev/loop7", 9}, {"/dev/loop8", 10}}}
	if err := want.write(m); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(m, want.Dir)
	if err != nil || got.Dir != want.Dir || len(got.Loops) != 2 || got.Loops[1] != want.Loops[1] {
		t.Errorf("%+v, %v", got, err)
	}
	if info, err := os.Stat(recordPath(m, want.Dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if files, err := os.ReadDir(m.path(recordDir)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	var said strings.Builder
	if err := forget(&said, m, want.Dir, nil); err != nil || said.String() != "" {
		t.Errorf("down says %q, %v", said.String(), err)
	}
	if _, err := os.Stat(m.path(recordDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of records is left: %v", err)
	}
}

func TestRecordGarbled(t *testing.T) {
	m := machine{root: t.TempDir()}
	if err := (record{Dir: "/a"}).write(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordPath(m, "/a"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := forget(io.Discard, m, "/a", nil); err == nil || !strings.Contains(err.Error(), recordPath(m, "/a")) {
		t.Errorf("%v", err)
	}
	if err := forget(io.Discard, m, "/a", nil); err != nil { // it is not in the way for ever
		t.Error(err)
	}
}
