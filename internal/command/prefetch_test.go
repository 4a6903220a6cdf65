// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/prefetch"
	"github.com/zramfs/zramfs/internal/status"
)

func TestPrefetchRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		word string
	}{
		{"", exitUsage, "--pid or --cgroup"},
		{"1", exitUsage, "--pid 1,2"},
		{"--pid 1 --cgroup /", exitUsage, "mutually exclusive"},
		{"--pid 0", exitUsage, "not the number of a process"},
		{"--pid x", exitUsage, "not a process number"},
		{"--pid 1 --limit x", exitUsage, "not a size"},
		{"--pid 1 --limit 0", exitUsage, "leave --limit out"},
		{"--cgroup=", exitUsage, "--cgroup is empty"},
		{"--pid 9999999", exitFailure, "there is no process 9999999"},
		{"--cgroup /no/such/group", exitFailure, "is no control group"},
		{"--cgroup " + t.TempDir(), exitFailure, "is no control group"},
	} {
		var out, errors strings.Builder
		code := run(append([]string{"zramfs", "prefetch"}, strings.Fields(c.args)...), &out, &errors)
		if code != c.code || !strings.Contains(errors.String(), c.word) || strings.Count(errors.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d and %q: %s%s", c.args, code, c.code, c.word, out.String(), errors.String())
		}
	}
}

// A process with the name of one that serves swap is refused.
func TestPrefetchOfAServingProcess(t *testing.T) {
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.WriteFile("/proc/self/comm", name, 0); err != nil {
			t.Error(err)
		}
	}()
	for _, serving := range []string{status.ServerName, ballast.ProcessName} {
		if err := os.WriteFile("/proc/self/comm", []byte(serving), 0); err != nil {
			t.Fatal(err)
		}
		var out, errors strings.Builder
		code := run([]string{"zramfs", "prefetch", "-n", "--pid", strconv.Itoa(os.Getpid())}, &out, &errors)
		if code != exitFailure || !strings.Contains(errors.String(), "("+serving+") serves swap") {
			t.Errorf("%s: exit code %d: %s%s", serving, code, out.String(), errors.String())
		}
	}
}

// A dry run on this process prints a report that can be read, whatever is in swap.
func TestPrefetchDryRun(t *testing.T) {
	var out, errors strings.Builder
	if code := run([]string{"zramfs", "prefetch", "-n", "-J", "--pid", strconv.Itoa(os.Getpid())}, &out, &errors); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errors.String())
	}
	var got map[string]*prefetch.Report
	if decodeJSON(t, out.String(), &got); got["prefetch"] == nil || !got["prefetch"].DryRun {
		t.Error(out.String())
	}
	if !strings.Contains(out.String(), `"left": [`) {
		t.Errorf("nothing left is no array: %s", out.String())
	}
}
