// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/journal"
)

// A file of a trace takes the place of regular files alone: /dev/stdout and /dev/null stay.
func TestTraceFile(t *testing.T) {
	dir := t.TempDir()
	link, path := filepath.Join(dir, "stdout"), filepath.Join(dir, "trace.json")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	}
	if err := writeWhole(link, write); err == nil {
		t.Error("a link was written over")
	}
	if target, err := os.Readlink(link); err != nil || target != os.DevNull {
		t.Errorf("the link is now %q, %v", target, err)
	}
	for range 2 {
		if err := writeWhole(path, write); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v is left, %v", all, err)
	}
}

// Operations that were overwritten before they could be read are told: once, in lines of their own
// or in the first line of JSON.
func TestTraceTellsWhatIsLost(t *testing.T) {
	all := []journal.Operation{{}, {}}
	for _, want := range []struct {
		asJSON bool
		lost   uint64
		parts  []string // of each line
	}{
		{false, 0, []string{"", ""}},
		{false, 7, []string{"(7 operations were overwritten", "", ""}},
		{true, 7, []string{`"lost":7`, `"lost":0`}},
	} {
		var out bytes.Buffer
		if err := printTrace(&out, want.asJSON, all, want.lost); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if !slices.EqualFunc(lines, want.parts, strings.Contains) {
			t.Errorf("%+v: %q", want, lines)
		}
	}
}
