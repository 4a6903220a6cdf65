// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/internal/zramctl"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/loopsetup"
)

// --since is an age or a time.
func TestReadSince(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "90s": now.Add(-90 * time.Second), "0s": now, "2026-11-23T12:04:05Z": time.Date(2026, 11, 23, 12, 4, 5, 0, time.UTC),
	} {
		if got, err := readSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-90s", "90", "yesterday"} {
		if got, err := readSince(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// A limit in per cent is of this machine's memory.
func TestSettingInPerCent(t *testing.T) {
	dir, changes, err := settingArguments([]string{"/srv/a=b", "mem-limit=50%"})
	if err != nil || dir != "/srv/a=b" || len(changes) != 1 {
		t.Errorf("%s, %d changes, %v", dir, len(changes), err)
	}
}

// down --all ends what up has turned on, and says why it leaves others alone.
func TestDownSwapOnly(t *testing.T) {
	for want, d := range map[string]swapdev.Device{
		"is not swap and may hold data": {Dir: "/run/zram", Mountpoint: "/mnt"},
		"has a file system on /mnt":     {Dir: "/run/zram", Mountpoint: "/mnt", Record: &uprecord.Record{}},
	} {
		if err := downSwap(nil, d, time.Time{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want that it %s", d, err, want)
		}
	}
}

// failingOnce is an output whose write of that number fails.
type failingOnce struct{ left int }

func (f *failingOnce) Write(p []byte) (int, error) {
	if f.left--; f.left == -1 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// A device that cannot be announced is none: whichever write fails, mount hears of it.
func TestAnnouncementFails(t *testing.T) {
	algorithm, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	report := &status.Report{Dir: "/run/zram", Disksize: 1 << 30, Protections: []status.Protection{{Name: "oom", State: status.OK}}}
	writes := 0
	for err = syscall.ENOSPC; err == syscall.ENOSPC; writes++ {
		out := &failingOnce{left: writes}
		app := newApp(out, out)
		app.Command("mount").Action = func(c *cli.Context) error {
			said, err := newNarration(c, out)
			if err != nil {
				return err
			}
			return announceDevice(c, said, zramfsd.Config{Algorithm: algorithm}, report, nil)
		}
		err = runApp(app, []string{"zramfs", "mount", "--verbose", "/run/zram"})
	}
	if err != nil || writes != 4 { // a protection, the path, what to do next, and none
		t.Errorf("%d writes, then %v", writes, err)
	}
}

func TestBackingWords(t *testing.T) {
	b := status.Backing{Path: "/dev/x", Capacity: 100, Pages: 7, Writes: 9, Reads: 2, Limit: 5}
	const plain = "/dev/x: 7 of 100 pages, 9 written and 2 read so far"
	if got := backingWords(b); got != plain {
		t.Errorf("%q, want %q", got, plain)
	}
	b.Limited, b.FailedWrites = true, 3
	if got, want := backingWords(b), plain+", 5 may yet be written, 3 writes failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := backingWords(status.Backing{}); got != "" {
		t.Errorf("without a backing device: %q", got)
	}
}

// As zramctl, each line of an error has the name in front, but for the one that names --help.
func TestZramctlErrors(t *testing.T) {
	var out, errs strings.Builder
	if code := runZramctl([]string{zramctl.Name, "--nonsense"}, &out, &errs); code != exitFailure || out.Len() > 0 {
		t.Errorf("exit code %d, printed %q", code, out.String())
	}
	lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "zramctl: ") || !strings.HasPrefix(lines[1], "Try ") {
		t.Errorf("it says %q", lines)
	}
}

// A wait is as long as it was asked for, and does not end before it has begun.
func TestWaitUntil(t *testing.T) {
	now := time.Now()
	if at := waitUntil(now, 60); at.Sub(now) != time.Minute {
		t.Error(at)
	}
	for _, seconds := range []uint{1<<32 - 1, math.MaxInt, math.MaxUint} {
		if at := waitUntil(now, seconds); at.Before(now.AddDate(99, 0, 0)) {
			t.Errorf("%d seconds end at %v", seconds, at)
		}
	}
}

func TestZramctlColumns(t *testing.T) {
	names := func(all []listColumn) (names []string) {
		for _, c := range all {
			names = append(names, c.Name)
		}
		return names
	}
	every := names(listColumns)
	for _, c := range []struct {
		o    zramctl.Options
		want []string
	}{
		{zramctl.Options{}, strings.Split(defaultColumns, ",")}, {zramctl.Options{AllColumns: true}, every},
		{zramctl.Options{AllColumns: true, Columns: "+FREED"}, append(slices.Clone(every), "FREED")},
		{zramctl.Options{AllColumns: true, Columns: "data"}, []string{"DATA"}}, {zramctl.Options{Columns: "data"}, []string{"DATA"}},
	} {
		if got, err := zramctlColumns(c.o); err != nil || !slices.Equal(names(got), c.want) {
			t.Errorf("%+v: %q, %v; want %q", c.o, names(got), err, c.want)
		}
	}
}

// zramctl --reset ends no device in use, and none for a user other than root.
func TestZramctlSparesDevices(t *testing.T) {
	want := syscall.EBUSY
	if os.Geteuid() != 0 {
		want = syscall.EACCES
	}
	for _, d := range []swapdev.Device{{Mountpoint: "/mnt"}, {Swaps: []loopsetup.Swap{{Path: "/dev/loop3"}}}} {
		if err := endDevice(d); err != want {
			t.Errorf("%+v: %v, want %v", d, err, want)
		}
	}
}

// A device here and one of the same DIR in another mount namespace have each its own name.
func TestZramctlNamesDevicesOfOneDir(t *testing.T) {
	here, away := wellDevice(), wellDevice()
	away.Elsewhere, away.Loops = true, []loopsetup.Info{{Path: "/dev/loop77"}}
	var out strings.Builder
	all := []zramctl.Numbered{{Number: 0, Device: &here}, {Number: zramctl.Elsewhere, Device: &away}}
	if err := zramctlStatus(&out, zramctl.Options{Columns: "NAME", NoHeadings: true, Raw: true}, all); err != nil || out.String() != "/dev/zram0\n/dev/loop77\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// To end a device of another mount namespace leaves that alone which has its DIR here.
func TestZramctlEndsWhatItFound(t *testing.T) {
	dir := served(t)
	if err := endDevice(swapdev.Device{Dir: dir, Elsewhere: true}); err != nil {
		t.Error(err)
	}
	if _, err := swapdev.FindHere(dir); err != nil {
		t.Errorf("the device that is mounted here is gone: %v", err)
	}
}

// down ends no other device than the one that it found, though that has the same DIR.
func TestDownSparesAnotherDevice(t *testing.T) {
	dir := served(t)
	found, err := swapdev.FindHere(dir)
	if err != nil {
		t.Fatal(err)
	}
	succeeds(t, "umount "+dir)
	succeeds(t, "mount --size 16M "+dir)
	r := swapdev.Down{Out: &swapdev.Narration{Out: io.Discard}}
	if err := r.Run(found); err == nil || !strings.Contains(err.Error(), "another device") {
		t.Error(err)
	}
	if _, err := swapdev.FindHere(dir); err != nil {
		t.Error(err)
	}
}
