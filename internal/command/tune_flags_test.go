// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"strings"
	"testing"
)

// Other words are refused before anything happens.
func TestTuneFlags(t *testing.T) {
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--tune", "much"}, `tune "much" is neither keep nor recommended`},
		{[]string{"--tune", "recommended", "--priority", "-1"}, "priority -1"},
	} {
		out := runProgram(t, append(append([]string{"up", "--size", "64M"}, test.flags...), filepath.Join(t.TempDir(), "dir"))...)
		if out.code != exitUsage || !strings.Contains(out.stderr, test.want) || strings.Count(out.stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q; want %q", test.flags, out.code, out.stderr, test.want)
		}
	}
}
