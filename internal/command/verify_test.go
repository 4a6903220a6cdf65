// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/imageio"
)

func TestParseRange(t *testing.T) {
	for text, want := range map[string][2]uint64{"": {}, "0:1": {0, 1}, "5:10": {5, 10}, "0:18446744073709551615": {0, 1<<64 - 1}} {
		if first, count, err := parseRange(text); err != nil || first != want[0] || count != want[1] {
			t.Errorf("%q: %d, %d, %v", text, first, count, err)
		}
	}
	for _, text := range []string{"5", ":", "5:", ":5", "5:0", "-1:5", "1:2:3", "a:b", "1.5:2", "0:18446744073709551616"} {
		_, _, err := parseRange(text)
		if code, _ := describe(err); code != exitUsage {
			t.Errorf("%q: %v, want a usage error", text, err)
		}
	}
}

func TestExportUsage(t *testing.T) {
	for _, args := range [][]string{
		{"export"}, {"export", "/x"}, {"export", "/x", ""}, {"export", "/x", "y", "z"}, {"export", "--range", "1", "/x", "y"}, {"verify", "/x", "/y"},
		{"verify", "--gpu", "require", "/x"}, {"export", "--gpu", "never", "/x", "y"}, {"import", "--gpu-batch", "0", "/x", "y"},
	} {
		var out strings.Builder
		if code := run(append([]string{"zramfs"}, args...), &out, &out); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, out.String())
		}
	}
}

// TestVerifyReportText wants damaged pages listed by number, up to the limit.
func TestVerifyReportText(t *testing.T) {
	r := imageio.VerifyReport{Dir: "/x", Wrong: 100}
	for n := range uint64(64) {
		r.WrongPages = append(r.WrongPages, 1000+n)
	}
	var out strings.Builder
	if err := printVerify(&out, false, r); err != nil || !strings.Contains(out.String(), "100 damaged: 1000 1001 ") || !strings.Contains(out.String(), "1063 and 36 more\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	var back map[string]imageio.VerifyReport
	if err := printVerify(&out, true, r); err != nil {
		t.Fatal(err)
	}
	if decodeJSON(t, out.String(), &back); back["verify"].Wrong != 100 {
		t.Error(out.String())
	}
}
