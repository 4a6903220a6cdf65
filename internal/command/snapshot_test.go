// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/loopsetup"
)

// A device is saved or restored to only if nothing uses it, and swap is never saved.
func TestMaySnapshot(t *testing.T) {
	open, loop := &status.Status{Opens: 1}, []loopsetup.Info{{Path: "/dev/loop7"}}
	for name, c := range map[string]struct {
		d                   swapdev.Device
		save, live, restore string
	}{
		"free":            {swapdev.Device{Status: &status.Status{}}, "", "", ""},
		"open":            {swapdev.Device{Status: open}, "--live saves it", "", "it is in use"},
		"on loop":         {swapdev.Device{Status: open, Loops: loop}, "/dev/loop7 is on it", "", "/dev/loop7 is on it"},
		"loop, not open":  {swapdev.Device{Status: &status.Status{}, Loops: loop}, "", "", "/dev/loop7 is on it"},
		"swap":            {swapdev.Device{Status: open, Loops: loop, Swaps: []loopsetup.Swap{{Path: "/dev/loop7"}}}, "used as swap", "used as swap", "/dev/loop7 is swapped to"},
		"does not answer": {swapdev.Device{Err: helper.ErrNoAnswer}, "does not answer", "does not answer", "does not answer"},
	} {
		for i, err := range []error{maySave(c.d, false), maySave(c.d, true), mayRestore(c.d)} {
			if want := []string{c.save, c.live, c.restore}[i]; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

func TestSnapshotUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"save"}, {"save", "/x"}, {"save", "/x", ""}, {"save", "/x", "y", "z"}, {"restore", "y"}, {"restore", "--live", "y", "/x"}, {"inspect"},
		{"inspect", "a", "b"}, {"inspect", "--resume", "a"}, {"inspect", "--live", "a"}, {"inspect", "--force", "a"}, {"delete", "a"},
	} {
		if got := runProgram(t, append([]string{"snapshot"}, args...)...); got.code != exitUsage || !strings.Contains(got.stderr, "snapshot: ") {
			t.Errorf("%q: exit code %d: %s", args, got.code, got.stderr)
		}
	}
	for _, args := range [][]string{{"inspect", "/dev/null"}, {"inspect", filepath.Join(t.TempDir(), "none")}, {"inspect", "/proc/self/exe"}} {
		if got := runProgram(t, append([]string{"snapshot"}, args...)...); got.code != exitFailure || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d: %s%s", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestInspectText(t *testing.T) {
	r := imageio.InspectReport{
		File: "F", FileBytes: 3 << 20, Version: 1, Disksize: 1 << 30, Algorithm: "adaptive", DictionaryBytes: 16 << 10, Pages: 2000, Same: 1000, ObjectBytes: 2 << 20,
		Codecs: []imageio.SnapshotCodec{{Name: "page", Pages: 1000, Bytes: 2 << 20}}, Ratio: 1.953, OneMoment: true, SHA256: "abc",
	}
	const whole = "snapshot   F, version 1, 3M\ndevice     1G, adaptive, its dictionary of 16K included\n" +
		"pages      2,000 with data: 1,000 same-filled, 1,000 page (2M)\nratio      1.95\n"
	damage := &snapshot.DamageError{Offset: 77, Page: 1024, What: "the checksum of the block is wrong"}
	for _, c := range []struct {
		damage *snapshot.DamageError
		want   string
	}{
		{nil, whole + "moment     all of one moment\nsha256     abc\nchecksums  all hold, and every object can be read\n"},
		{damage, whole + "checksums  damaged at offset 77, in the pages from 1024 on: the checksum of the block is wrong\n"},
	} {
		var out strings.Builder
		r.Damage = c.damage
		if err := printInspect(&out, false, r); err != nil || out.String() != c.want {
			t.Errorf("%q, %v, want %q", out.String(), err, c.want)
		}
	}
}

// A restore tells of pages that it left as they were, or compressed again, where there are some.
func TestRestoreText(t *testing.T) {
	for _, c := range []struct{ kept, recoded uint64 }{{0, 0}, {3, 0}, {0, 1}} {
		var out strings.Builder
		if err := printRestore(&out, false, imageio.RestoreReport{Pages: 9, Kept: c.kept, Recoded: c.recoded}); err != nil {
			t.Fatal(err)
		}
		if kept, recoded := strings.Contains(out.String(), "there already"), strings.Contains(out.String(), "compressed again"); kept != (c.kept > 0) || recoded != (c.recoded > 0) {
			t.Errorf("%+v: %s", c, out.String())
		}
	}
}
