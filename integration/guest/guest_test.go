// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"strings"
	"testing"
	"time"
)

// A machine boots, runs commands, says what came of them, and ends.
func TestMachine(t *testing.T) {
	m := Start(t, Config{Memory: 128, Modules: []string{"fuse", "loop"}, Sealed: true})
	if got := m.Must(time.Minute, "cat /proc/sys/kernel/modules_disabled; ls /dev/fuse /dev/loop-control"); got != "1\n/dev/fuse\n/dev/loop-control" {
		t.Errorf("it says %q", got)
	}
	if r := m.Run(time.Minute, "echo out; echo err >&2; exit 3"); r.Code != 3 || r.Output != "out\nerr\n" {
		t.Errorf("the command left %+v", r)
	}
	if _, err := m.Try(time.Millisecond, "sleep 5"); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a command that takes long: %v", err)
	}
	if got := m.Must(time.Minute, "/run/guest-agent fill -seconds 2 8"); !strings.Contains(got, "read ") {
		t.Errorf("fill says %q", got)
	}
	if _, err := m.Try(time.Minute, "poweroff -f"); err == nil {
		t.Error("it answers after its end")
	}
	m.Wait(time.Minute)
	if strings.Contains(m.Console(), "Kernel panic") {
		t.Errorf("console:\n%s", m.Console())
	}
}
