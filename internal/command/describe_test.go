// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

// Describe has each command and each flag that the help shows, and no hidden one.
func TestDescribeHasWhatTheHelpShows(t *testing.T) {
	app := newApp(io.Discard, io.Discard)
	_, all := Describe()
	i := 0
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		if i == len(all) || !slices.Equal(all[i].Names, c.Names()) {
			t.Fatalf("command %d is not %v", i, c.Names())
		}
		var got, want [][]string
		for _, f := range all[i].Flags {
			got = append(got, f.Names)
		}
		for _, f := range c.VisibleFlags() {
			want = append(want, f.Names())
		}
		want = append(want, []string{"help", "h"})
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: flags %v, want %v", c.Name, got, want)
		}
		i++
	}
	if i != len(all) {
		t.Errorf("%d commands, want %d", len(all), i)
	}
}

// Flags that take a few words say which: each is taken, and no other flag has any.
func TestDescribeKnowsChoices(t *testing.T) {
	want := map[string]string{
		"--latency": "auto low off", "--on-full": "spill stall error", "--discard": "both once pages none", "--slots": "auto free keep", "--tune": "keep recommended",
		"--type": "idle huge huge_idle", "--gpu": "auto off require", "--algorithm": strings.Join(codec.Algorithms(), " "),
	}
	seen := map[string]bool{}
	_, all := Describe()
	for _, c := range all {
		for _, f := range c.Flags {
			name := "--" + f.Names[0]
			if got := strings.Join(f.Choices, " "); got != want[name] {
				t.Errorf("%s %s: %q, want %q", c.Names[0], name, got, want[name])
			}
			seen[name] = true
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no command has %s", name)
		}
	}
}
