// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// swapLimit is how long swap may be on in one test. Swap is shared with every process of the
	// machine, and some send memory there that was idle for a minute.
	swapLimit = 60 * time.Second
	// downTimeout bounds one zramfs down: within the guard's limit.
	downTimeout = 40 * time.Second
)

// swapDir returns a DIR for a device that the test may swap to, and starts its
// guard. When the test ends, swap is turned off and the device ended, whatever
// the test did.
func swapDir(t *testing.T) (dir string) {
	t.Helper()
	require.FUSE(t)
	require.Loop(t)
	binary(t) // building it takes time that is not the window's
	dir = filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	guardSwap(t, dir)
	return dir
}

// guardSwap opens the window in which the device that is or will be at dir may be
// swapped to. The window ends with the test, or as soon as the test has turned
// swap off by itself.
func guardSwap(t *testing.T, dir string) {
	t.Helper()
	require.Swap(t)
	g := startGuard(t, dir, guardLimit)
	opened := time.Now()
	t.Cleanup(func() {
		defer g.dismiss(t)
		if r := run(t, downTimeout, "down", "--force", dir); r.Code != 0 {
			t.Errorf("down: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
		if on, err := swapOn(dir); err != nil || len(on) > 0 {
			t.Errorf("swap is still on: %+v, %v", on, err)
		}
		if took := time.Since(opened); took > swapLimit {
			t.Errorf("the swap window was open for %s, more than %s", took, swapLimit)
		}
	})
}

// oneSwap returns the swap area on the device, which must be one.
func oneSwap(t testing.TB, dir string) loopsetup.Swap {
	t.Helper()
	on, err := swapOn(dir)
	if err != nil || len(on) != 1 {
		t.Fatalf("swap areas on %s: %+v, %v", dir, on, err)
	}
	return on[0]
}

// wantNoDevice runs down for a dir without a device: an error only where another device runs, as
// one of another program's may.
func wantNoDevice(t testing.TB, dir string) {
	t.Helper()
	r := run(t, downTimeout, "down", dir)
	others := strings.Contains(r.Stdout+r.Stderr, "; there are: ")
	if !strings.Contains(r.Stdout+r.Stderr, "no zramfs device at "+dir) || (r.Code != 0) != others {
		t.Errorf("down without a device: %+v", r)
	}
}

// wantNothingLeft checks that no step of up has left anything: no swap, no loop
// device, no mount, no process, no directory.
func wantNothingLeft(t testing.TB, dir string) {
	t.Helper()
	areas, err := loopsetup.Swaps()
	if err != nil || len(areas) > 0 && !othersServe() {
		t.Errorf("swap is on: %+v, %v", areas, err)
	}
	left, err := leftovers(root)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left (%v)", dir, err)
	}
}

// wantSteps checks that the lines of up or down begin with these words, in this
// order, with others between them.
func wantSteps(t testing.TB, out string, steps ...string) {
	t.Helper()
	missing := steps
	for line := range strings.Lines(out) {
		if len(missing) > 0 && strings.HasPrefix(strings.Join(strings.Fields(line), " "), missing[0]) {
			missing = missing[1:]
		}
	}
	if len(missing) > 0 {
		t.Errorf("no line begins with %q, after those before it in %q:\n%s", missing[0], steps, out)
	}
}

// wantRefusal checks that a command failed with one line that has these words.
func wantRefusal(t testing.TB, r result, words ...string) {
	t.Helper()
	if r.Code != 1 || strings.Count(r.Stderr, "\n") != 1 {
		t.Errorf("exit code %d and not one line of error:\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	for _, word := range words {
		if !strings.Contains(r.Stderr, word) {
			t.Errorf("%q does not say %q", r.Stderr, word)
		}
	}
}
