// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/integration/guest/boot"
	"github.com/zramfs/zramfs/internal/require"
)

var packages = flag.String("packages", "", "directory with packages in 1.0.0 and 1.0.1, as make test-packages leaves it")

const (
	firstDeb  = "/root/first.deb"
	secondDeb = "/root/second.deb"
	zramUnit  = "zramfs@zram0.service"
)

// installed returns a disk with Debian's system on which the package was installed by dpkg, before
// any boot of it.
func installed(t *testing.T, source string) string {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	if out, err := exec.Command("cp", "--sparse=always", filepath.Join(source, "root.ext4"), disk).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := map[string]string{}
	for name, version := range map[string]string{firstDeb: "1.0.0", secondDeb: "1.0.1"} {
		files[name] = fmt.Sprintf("%s/%s/zramfs_%[2]s-1_amd64.deb", *packages, version)
	}
	m := Start(t, Config{Source: source, Modules: []string{"ext4"}, Disks: []string{disk}, Keep: true, Root: "/dev/vda", Files: files})
	m.Must(commandTime, "dpkg -i "+firstDeb+" 2>&1 && sync")
	if _, err := m.Try(commandTime, "mount -o remount,ro / && echo o >/proc/sysrq-trigger; sleep 60"); err == nil {
		t.Fatal("the machine goes on")
	}
	m.Wait(commandTime)
	return disk
}

const systemdAgent = `[Unit]
DefaultDependencies=no
After=sysinit.target
[Service]
ExecStart=` + boot.AgentPath + ` serve
StandardOutput=null
StandardError=null
`

// systemdSlow has the service start where a machine without KVM shares its processor.
const systemdSlow = `[Service]
TimeoutStartSec=10min
`

const systemdConfig = `[zram0]
size = 512M
devices = 2
slots = keep
`

// startSystemd boots a Debian of systemd, with the package installed, and waits until the service
// of its configuration is active. texts are further files by their path.
func startSystemd(t *testing.T, texts map[string]string) *system {
	t.Helper()
	slow(t)
	source := require.System(t)
	if *packages == "" {
		t.Skip("no -packages (make test-guest)")
	}
	dir := t.TempDir()
	files := map[string]string{"/etc/zramfs.conf": systemdConfig, "/etc/systemd/system/agent.service": systemdAgent,
		"/etc/systemd/system/zramfs@.service.d/slow.conf": systemdSlow}
	maps.Copy(files, texts)
	for path, text := range files {
		from := filepath.Join(dir, strings.ReplaceAll(path, "/", "+"))
		if err := os.WriteFile(from, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files[path] = from
	}
	s := &system{t: t, config: Config{Memory: systemMemory, Source: source, Modules: []string{"ext4", "loop", "fuse"}, Sealed: true, Disks: []string{installed(t, source)}, Root: "/dev/vda",
		Init: []string{"/lib/systemd/systemd"}, Parameters: "systemd.wants=agent.service systemd.mask=systemd-udev-trigger.service systemd.mask=serial-getty@ttyS0.service systemd.mask=getty@tty1.service", Files: files}}
	s.Machine = Start(t, s.config)
	t.Cleanup(func() {
		if t.Failed() {
			if r, err := s.Try(commandTime, "systemctl status --no-pager -l "+zramUnit+"; journalctl -b --no-pager -u "+zramUnit); err == nil {
				t.Log(r.Output)
			}
		}
	})
	s.wantSoon(commandTime, "systemctl show -P ActiveState "+zramUnit+" | grep -E '^(active|failed)$'", "active")
	return s
}

// A Debian of systemd, with the package installed, boots with swap on: the generator reads the
// configuration. The service has what the unit asks of cgroup v2 and of the kernel. Under pressure
// in a limited group the package is upgraded, which hands the device over; the worker dies; and the
// machine turns itself off with pages in swap.
func TestSystemd(t *testing.T) {
	s := startSystemd(t, nil)
	s.wantUnit()

	s.Must(commandTime, "systemd-run --unit=pressure -p MemoryMax=64M -p MemoryHigh=56M -p StandardOutput=truncate:"+fillLog+" "+boot.AgentPath+" fill -seconds 3600 130")
	s.wantSoon(commandTime, "grep -c 'are written' "+fillLog, "1")
	if n := s.swapped(); n < 32<<10 {
		t.Fatalf("only %d KiB are in swap", n)
	}
	t.Logf("of the group: %s", s.Must(commandTime, "cd /sys/fs/cgroup/system.slice/pressure.service; head memory.current memory.swap.current memory.max memory.high"))
	s.wantServed("dpkg -i --force-confold " + secondDeb)
	if got := s.Must(commandTime, "zramfs --version"); !strings.Contains(got, "1.0.1") {
		t.Errorf("the installed program is %s", got)
	}
	if got, pid := s.Must(commandTime, "systemctl show -P MainPID "+zramUnit), statusOf(t, s.Machine, systemDir).Keeper; got != strconv.Itoa(pid) {
		t.Errorf("the main process is %s, the keeper %d", got, pid)
	}
	s.wantEnd("systemctl poweroff")
}

// wantUnit fails the test unless the running service is protected as its unit says.
func (s *system) wantUnit() {
	s.t.Helper()
	group := s.Must(commandTime, "systemctl show -P ControlGroup "+zramUnit)
	if strings.Count(group, "/") != 1 {
		s.t.Errorf("the service is in %s: memory.min of a group counts only as far as those above it have theirs", group)
	}
	got := s.Must(commandTime, "cd /sys/fs/cgroup"+group+"; cat memory.min memory.swap.max")
	if got != "max\n0" {
		s.t.Errorf("memory.min and memory.swap.max of the service: %q", got)
	}
	status := statusOf(s.t, s.Machine, systemDir)
	for _, p := range status.Protections {
		if p.State != "ok" {
			s.t.Errorf("%s: %s: %s", p.Name, p.State, p.Detail)
		}
	}
	for _, pid := range []int{status.Keeper, status.Worker} {
		score := s.Must(commandTime, fmt.Sprintf("cat /proc/%d/oom_score_adj", pid))
		in := s.Must(commandTime, fmt.Sprintf("cat /proc/%d/cgroup", pid))
		flusher := s.Must(commandTime, fmt.Sprintf(boot.AgentPath+" flusher %d", pid))
		var of, set, all int
		if _, err := fmt.Sscanf(flusher, "%d: %d of %d", &of, &set, &all); err != nil || set != all || all == 0 || score != "-1000" || in != "0::"+group {
			s.t.Errorf("process %d: OOM score %s, group %s, IO_FLUSHER %s", pid, score, in, flusher)
		}
	}
}
