// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// suspendedVariable is set in the child of TestLastMinuteAfterASuspension.
const suspendedVariable = "ZRAMFS_TEST_SUSPENDED"

// The last minute is no longer because the machine was suspended. A namespace whose clocks differ
// by an hour stands in for the suspension, as seen by the processes that come after it.
func TestLastMinuteAfterASuspension(t *testing.T) {
	if os.Getenv(suspendedVariable) == "" {
		require.Root(t)
		require.Command(t, "unshare")
		if out, err := exec.Command("unshare", "--time", "--boottime", "3600", "--fork", "true").CombinedOutput(); err != nil {
			t.Skipf("needs a namespace of time: %v: %s", err, out)
		}
		child := exec.Command("unshare", "--time", "--boottime", "3600", "--fork", os.Args[0], "-test.run=^TestLastMinuteAfterASuspension$", "-test.v")
		child.Env = append(os.Environ(), suspendedVariable+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	mem := make([]byte, telemetry.Size(1))
	a, err := telemetry.Format(mem, 1)
	if err != nil {
		t.Fatal(err)
	}
	a.Mark(fusefs.SinceBoot() - time.Hour) // before the suspension both clocks were the same
	if s := minuteStatus(a); s.Seconds > time.Minute.Seconds() {
		t.Errorf("the last minute is over %v s", s.Seconds)
	}
}
