// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// Up says in a few lines what there is, what it costs and what to type next; -v
// adds each step, -q says nothing, -J all of it for programs.
func TestSwapUpSummary(t *testing.T) {
	dir := swapDir(t)
	lines := regexp.MustCompile(`^64M of compressed swap is on: /dev/loop\d+, priority 100, algorithm adaptive
  memory   [\d.]+M taken: [\d.]+M store \+ [\d.]+M processes; at most [\d.]+M when full: --mem-limit 32M
(?:  warning  .*: .*
)*watch: zramfs top ` + dir + `      end: zramfs down ` + dir + `
$`)
	for _, how := range []string{"", "-v", "-q", "-J"} {
		args := []string{"up", "--size", "64M", "--mem-limit", "32M", dir}
		if how != "" {
			args = append(args, how)
		}
		r := mustRun(t, commandTimeout, args...)
		wantDown(t, dir, how)
		if r.Stderr != "" {
			t.Errorf("%q: on standard error it says %q", how, r.Stderr)
		}
		switch how {
		case "":
			if !lines.MatchString(r.Stdout) {
				t.Errorf("it says\n%swant\n%s", r.Stdout, lines)
			}
		case "-v":
			wantSteps(t, r.Stdout, "mount ok "+data(dir), "loop ok /dev/loop", "mkswap ok UUID ", "swap ok priority 100", "64M of compressed swap is on: ")
			if n := strings.Count(r.Stdout, "\nmemory-lock "); n != 1 {
				t.Errorf("memory-lock is printed %d times:\n%s", n, r.Stdout)
			}
		case "-q":
			if r.Stdout != "" {
				t.Errorf("-q says %q", r.Stdout)
			}
		case "-J":
			var all struct {
				Up struct {
					Dir    string
					Size   uint64
					Loops  []string
					Memory struct{ Now, Store, Processes, Slots, Worst, Limit uint64 }
				}
			}
			err := json.Unmarshal([]byte(r.Stdout), &all)
			up := all.Up
			if err != nil || up.Dir != dir || up.Size != 64<<20 || len(up.Loops) != 1 || up.Memory.Limit != 32<<20 ||
				up.Memory.Now != up.Memory.Store+up.Memory.Processes+up.Memory.Slots || up.Memory.Processes < 4<<20 {
				t.Errorf("-J says %s: %v", r.Stdout, err)
			}
		}
	}
	if r := run(t, commandTimeout, "up", "-q", "-J", dir); r.Code != 2 {
		t.Errorf("-q and -J: exit code %d", r.Code)
	}
	wantNothingLeft(t, dir)
}

// wantDown ends the device and checks what down says of that.
func wantDown(t *testing.T, dir, how string) {
	t.Helper()
	args := []string{"down", dir}
	if how != "" {
		args = append(args, how)
	}
	last := dir + " is down: 0B brought back from swap\n"
	r := mustRun(t, downTimeout, args...)
	switch how {
	case "":
		if r.Stdout != last {
			t.Errorf("down says %q, want %q", r.Stdout, last)
		}
	case "-v":
		wantSteps(t, r.Stdout, "swap ok /dev/loop", "mount ok "+dir+" unmounted")
		if !strings.HasSuffix(r.Stdout, last) {
			t.Errorf("down -v says\n%s", r.Stdout)
		}
	case "-q":
		if r.Stdout != "" {
			t.Errorf("down -q says %q", r.Stdout)
		}
	case "-J":
		var all struct {
			Down struct {
				Dir   string
				WasUp bool `json:"was_up"`
			}
		}
		if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil || all.Down.Dir != dir || !all.Down.WasUp {
			t.Errorf("down -J says %s: %v", r.Stdout, err)
		}
	}
}
