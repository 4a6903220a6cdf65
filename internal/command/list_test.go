// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

func TestParseColumns(t *testing.T) {
	tests := []struct{ list, want string }{
		{"NAME", "NAME"},
		{"name,Data", "NAME DATA"},
		{"+comp-ratio", "NAME ALGORITHM DISKSIZE DATA COMPR TOTAL STREAMS MOUNTPOINT COMP-RATIO"},
		{"+NAME,ZERO-PAGES", "NAME ALGORITHM DISKSIZE DATA COMPR TOTAL STREAMS MOUNTPOINT NAME ZERO-PAGES"},
	}
	for _, test := range tests {
		columns, err := parseColumns(test.list)
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != test.want {
			t.Errorf("%q: %s, %v; want %s", test.list, got, err, test.want)
		}
	}
	for list, want := range map[string]string{
		"": "empty column name", ",": "empty column name", "NAME,": "empty column name", "+": "empty column name",
		"FOO": "unknown column: FOO", "NAME,FOO": "unknown column: FOO", "NAME,+DATA": "unknown column: +DATA",
		" NAME": "unknown column:  NAME", "MEM": "unknown column: MEM",
	} {
		_, err := parseColumns(list)
		if code, text := describe(err); code != exitFailure || !strings.HasPrefix(text, want) {
			t.Errorf("%q: %d %q, want %d %q", list, code, text, exitFailure, want)
		}
	}
}

// TestListJSON pins the shape of losetup --json and the kinds of its values.
func TestListJSON(t *testing.T) {
	hung := swapdev.Device{Dir: `/mnt/"<b>`, Err: helper.ErrNoAnswer}
	attached := swapdev.Device{Dir: "/run/c", Err: helper.ErrNoAnswer, Loops: []loopsetup.Info{{Path: "/dev/loop9", Size: 1 << 30}}}
	for name, found := range map[string][]swapdev.Device{"none": nil, "one": {wellDevice()}, "several": {wellDevice(), hung, attached}} {
		got, err := listJSON(found, listColumns)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("not JSON: %s", got)
		}
		compareGolden(t, filepath.Join("list", name+".json"), got)
	}
}

// TestListUnknown wants empty cells for a device that does not answer, and the kernel's data about
// its loop device.
func TestListUnknown(t *testing.T) {
	d := swapdev.Device{Dir: "/run/zram", Err: helper.ErrNoAnswer, Loops: []loopsetup.Info{{Path: "/dev/loop9", Size: 1 << 30}}}
	columns, err := parseColumns(defaultColumns)
	if err != nil {
		t.Fatal(err)
	}
	const want = "NAME       ALGORITHM DISKSIZE DATA COMPR TOTAL STREAMS MOUNTPOINT\n" +
		"/dev/loop9                 1G                          \n"
	if got := listTable([]swapdev.Device{d}, columns, false).Render(term.Style{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := statusErrors([]swapdev.Device{wellDevice(), d}); !errors.Is(err, helper.ErrNoAnswer) {
		t.Errorf("%v, want %v", err, helper.ErrNoAnswer)
	}
	if err := statusErrors([]swapdev.Device{wellDevice()}); err != nil {
		t.Error(err)
	}
}

// TestListRatio has the column that the zramctl of older machines lacks.
func TestListRatio(t *testing.T) {
	columns, err := parseColumns("COMP-RATIO,NAME")
	if err != nil {
		t.Fatal(err)
	}
	empty := wellDevice()
	empty.Status.Memory.MemUsedTotal = 0
	const want = "COMP-RATIO NAME\n    2.9000 /dev/loop3\n           /dev/loop3\n"
	if got := listTable([]swapdev.Device{wellDevice(), empty}, columns, true).Render(term.Style{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
