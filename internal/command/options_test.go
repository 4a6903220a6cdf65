// SPDX-License-Identifier: Apache-2.0

package command

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/loopsetup"
)

// reader is a function that reads the flags of a command.
type reader func(c *cli.Context) (any, error)

// Each flag reaches the value that stands for it, and the others keep theirs.
func TestFlagsReachTheirValues(t *testing.T) {
	source := func(name string, flags ...string) reader {
		return func(c *cli.Context) (any, error) { return readPageSource(c, name, flags...) }
	}
	estimated := source("estimate", flagPID, flagAll, flagFile)
	benched := source("bench", flagFile, flagPID, flagGenerated)
	areas := func(c *cli.Context) (any, error) {
		s, err := readSwapConfig(c, 1<<30)
		return []any{s.Priority, s.Devices, s.Force, s.Keep, s.Slots, s.Discard}, err
	}
	for _, c := range []struct {
		line string
		read reader
		want any // nil for a usage error
	}{
		{"estimate --pid 3,3", estimated, sample.Source{PIDs: []int{3}}}, {"estimate --all", estimated, sample.Source{All: true}},
		{"estimate -f F", estimated, sample.Source{File: "F"}}, {"estimate", estimated, nil}, {"estimate --all=false", estimated, nil},
		{"bench codec", benched, sample.Source{Generated: true}}, {"bench codec -f F", benched, sample.Source{File: "F"}}, {"bench codec -p 3", benched, sample.Source{PIDs: []int{3}}},
		{"bench codec --generated=false", benched, nil},
		{"up --zswap off", areas, []any{defaultPriority, 16, false, false, ballast.Auto, loopsetup.DiscardPages}},
		{"up -p 9 --devices 10 --force --slots free -d both", areas, []any{9, 10, true, false, ballast.Free, loopsetup.DiscardBoth}},
		{"up -p 3 --keep --zswap off", areas, []any{3, 4, false, true, ballast.Auto, loopsetup.DiscardPages}}, {"up -p 9 --devices 11", areas, nil},
	} {
		var got any
		_, err := said(t, c.line, func(cl *cli.Context) (err error) {
			got, err = c.read(cl)
			return err
		})
		code, text := describe(err)
		if c.want == nil && code != exitUsage || c.want != nil && (err != nil || !reflect.DeepEqual(got, c.want)) {
			t.Errorf("%s: %+v, %d, %s; want %+v", c.line, got, code, text, c.want)
		}
	}
}

// The arguments of set are a DIR, unless they are none, and changes.
func TestSettingArguments(t *testing.T) {
	for line, want := range map[string]string{
		"": defaultDir, "level=3": defaultDir, "/a": "/a", "/a level=3": "/a", "/a=b level=3": "/a=b", "./a=b": "./a=b", "a": "a",
	} {
		dir, changes, err := settingArguments(strings.Fields(line))
		if err != nil || dir != want || len(changes) != strings.Count(line, "level=") {
			t.Errorf("%q: %s, %d changes, %v; want %s", line, dir, len(changes), err, want)
		}
	}
	for _, args := range [][]string{{""}, {"/a", "level"}, {"/a", "none=1"}, {"level=3", "/a"}} {
		dir, changes, err := settingArguments(args)
		if code, _ := describe(err); code != exitUsage || dir != "" || changes != nil {
			t.Errorf("%q: %s, %d changes, %v", args, dir, len(changes), err)
		}
	}
}

// The words before -- are a DIR or none, and those behind it, with another --, the command.
func TestSplitExec(t *testing.T) {
	for line, want := range map[string][2][]string{
		"-- a": {{}, {"a"}}, "/d -- a -- b": {{"/d"}, {"a", "--", "b"}}, "a": {}, "-- ": {}, "/d /e -- a": {}, "/d --": {},
	} {
		dirs, command, err := splitExec(strings.Fields(line))
		if want[1] == nil {
			if code, _ := describe(err); code != exitUsage || dirs != nil || command != nil {
				t.Errorf("%q: %q, %q, %v", line, dirs, command, err)
			}
		} else if err != nil || !slices.Equal(dirs, want[0]) || !slices.Equal(command, want[1]) {
			t.Errorf("%q: %q, %q, %v; want %q", line, dirs, command, err, want)
		}
	}
	if _, _, err := splitExec([]string{"", "--", "a"}); err == nil {
		t.Error("an empty DIR is taken")
	}
}

// A value of the wrong kind is refused in words for its kind.
func TestWrongKinds(t *testing.T) {
	for line, want := range map[string]string{
		"bench codec -t x": `bench: --seconds "x": not a value of this flag`, "idle --age x": `idle: --age "x": not a value of this flag`,
		"down --wait x": `down: --wait "x": not a whole number`, "recompress --max-pages x": `recompress: --max-pages "x": not a whole number`,
		"down --force=x": `down: --force "x": neither true nor false`,
	} {
		if _, err := said(t, line, func(*cli.Context) error { return nil }); err == nil {
			t.Errorf("%s is taken", line)
		} else if code, text := describe(err); code != exitUsage || text != want {
			t.Errorf("%s: %d, %s; want %s", line, code, text, want)
		}
	}
}
