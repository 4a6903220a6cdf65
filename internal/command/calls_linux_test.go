// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/callfail"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// numbers differ between two runs, and so do the devices of other tests.
var numbers = regexp.MustCompile(`; there are: .*|[0-9][0-9.,:]*(?:ms|µs|[KMGBs]*)`)

// named finds the error, or what it means. A process that a command starts ends without a word
// where the call is one of its loader's: tests are linked dynamically.
var named = regexp.MustCompile(unix.EIO.Error() + "|/sys is not mounted|the size of RAM is not known|the process for [a-z-]+ was killed")

// wantCallsTold has each of the first system calls of do fail: do ends as without that, or names
// the error.
func wantCallsTold(t *testing.T, name string, most int, do func(out *strings.Builder) error) {
	t.Helper()
	want := ""
	for n := 0; n <= most; n++ {
		var out strings.Builder
		var err error
		failed := callfail.Nth(t, n, unix.EIO, func() { err = do(&out) })
		switch got := strings.Join(strings.Fields(numbers.ReplaceAllString(fmt.Sprint(out.String(), err), "N")), " "); {
		case n == 0:
			want = got
		case failed == "" && n == 1:
			t.Errorf("%s makes no call", name)
		case failed == "":
			return
		case got != want && !named.MatchString(got):
			t.Errorf("%s, call %d, %s, fails: %s\nwant %s", name, n, failed, got, want)
		}
	}
}

// onFailing are commands for DIR, files in TMP and the absent device NONE, which do again what they
// have done. Of these many system calls each fails. None may turn swap on, whatever fails.
var onFailing = []struct {
	line string
	most int
}{
	{"list DIR", 500}, {"trace DIR", 500}, {"events -J DIR", 500}, {"set DIR", 500}, {"idle DIR", 500}, {"recompress DIR", 500},
	{"verify DIR", 500}, {"export --force DIR TMP/pages", 500}, {"import TMP/file DIR", 500}, {"snapshot save --force DIR TMP/snapshot", 500},
	{"snapshot restore --force TMP/snapshot DIR", 500}, {"snapshot inspect TMP/snapshot", 500}, {"upgrade DIR", 500},
	{"estimate -f TMP/file -a lz4", 500}, {"config check --config-root testdata/config/dropins", 500},
	{"down NONE", 90}, {"up NONE -s 16M", 90}, {"down --section zram999", 12},
	{"mount NONE -s 16M -a zstd(dict=TMP/file)", 20}, {"status --quiet NONE", 20},
}

// A system call that fails changes nothing of what a command does, or the command names its error.
func TestCallsFail(t *testing.T) {
	dir, tmp := served(t), t.TempDir()
	fill(t, filepath.Join(tmp, "file"))
	succeeds(t, "set "+dir+" recomp-algorithm=zstd(level=9)")
	succeeds(t, "snapshot save "+dir+" "+filepath.Join(tmp, "snapshot"))
	for _, c := range onFailing {
		wantCallsTold(t, c.line, c.most, func(out *strings.Builder) error { return runApp(newApp(out, out), servedWords(c.line, dir, tmp)) })
	}
}

// A command for every device goes on after one that fails, and says so.
func TestEveryDevice(t *testing.T) {
	dir, other := served(t), errors.New("another")
	var seen []string
	_, err := said(t, "down --all", func(c *cli.Context) error {
		return everyDevice(c, "down", func(d swapdev.Device) error {
			seen = append(seen, d.Dir)
			return other
		})
	})
	if !errors.Is(err, other) || !slices.Contains(seen, dir) {
		t.Errorf("%v, of %q", err, seen)
	}
	switch d, err := execDevice(nil, nil); {
	case err == nil && (d.Dir == dir || d.Dir == defaultDir):
	default: // there are more
		if code, text := describe(err); code != exitUsage || !strings.Contains(text, dir) {
			t.Errorf("exec means %q, %v", d.Dir, err)
		}
	}
}

// Where nothing can be looked for, a command names the error, and devices count as full.
func TestFirstCallsFail(t *testing.T) {
	action := func(args ...string) func() error {
		return func() error { return runApp(newApp(io.Discard, io.Discard), append([]string{"zramfs"}, args...)) }
	}
	for name, do := range map[string]func() error{
		"exec":    func() error { _, err := execDevice(nil, nil); return err },
		"zramctl": func() error { return zramctlAction(io.Discard, nil) },
		"top":     func() error { _, err := takeSamples(nil); return err },
		"status":  action("status"),
		"metrics": action("metrics", "-J"),
		"every": func() error {
			_, err := said(t, "down --all", func(c *cli.Context) error { return everyDevice(c, "down", func(swapdev.Device) error { return nil }) })
			return err
		},
	} {
		told := false
		for n := 1; n <= 12; n++ { // the first are the program's
			callfail.Nth(t, n, unix.EIO, func() { told = errors.Is(do(), unix.EIO) || told })
		}
		if !told {
			t.Errorf("%s tells of no error", name)
		}
	}
	tmp, n := t.TempDir(), 0
	wantCallsTold(t, "the generator", 300, func(out *strings.Builder) error {
		n++
		return (&generatorRun{root: "testdata/generator/01-empty-section", test: true, out: out}).write(filepath.Join(tmp, strconv.Itoa(n)))
	})
}
