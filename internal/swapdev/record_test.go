// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/uprecord"
)

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
