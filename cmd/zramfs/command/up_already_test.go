// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"zramfs/cmd/zramfs/daemon"
	"zramfs/loopsetup"
)

// What is swapped to is up already, unless nobody answers there: whoever starts it again after a death must not hear that all is well.
func TestUpAlready(t *testing.T) {
	up := device{
		Dir: "/run/zram", Status: &daemon.Status{}, Loops: []loopsetup.Info{{Path: "/dev/loop3"}},
		Swaps: []loopsetup.Swap{{Path: "/dev/loop3", Size: 1 << 30, Priority: 100}},
	}
	var out strings.Builder
	if done, err := upAlready(&out, up.Dir, []device{up}); !done || err != nil || !strings.Contains(out.String(), "up already: 1G of swap at /dev/loop3") {
		t.Errorf("%v, %v, it says %q", done, err, out.String())
	}
	for _, reason := range []error{errDead, errNoAnswer} {
		out.Reset()
		d := up
		d.Status, d.Err = nil, fmt.Errorf("%s: %w", d.Dir, reason)
		if _, err := upAlready(&out, d.Dir, []device{d}); !errors.Is(err, reason) || !strings.Contains(err.Error(), "/dev/loop3") || out.Len() > 0 {
			t.Errorf("%v: %v, it says %q", reason, err, out.String())
		}
	}
}
