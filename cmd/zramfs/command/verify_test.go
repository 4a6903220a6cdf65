// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/store/view"
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

func TestVerifyReport(t *testing.T) {
	w := &imageWindow{Window: view.NewWindow(make([]byte, view.ArenaSize(200)), 200), objects: 3000}
	w.First = 1000
	for i := range 100 {
		w.Kind[i] = view.PageCorrupt
	}
	w.Kind[100], w.Kind[101], w.Kind[102] = view.PageSame, view.PageObject, view.PageObject
	r := verifyReport{Dir: "/x", WrongPages: []uint64{}}
	if n := r.add(w); n != 103 {
		t.Errorf("%d pages are stored", n)
	}
	r.rate(2 * time.Second)
	if r.Pages != 103 || r.Same != 1 || r.Objects != 2 || r.Wrong != 100 || len(r.WrongPages) != maxListed || r.WrongPages[1] != 1001 || r.PagesPerSecond != 1 {
		t.Errorf("%+v", r)
	}
	var out strings.Builder
	if err := r.print(&out, false); err != nil || !strings.Contains(out.String(), "100 damaged: 1000 1001 ") || !strings.Contains(out.String(), "1063 and 36 more\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	out.Reset()
	var back map[string]verifyReport
	if err := r.print(&out, true); err != nil || json.Unmarshal([]byte(out.String()), &back) != nil || back["verify"].Wrong != 100 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// Pages are found wrong in any order; the first ones by number are listed.
func TestVerifyListsTheFirst(t *testing.T) {
	r := verifyReport{WrongPages: []uint64{}}
	var want []uint64
	for _, i := range rand.New(rand.NewPCG(6, 6)).Perm(300) {
		r.list(uint64(i * 3))
	}
	for i := range maxListed {
		want = append(want, uint64(i*3))
	}
	if !slices.Equal(r.WrongPages, want) {
		t.Errorf("%d", r.WrongPages)
	}
}

func TestFillPage(t *testing.T) {
	page := make([]byte, pageSize)
	fillPage(page, 0x0807060504030201)
	for i, b := range page {
		if int(b) != i%8+1 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}

func TestExportUsage(t *testing.T) {
	for _, args := range [][]string{
		{"export"}, {"export", "/x"}, {"export", "/x", ""}, {"export", "/x", "y", "z"}, {"export", "--range", "1", "/x", "y"}, {"verify", "/x", "/y"},
		{"verify", "--gpu", "require", "/x"}, {"export", "--gpu", "never", "/x", "y"}, {"import", "--gpu-batch", "0", "/x", "y"}, {"bench", "bulk", "--gpu-device", "-1"},
	} {
		var out strings.Builder
		if code := run(append([]string{"zramfs"}, args...), &out, &out); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, out.String())
		}
	}
}
