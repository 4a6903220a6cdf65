// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// TestWrongCalls wants every wrong call refused at once, with the exit code of usage and one line
// that says what was wrong and what to type instead, without the words of Go and of errno.
func TestWrongCalls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "zram")
	for _, test := range []struct {
		args []string
		want string // the whole line
	}{
		{[]string{"up", dir, "-s", "3"}, `size "3": 3 bytes is too small; at least 40K is needed. Did you mean 3G?`},
		{[]string{"up", dir, "-s", "4096"}, `size "4096": 4096 bytes is too small; at least 40K is needed. Did you mean 4096M?`},
		{[]string{"up", dir, "-s", "32K"}, `size "32K": 32K is too small; at least 40K is needed`},
		{[]string{"up", dir, "-s", "4G", "-m", "4K"}, `memory limit 4K is too small: a 4G device needs 816K before it stores anything`},
		{[]string{"mount", dir, "-s", "4G", "-m", "4K"}, `memory limit 4K is too small: a 4G device needs 816K before it stores anything`},
		{[]string{"up", dir, "-d", "always"}, `discard "always": use both, once, pages or none`},
		{[]string{"up", dir, "-a", "lzo-rle"}, `unknown algorithm "lzo-rle" (kernel zram's): the nearest is lz4. ` +
			`Available: adaptive, page, page:dense, lz4, lz4:fast, zstd, raw`},
		{[]string{"mount", dir, "-a", "zsdt"}, `unknown algorithm "zsdt"; did you mean zstd? ` +
			`Available: adaptive, page, page:dense, lz4, lz4:fast, zstd, raw`},
		{[]string{"mount", dir, "-a", "zstd(level=99)"}, `algorithm "zstd(level=99)": level="99": levels are 1 to 19`},
		{[]string{"up", ""}, `up: DIR is empty; leave it out for /run/zram`},
		{[]string{"verify", ""}, `verify: DIR is empty; leave it out for /run/zram`},
		{[]string{"staus"}, `unknown command "staus"; did you mean status? See zramfs --help`},
		{[]string{"frobnicate"}, `unknown command "frobnicate"; see zramfs --help`},
		{[]string{"up", dir, "-p", "high"}, `up: --priority "high": not a whole number`},
		{[]string{"estimate", "--pid", "abc"}, `estimate: --pid "abc": not a process number`},
		{[]string{"list", "--bytes=perhaps"}, `list: --bytes "perhaps": neither true nor false`},
	} {
		got := runProgram(t, test.args...)
		if got.code != exitUsage || got.stderr != "zramfs: "+test.want+"\n" {
			t.Errorf("%q: exit code %d,\n got %q\nwant %q", test.args, got.code, strings.TrimPrefix(got.stderr, "zramfs: "), test.want)
		}
	}
}

