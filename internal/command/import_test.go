// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestMayImport(t *testing.T) {
	open := &status.Status{Opens: 1}
	for name, c := range map[string]struct {
		d     swapdev.Device
		force bool
		want  string
	}{
		"free":            {swapdev.Device{Status: &status.Status{}}, false, ""},
		"open":            {swapdev.Device{Status: open}, false, "--force"},
		"open, forced":    {swapdev.Device{Status: open}, true, ""},
		"on loop":         {swapdev.Device{Status: open, Loops: []loopsetup.Info{{Path: "/dev/loop7"}}}, true, "/dev/loop7"},
		"does not answer": {swapdev.Device{Err: helper.ErrNoAnswer}, true, "does not answer"},
	} {
		err := mayImport(c.d, c.force)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A data file that is open may be closed by the next look, which finds no device here; one on a
// loop device is refused at once.
func TestImportWaitsForTheLastClose(t *testing.T) {
	d := swapdev.Device{Dir: t.TempDir(), Status: &status.Status{Opens: 1}}
	refuse := func(d swapdev.Device) error { return mayImport(d, false) }
	if _, err := unopened(d, refuse); err == nil || strings.Contains(err.Error(), "--force") {
		t.Errorf("after one look: %v", err)
	}
	d.Loops = []loopsetup.Info{{Path: "/dev/loop7"}}
	if _, err := unopened(d, refuse); err == nil || !strings.Contains(err.Error(), "/dev/loop7") {
		t.Errorf("on a loop device: %v", err)
	}
}

func TestPagesToImport(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]string{0: "is empty", 1: "has 1 bytes, not a multiple of 4096", 4097: "truncate -s %4096 " + f.Name() + " pads it", 4096: "", 8192: "",
		12288: "has 12K, and the device 8K"} {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		n, err := pagesToImport(f, 8192)
		if want == "" && (err != nil || int64(n)*pageSize != size) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: %d pages, %v, want %q", size, n, err, want)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	d, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pagesToImport(d, 8192); err == nil {
		t.Error("a directory can be imported")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
