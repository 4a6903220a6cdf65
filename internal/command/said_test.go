// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// said runs do in the place of a command with these arguments, and returns what it prints.
func said(t *testing.T, args string, do cli.ActionFunc) (string, error) {
	t.Helper()
	var out strings.Builder
	app := newApp(&out, io.Discard)
	words := strings.Fields(args)
	app.Command(words[0]).Action = do
	err := runApp(app, append([]string{"zramfs"}, words...))
	return out.String(), err
}

// An up that was killed between two areas has left the others off, and the kernel has detached
// their loop devices: the next one does not call that swap that is on. Areas that still have one
// may be those of an up at the same time.
func TestUpAlreadyMissesAreas(t *testing.T) {
	d := wellDevice()
	d.Record = &uprecord.Record{Loops: []uprecord.Loop{{Path: "/dev/loop3"}, {Path: "/dev/loop4"}, {Path: "/dev/loop5"}}}
	told := 0
	w := wish{set: func(string) bool { return false }, tell: func(int, string) error { told++; return nil }}
	d.Keeper = 42
	say := func() (string, error) {
		return said(t, "up /run/zram", func(c *cli.Context) error { return sayUp(c, &swapdev.Narration{}, d, w) })
	}
	_, err := say()
	if want := "/run/zram is up without 2 of its 3 swap areas, /dev/loop4, /dev/loop5: an up may have been killed. To turn them on: zramfs down /run/zram, then up"; err == nil || err.Error() != want || told != 1 {
		t.Errorf("%v, told %d times, want %s", err, told, want)
	}
	d.Loops = append(d.Loops, loopsetup.Info{Path: "/dev/loop4"}, loopsetup.Info{Path: "/dev/loop5"})
	if text, err := say(); err != nil || !strings.Contains(text, "is up already") {
		t.Errorf("while another up is at work: %q, %v", text, err)
	}
}

// A device that is up says so in each form, to its service manager too, and refuses other values.
func TestUpAlreadySays(t *testing.T) {
	d := wellDevice()
	d.Keeper = 42
	told, failed := "", error(nil)
	w := wish{set: func(string) bool { return false }, tell: func(pid int, line string) error {
		if pid != 42 {
			t.Errorf("PID %d is told of", pid)
		}
		told = line
		return failed
	}}
	say := func(how string) (string, error) {
		return said(t, "up /run/zram", func(c *cli.Context) error { return sayUp(c, &swapdev.Narration{How: how}, d, w) })
	}
	got, err := say("")
	if want := "/run/zram is up already: " + told + "\n"; err != nil || got != want || !strings.Contains(told, "/dev/loop3") {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := say(flagQuiet); got != "" || err != nil {
		t.Errorf("quiet: %q, %v", got, err)
	}
	got, err = say(flagJSON)
	var s struct{ Up summary }
	if decodeJSON(t, got, &s); err != nil || s.Up.Size != 4<<30 || s.Up.Algorithm != "adaptive" || *s.Up.Priority != 100 || !slices.Equal(s.Up.Loops, []string{"/dev/loop3"}) {
		t.Errorf("%+v, %v", s, err)
	}
	failed = errors.New("no manager")
	if _, err := say(""); !errors.Is(err, failed) {
		t.Errorf("a manager that is not told: %v", err)
	}
	failed, told, d.Keeper = nil, "", 0
	if _, err := say(""); err != nil || told != "" {
		t.Errorf("without a keeper %q is told, %v", told, err)
	}
	w.set, w.cfg.Disksize = func(flag string) bool { return flag == flagSize }, 1<<30
	w.cfg.Algorithm, _ = codec.Parse("lz4")
	if got, err := say(""); err == nil || got != "" || !strings.Contains(err.Error(), "is up with 4G; you asked for 1G.") {
		t.Errorf("with another size: %q, %v", got, err)
	}
}

// up ends with a summary of what it has made, in each form.
func TestSwapSummaries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	u := &swapdev.Up{Report: &status.Report{Dir: dir, Disksize: 1 << 30}, Swap: swapdev.SwapConfig{Priority: 9},
		Device: swapdev.Device{Loops: []loopsetup.Info{{Path: "/dev/loop4"}}}}
	u.Config.Algorithm, _ = codec.Parse("lz4")
	for _, c := range []struct{ command, how, want string }{
		{"up", "", "1G of compressed swap is on: /dev/loop4, priority 9, algorithm lz4\n"},
		{"up", flagQuiet, ""},
		{"up", flagJSON, "{"},
	} {
		u.Out = &swapdev.Narration{How: c.how}
		got, err := said(t, c.command, func(cl *cli.Context) error {
			return summarizeUp(cl, u.Out, u)
		})
		if err != nil || !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s %s: %q, %v, want %q", c.command, c.how, got, err, c.want)
		}
		if c.how == flagJSON {
			var s map[string]summary
			if decodeJSON(t, got, &s); *s[c.command].Priority != 9 || !slices.Equal(s[c.command].Loops, []string{"/dev/loop4"}) {
				t.Errorf("%s: %+v", c.command, s)
			}
		}
	}
}