// TestReports wants reports in words that need no explanation.
func TestReports(t *testing.T) {
	for _, test := range []struct {
		print func(io.Writer) error
		want  string
	}{
		{func(w io.Writer) error {
			return printVerify(w, false, imageio.VerifyReport{Dir: "/run/zram", Pages: 11509, Same: 1, Objects: 11508, ObjectBytes: 25*1<<20 + 1<<19, Seconds: 0.1, GBPerSecond: 0.5})
		},
			"/run/zram: 11,509 pages checked (25.5M compressed, 1 same-filled) in 0.1 s, 0.50 GB/s: no errors\n"},
		{func(w io.Writer) error {
			return printVerify(w, false, imageio.VerifyReport{Dir: "/run/zram", Pages: 3, Objects: 1, Wrong: 2, WrongPages: []uint64{5, 7}})
		},
			"/run/zram: 3 pages checked (0B compressed, 0 same-filled) in 0.0 s, 0.00 GB/s: 2 damaged: 5 7\n"},
		{func(w io.Writer) error {
			return printVerify(w, false, imageio.VerifyReport{Dir: "/run/zram", Pages: 1, Same: 1})
		}, "/run/zram: 1 page checked (0B compressed, 1 same-filled) in 0.0 s, 0.00 GB/s: no errors\n"},
		{func(w io.Writer) error {
			return printVerify(w, false, imageio.VerifyReport{Dir: "/run/zram", WrittenBack: 2})
		}, "/run/zram: 0 pages checked (0B compressed, 0 same-filled) in 0.0 s, 0.00 GB/s: no errors; 2 pages on the backing device not checked\n"},
		{func(w io.Writer) error {
			return printExport(w, false, imageio.ExportReport{File: "F", Pages: 1 << 19, Data: 97638, Seconds: 1.2, GBPerSecond: 0.33})
		},
			"F written: 381.4M of data in a 2G sparse file, in 1.2 s, 0.33 GB/s\n"},
		{func(w io.Writer) error {
			return printImport(w, false, imageio.ImportReport{File: "F", Dir: "/run/zram", Pages: 1 << 20, Same: 1000, ObjectBytes: 1 << 30, Seconds: 2, GBPerSecond: 2.1})
		},
			"F: 1,048,576 pages imported to /run/zram (1G compressed, 1,000 same-filled) in 2.0 s, 2.10 GB/s\n"},
		{func(w io.Writer) error {
			return printSave(w, false, imageio.SaveReport{File: "F", Pages: 256, FileBytes: 1 << 19, OneMoment: true, Seconds: 2, GBPerSecond: 0.5})
		}, "F written: 1M of data in 512K, all of one moment, in 2.0 s, 0.50 GB/s\n"},
		{func(w io.Writer) error {
			return printSave(w, false, imageio.SaveReport{File: "F", Pages: 256, FileBytes: 1 << 19, KeptBytes: 4096, Seconds: 2, GBPerSecond: 0.5})
		}, "F written: 1M of data in 512K, pages of different moments, in 2.0 s, 0.50 GB/s\n4K of them were there already\n"},
	} {
		var out strings.Builder
		if err := test.print(&out); err != nil || out.String() != test.want {
			t.Errorf("it says %q (%v), want %q", out.String(), err, test.want)
		}
	}
}

// TestReportsAreData wants the same reports as JSON under their names, and an error where the
// output takes nothing.
func TestReportsAreData(t *testing.T) {
	for name, print := range map[string]func(io.Writer, bool) error{
		"verify":        func(w io.Writer, asJSON bool) error { return printVerify(w, asJSON, imageio.VerifyReport{}) },
		"export":        func(w io.Writer, asJSON bool) error { return printExport(w, asJSON, imageio.ExportReport{}) },
		"import":        func(w io.Writer, asJSON bool) error { return printImport(w, asJSON, imageio.ImportReport{}) },
		snapshotSave:    func(w io.Writer, asJSON bool) error { return printSave(w, asJSON, imageio.SaveReport{}) },
		snapshotRestore: func(w io.Writer, asJSON bool) error { return printRestore(w, asJSON, imageio.RestoreReport{}) },
		snapshotInspect: func(w io.Writer, asJSON bool) error { return printInspect(w, asJSON, imageio.InspectReport{}) },
	} {
		var out strings.Builder
		var got map[string]map[string]any
		if err := print(&out, true); err != nil {
			t.Fatal(name, err)
		}
		if decodeJSON(t, out.String(), &got); len(got) != 1 || len(got[name]) == 0 {
			t.Errorf("%s is %v", name, got)
		}
		full := errors.New("no space")
		for _, asJSON := range []bool{false, true} {
			if err := print(failing{full}, asJSON); !errors.Is(err, full) {
				t.Errorf("%s on a full disk: %v", name, err)
			}
		}
	}
}

// TestKeeperErrors wants errors of sockets reworded.
func TestKeeperErrors(t *testing.T) {
	other := errors.New("another")
	if got := explainKeeper(swapdev.Device{}, other); got != other {
		t.Error(got)
	}
	refused := fmt.Errorf("ask: %w", control.ErrNoKeeper)
	if got := explainKeeper(swapdev.Device{}, refused); (got == refused) != (os.Geteuid() == 0) {
		t.Errorf("user %d reads %v", os.Geteuid(), got)
	}
}
