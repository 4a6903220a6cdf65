// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/integration/guest/boot"
)

// Runit turns swap on at boot, leaves a device alone whose pages do not fit into memory, and turns
// the machine off with pages in swap; it loses none.
func TestRunit(t *testing.T) {
	s := startSystem(t, []string{"/sbin/runit"}, "",
		map[string]string{"/etc/sv/agent/run": "#!/bin/sh\nmount -o remount,exec /run\nexec " + boot.AgentPath + " serve\n", "/etc/sv/zramfs/conf": "OPTIONS='--size 256M --devices 2 --slots keep'\nWAIT=3\n"},
		map[string]string{"/etc/sv/zramfs/run": "../../dist/runit/zramfs/run", "/etc/sv/zramfs/finish": "../../dist/runit/zramfs/finish"},
		map[string]string{"/etc/runit/runsvdir/default/agent": "/etc/sv/agent", "/etc/runit/runsvdir/default/zramfs": "/etc/sv/zramfs"})
	s.wantSoon(commandTime, "grep -c loop /proc/swaps", "2")
	s.wantSoon(commandTime, "sv status zramfs | cut -d: -f1", "run")
	s.fill()
	s.wantServed("zramfs upgrade " + systemDir)
	if r := s.Run(commandTime, "sv -w 20 down zramfs 2>&1; sleep 5; grep -c loop /proc/swaps; sv status zramfs; sv up zramfs; sleep 5; sv status zramfs"); !strings.Contains(r.Output, "\n2\n") {
		t.Errorf("a stop that cannot succeed: %s", r.Output)
	} else {
		t.Log(r.Output)
	}
	s.wantFilling()
	s.wantEnd("runit-init 0")
	t.Log(tail(s.Console(), 6000))
}
