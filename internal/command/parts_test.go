// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zramctl"
	"github.com/zramfs/zramfs/loopsetup"
)

// The first device that is swap counts, by the start of its keeper.
func TestSwapStart(t *testing.T) {
	swap, self := wellDevice(), os.Getpid()
	of := func(keepers ...int) (all []swapdev.Device) {
		for _, pid := range keepers {
			swap.Keeper = pid
			all = append(all, swap)
		}
		return append(all, swapdev.Device{Keeper: 1})
	}
	own, ok := host.Local.Process(self)
	parent, has := host.Local.Process(os.Getppid())
	if !ok || !has {
		t.Skip("no process above this one is seen")
	}
	for _, c := range []struct {
		keepers []int
		want    uint64
	}{
		{nil, 0}, {[]int{0}, 0}, {[]int{1 << 30}, 0}, {[]int{self}, own.Start},
		{[]int{self, os.Getppid(), 1 << 30}, parent.Start}, {[]int{os.Getppid(), 0, self}, parent.Start},
	} {
		if got := swapStart(of(c.keepers...)); got != c.want {
			t.Errorf("keepers %v: %d, want %d", c.keepers, got, c.want)
		}
	}
}

// Without a name it is the device at the default DIR, else the only one.
func TestUsualDevice(t *testing.T) {
	for want, all := range map[string][]swapdev.Device{
		defaultDir: {{Dir: "/a"}, {Dir: defaultDir}, {Dir: "/b"}}, "/a": {{Dir: "/a"}},
	} {
		if got, err := usualDevice(all); got != want || err != nil {
			t.Errorf("%v: %q, %v", all, got, err)
		}
	}
	if _, err := usualDevice(nil); !errors.Is(err, swapdev.ErrNotRunning) {
		t.Errorf("of none: %v", err)
	}
	_, err := usualDevice([]swapdev.Device{{Dir: "/a"}, {Dir: "/b"}})
	if code, text := describe(err); code != exitUsage || !strings.HasSuffix(text, "name one: /a, /b") {
		t.Errorf("of two: %d, %s", code, text)
	}
}

// Progress is what was tried since the work began, and not shown yet.
func TestShowTried(t *testing.T) {
	at := func(done, given uint64) swapdev.Device {
		s := &status.Status{}
		s.Ages.Recompressed, s.Ages.Incompressible = done, given
		return swapdev.Device{Status: s}
	}
	full := errors.New("full")
	for _, c := range []struct {
		now         swapdev.Device
		shown, want uint64
		added       []uint64
	}{
		{at(10, 5), 0, 0, nil}, {at(13, 6), 0, 4, []uint64{4}}, {at(13, 6), 3, 4, []uint64{1}}, {at(13, 6), 4, 4, nil}, {at(1, 1), 0, 0, nil}, {swapdev.Device{}, 2, 2, nil},
	} {
		steps := &countedSteps{}
		if got, err := showTried(steps, at(10, 5), c.now, c.shown); got != c.want || err != nil || !slices.Equal(steps.added, c.added) {
			t.Errorf("%+v: %d, %v, added %v", c, got, err, steps.added)
		}
		if _, err := showTried(&countedSteps{err: full}, at(10, 5), c.now, c.shown); (err == full) != (c.added != nil) {
			t.Errorf("%+v on a full terminal: %v", c, err)
		}
	}
}

// countedSteps notes what is added.
type countedSteps struct {
	added []uint64
	err   error
}

func (s *countedSteps) Add(n uint64) error {
	s.added = append(s.added, n)
	return s.err
}

func (s *countedSteps) End() error { return nil }

// down says what it brought back and what it could not restore, to the last line.
func TestSayDown(t *testing.T) {
	for how, want := range map[string]string{
		"": "/run/zram is down: 1M brought back from swap\n  warning  one\n  warning  two\n", flagQuiet: "", flagJSON: "{",
	} {
		for n := 0; ; n++ {
			var text strings.Builder
			out := &failingOnce{left: n}
			said := &swapdev.Narration{Out: io.MultiWriter(&text, out), How: how, Warnings: []string{"one", "two"}}
			err := sayDown(said, downSummary{Dir: "/run/zram", WasUp: true, BroughtBack: 1 << 20})
			if out.left < 0 != errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%q: write %d of the output fails: %v", how, n, err)
			}
			if out.left >= 0 {
				if !strings.HasPrefix(text.String(), want) || how != flagJSON && text.String() != want || (n == 0) != (how == flagQuiet) {
					t.Errorf("%q: %q, want %q, in %d writes", how, text.String(), want, n)
				}
				break
			}
		}
	}
	if err := forgetGone(failing{syscall.ENOSPC}, host.Root(t.TempDir()), "none", errors.New("none")); err != syscall.ENOSPC {
		t.Errorf("a device that is gone: %v", err)
	}
}

// Between two devices is an empty line, and each write may fail.
func TestReportsFail(t *testing.T) {
	all := []report{newReport(wellDevice(), time.Now()), newReport(wellDevice(), time.Now())}
	for n := 0; ; n++ {
		out := &failingOnce{left: n}
		app := newApp(out, io.Discard)
		app.Command("status").Action = func(c *cli.Context) error { return printReports(c, all, "none") }
		if err := runApp(app, []string{"zramfs", "status"}); out.left < 0 != errors.Is(err, syscall.ENOSPC) {
			t.Errorf("where write %d fails: %v", n, err)
		}
		if out.left >= 0 {
			break
		}
	}
}

