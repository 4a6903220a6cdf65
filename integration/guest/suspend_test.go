// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/integration/guest/boot"
)

// sleepUnit turns the swap of zramUnit off before the machine sleeps, and on after.
const sleepUnit = "zramfs-sleep@zram0.service"

// sleepAlarm has the clock wake the machine, later than the kernel gives up freezing processes,
// which is after 20 seconds; and keeps what was in swap when the machine went to sleep.
const sleepAlarm = `[Service]
ExecStartPre=/bin/sh -c 'cp /proc/swaps /run/swaps; echo 0 >/sys/class/rtc/rtc0/wakealarm; echo +40 >/sys/class/rtc/rtc0/wakealarm'
`

// The machine of a systemd sleeps and wakes: with swap off for that time where its pages fit into
// memory; with swap on, or not at all, where they do not. Then it does not hibernate, whose image
// would go to swap that no process serves. No page is lost.
func TestSuspend(t *testing.T) {
	s := startSystemd(t, map[string]string{"/etc/systemd/system/systemd-suspend.service.d/alarm.conf": sleepAlarm})
	s.Must(commandTime, "systemd-run --unit=little -p StandardOutput=truncate:"+fillLog+" "+boot.AgentPath+" fill -seconds 3600 40")
	s.wantSoon(commandTime, "grep -c 'are written' "+fillLog, "1")
	s.Must(commandTime, boot.AgentPath+" pageout $(systemctl show -P MainPID little)")
	if n := s.swapped(); n < 16<<10 {
		t.Fatalf("only %d KiB are in swap", n)
	}
	if code, out := s.suspend(); code != 0 {
		t.Errorf("suspend ends with %d: %s", code, out)
	}
	if got := s.Must(commandTime, "wc -l </run/swaps"); got != "1" {
		t.Errorf("asleep swap was on: %s", s.Must(commandTime, "cat /run/swaps"))
	}
	s.wantSoon(commandTime, "systemctl is-active "+zramUnit, "active")
	s.wantSoon(commandTime, "grep -c loop /proc/swaps", "2")
	s.wantFilling()
	s.Must(commandTime, "systemctl stop little")

	s.Must(commandTime, "systemd-run --unit=much -p MemoryMax=64M -p StandardOutput=truncate:"+fillLog+" "+boot.AgentPath+" fill -seconds 3600 130")
	s.wantSoon(commandTime, "grep -c 'are written' "+fillLog, "1")
	before := statusOf(t, s.Machine, systemDir)
	code, out := s.suspend()
	t.Logf("with a program that swaps suspend ends with %d: %s", code, out)
	if got := s.Must(commandTime, "grep -c loop /run/swaps"); got != "2" {
		t.Errorf("swap was on for %s devices", got)
	}
	s.wantSame(before)
	s.wantFilling()
	if r := s.Run(commandTime, "systemctl start systemd-hibernate.service 2>&1"); r.Code == 0 || !strings.Contains(r.Output, "dependency") {
		t.Errorf("hibernation ends with %d: %s", r.Code, r.Output)
	}
	s.wantSame(before)
	s.wantFilling()
	s.wantEnd("systemctl poweroff")
}

// suspend has the machine sleep until its alarm.
func (s *system) suspend() (code int, output string) {
	s.t.Helper()
	const count = "cat /sys/power/suspend_stats/success /sys/power/suspend_stats/fail | tr '\\n' ' '"
	before := s.Must(commandTime, count)
	r := s.Run(2*commandTime, "systemctl start systemd-suspend.service 2>&1")
	after := s.Must(commandTime, count)
	s.t.Logf("suspends that succeeded and failed: %s before, %s after", before, after)
	if before == after {
		s.t.Errorf("the machine did not sleep: %d %s\n%s", r.Code, r.Output, s.Must(commandTime, "systemctl status --no-pager -l systemd-suspend.service "+sleepUnit+"; true"))
	}
	return r.Code, r.Output
}
