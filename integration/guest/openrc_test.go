// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/integration/guest/boot"
)

const openrcAgent = `#!/sbin/openrc-run
command=` + boot.AgentPath + `
command_args=serve
command_background=yes
pidfile=/run/agent.pid
start_pre() { mount -o remount,exec /run; }
`

// OpenRC turns swap on at boot, hands the device over, refuses to stop while pages do not fit into
// memory, and turns the machine off with pages in swap; it loses none.
func TestOpenRC(t *testing.T) {
	s := startSystem(t, []string{"/sbin/openrc-init"}, "",
		map[string]string{"/etc/init.d/agent": openrcAgent, "/etc/conf.d/zramfs": "OPTIONS='--size 256M --devices 2 --slots keep'\nWAIT=3\n"},
		map[string]string{"/etc/init.d/zramfs": "../../dist/openrc/zramfs"},
		map[string]string{"/etc/runlevels/default/agent": "/etc/init.d/agent", "/etc/runlevels/default/zramfs": "/etc/init.d/zramfs"})
	s.wantSoon(commandTime, "grep -c loop /proc/swaps", "2")
	s.Must(commandTime, "rc-service zramfs status")
	s.fill()
	s.wantServed("rc-service zramfs reload")
	if r := s.Run(commandTime, "rc-service zramfs stop 2>&1; grep -c loop /proc/swaps; rc-service zramfs status >/dev/null; echo status $?"); !strings.Contains(r.Output, "\n2\nstatus 0") {
		t.Errorf("a stop that cannot succeed: %s", r.Output)
	}
	s.wantFilling()
	s.wantEnd("openrc-shutdown -p now")
	t.Log(tail(s.Console(), 6000))
}