// A service manager hears of the first keeper and of all devices.
func TestAnnouncement(t *testing.T) {
	messages := listen(t)
	var a announcement
	for pid, line := range []string{"left out", "one", "two"} {
		if err := a.note(pid, line); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.send(); err != nil {
		t.Fatal(err)
	}
	if got := <-messages; !strings.Contains(got, "STATUS=left out; one; two") || !strings.Contains(got, "MAINPID=1") {
		t.Errorf("it hears %q", got)
	}
}

// A file is written as a whole or not at all.
func TestWriteWhole(t *testing.T) {
	other := errors.New("another")
	for want, write := range map[string]func(path string) error{
		"":           func(string) error { return nil },
		"another":    func(string) error { return other },
		"file exist": func(path string) error { return os.Mkdir(path, 0o700) }, // rename fails
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "trace")
		err := writeWhole(path, func(io.Writer) error { return write(path) })
		left, lerr := filepath.Glob(filepath.Join(dir, ".zramfs-*"))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "write "+path)) || len(left) > 0 || lerr != nil {
			t.Errorf("%q: %v, left %q, %v", want, err, left, lerr)
		}
	}
	if err := writeWhole(filepath.Join(t.TempDir(), "none", "trace"), func(io.Writer) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

// An input that cannot be read, or is none, is an error that names the flag.
func TestReadKubernetes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": `{"kubeletconfig":{"failSwapOn":false}}`, "bad": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"--configz DIR/good": "", "--configz DIR/bad": "--configz ", "--configz DIR/none": "no such file", "--configz -": "read standard input: another",
		"--pods DIR/bad": "--pods ", "--pods DIR/none": "no such file",
	} {
		_, err := said(t, "doctor --kubernetes "+strings.ReplaceAll(args, "DIR", dir), func(c *cli.Context) error {
			c.App.Reader = failingReader{errors.New("another")}
			k, err := readKubernetes(c)
			if err == nil && k.Configz == nil {
				t.Errorf("%s: no settings", args)
			}
			return err
		})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// The kinds of engine are in the version.
func TestVersionHasEngines(t *testing.T) {
	withKinds(t, imageio.Kind{Name: "one"}, imageio.Kind{Name: "two"})
	var out strings.Builder
	if err := printVersion(t.Context(), &out); err != nil || !strings.Contains(out.String(), ", with one, with two)\nzramfsd ") || !slices.Equal(readBuildInfo().Engines, []string{"one", "two"}) {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// zramctl makes no device of a wrong name, algorithm or size, or where it cannot be.
func TestZramctlCreates(t *testing.T) {
	none := &config.Config{Sections: []*config.Section{{Name: "zram0", Dir: filepath.Join(t.TempDir(), "none", "zram")}}}
	busy := wellDevice()
	for _, c := range []struct {
		o    zramctl.Options
		want string
	}{
		{zramctl.Options{Devices: []string{"none"}, Size: 1 << 24}, "none: "},
		{zramctl.Options{Find: true, Algorithm: "none", Size: 1 << 24}, "/dev/zram0: failed to set algorithm: "},
		{zramctl.Options{Devices: []string{"zram7"}}, "/dev/zram7: failed to set disksize (0 bytes): "},
		{zramctl.Options{Find: true, Size: 1 << 24}, "/dev/zram0: failed to set disksize (16777216 bytes): mount point "},
		{zramctl.Options{Devices: []string{"zram9"}, Size: 1 << 24}, "/dev/zram9: failed to reset: "},
	} {
		var out strings.Builder
		err := zramctlCreate(&out, c.o, none, []zramctl.Numbered{{Number: 9, Device: &busy}})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || out.Len() > 0 {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	for _, name := range []string{"none", "zram8"} {
		if err := zramctlStatus(io.Discard, zramctl.Options{Devices: []string{name}}, nil); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("the status of %s: %v", name, err)
		}
	}
}

// Functions return errors also where no command line causes one.
func TestOddErrors(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := pagesToImport(f, 1<<30); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
	odd := []listColumn{{value: func(swapdev.Device) any { return make(chan int) }}}
	if _, err := said(t, "list -J", func(c *cli.Context) error { return printList(c, make([]swapdev.Device, 1), odd) }); err == nil || !strings.Contains(err.Error(), "unsupported type") {
		t.Errorf("a column that is no JSON: %v", err)
	}
	if _, err := said(t, "list", func(c *cli.Context) error { return onUsageError(c, flag.ErrHelp, false) }); err == nil {
		t.Error("a wrong call is none")
	} else if code, text := describe(err); code != exitUsage || text != "list: "+flag.ErrHelp.Error() {
		t.Errorf("a wrong call: %d, %s", code, text)
	}
	if got := disksizeOf(swapdev.Device{Loops: []loopsetup.Info{{Size: 1}, {Size: 2}}}); got != byteSize(3) {
		t.Errorf("the size of two loop devices: %v", got)
	}
}
