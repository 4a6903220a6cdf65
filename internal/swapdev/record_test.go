// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// A record of an older version has another name and fewer fields.
func TestRecordOfOlderVersion(t *testing.T) {
	m := host.Root(t.TempDir())
	path := m.Path(uprecord.Dir + "/%2Frun%2Fzram.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	const text = `{"dir":"/run/zram","loops":[{"path":"/dev/loop7","sequence":9}],"sysctls":null}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, ok := host.Local.Process(os.Getpid())
	if !ok {
		t.Fatal("this process is not there")
	}
	newer := uprecord.Record{Dir: "/run/zram", Keeper: p.PID, Started: p.Start, Mount: 50}
	if err := newer.Write(m); err != nil {
		t.Fatal(err)
	}
	all := uprecord.Read(m)
	if len(all) != 2 || all[0].File != newer.File || !all[1].Of("/run/zram") || all[1].Loops[0].Sequence != 9 || all[1].Alive() {
		t.Errorf("%+v", all)
	}
	s := &survey{devices: []Device{{Dir: "/run/zram", number: 51}}}
	s.addRecord(&all[1])
	if d := s.devices[0]; d.Record == nil || d.Noted[0].Path != "/dev/loop7" {
		t.Errorf("%+v", d)
	}
}

// A record is that of its DIR also where the name of that is no UTF-8, or a long one: each
// letter of some alphabets takes six bytes in the name of a record.
func TestRecordOfAnyDir(t *testing.T) {
	long := "/srv/" + strings.Repeat("\u043f", 100)
	for _, dir := range []string{"/run/caf\xe9", long, long + "x"} {
		m := host.Root(t.TempDir())
		rec := uprecord.Record{Dir: dir}
		if err := rec.Write(m); err != nil {
			t.Error(err)
			continue
		}
		if all := uprecord.Read(m); len(all) != 1 || !all[0].Of(rec.Dir) {
			t.Errorf("%+v", all)
		}
		rec.Err = errors.New("unreadable: its name says whose it is")
		if !rec.Of(dir) || rec.Of(dir+"y") {
			t.Errorf("%s is the name of a record of another DIR", rec.File)
		}
	}
}

// A command that removes the last record removes the directory too, while another one writes a
// record there.
func TestRecordWhileTheLastIsRemoved(t *testing.T) {
	m := host.Root(t.TempDir())
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for range 1000 {
				rec := uprecord.Record{Dir: fmt.Sprintf("/run/zram%d", n)}
				if err := errors.Join(rec.Write(m), rec.Remove(m)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
