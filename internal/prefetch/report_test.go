// SPDX-License-Identifier: Apache-2.0

package prefetch

import "testing"

func TestReport(t *testing.T) {
	r := Report{Processes: 2, Found: 1024, Asked: 768, Back: 512, Seconds: 0.5, MBPerSecond: 4.2, Notes: []string{"so"}}
	r.Left = count(count(count(r.Left, Limit, 200), Limit, 56), Ended, 0)
	if r.Incomplete() {
		t.Error("pages behind the caller's limit make it incomplete")
	}
	r.Left = count(r.Left, NotRead, 256)
	r.Skipped = count(nil, Ended, 1)
	want := "2M of 2 processes brought back, of 4M in swap, in 0.5 s, 4 MB/s\n" +
		"  left     1M: more than --limit\n" +
		"  left     1M: the kernel has not brought them back, or has swapped them out again\n" +
		"  skipped  1 process: ended during the command\n" +
		"  note     so\n"
	if r.Text() != want || !r.Incomplete() {
		t.Errorf("incomplete: %t\n%swant\n%s", r.Incomplete(), r.Text(), want)
	}
	for _, reason := range []Reason{Limit, Memory, Group, Pressure, Interrupted, Ended, NotRead, Kernel, Refused, Serving, Uncounted} {
		if words[reason] == "" {
			t.Errorf("%s has no words", reason)
		}
	}
}
