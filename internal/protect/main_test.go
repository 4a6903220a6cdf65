// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// children are what the test binary does when its argument is one of these words. They change the
// whole process.
var children = map[string]func() error{
	"lock":       childLock,
	"heap":       childHeap,
	"denied":     childDenied,
	"real-time":  childRealTime,
	"time-limit": childTimeLimit,
	"oom-score":  childOOMScore,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			if err := child(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// inChild runs one of children in a process of its own.
func inChild(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("/proc/self/exe", name).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
