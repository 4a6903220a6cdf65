// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
)

// A device has its worker die, gets another program, another size, a backing device and a extra
// device, refuses to end while it is in use, and ends. Log and events say each of these once, and
// no process leaves anything.
func TestWholeDevice(t *testing.T) {
	if !alone(t) {
		return
	}
	w := startWhole(t)
	report, err := status.ReadAnnouncement(w.ready)
	if err != nil || report.PID != w.cmd.Process.Pid || report.Dir != w.dir || report.Disksize != 1<<20 {
		t.Fatalf("announced %+v, %v\n%s", report, err, w.said())
	}
	first := w.status()
	if first.Version != "1.2" || first.KeeperPID != report.PID || !first.SurvivesCrash || first.Restarts != 0 || first.Dir != w.dir ||
		first.MemLimit != 8<<20 || first.Disksize != 1<<20 || first.ProcessMemoryBytes == 0 || first.CPUSeconds <= 0 || len(first.Protections) < 8 {
		t.Errorf("the status is %+v", first)
	}
	if n, err := os.ReadFile(filepath.Join(w.dir, "control/hot_add")); err != nil || string(n) != "1\n" {
		t.Errorf("an extra device: %q, %v", n, err)
	}
	var names []string
	for _, p := range first.Protections {
		names = append(names, p.Name)
	}
	if got, want := strings.Join(names, " "), "io-flusher core-dump oom-score memory-lock populate collector pid-namespace cgroup fuse-timeout scheduling image"; got != want {
		t.Errorf("the protections are %q, want %q", got, want)
	}
	second := w.dies(first)
	third := w.upgrades(second)
	w.madeAnew(third)
	w.refusesToEnd()
	events := w.events()
	w.kill(report.PID, unix.SIGTERM)
	want := `level=INFO msg=ready dir=DIR disksize=1048576 algorithm=lz4 mem_limit=8388608 memory=memfd
level=INFO msg="a device was added" number=1
level=ERROR msg="the worker died: killed by signal 9" pid=N
level=WARN msg="another worker serves" pid=N without_service=N
level=WARN msg="another worker serves" pid=N without_service=N
level=WARN msg="another worker serves" pid=N without_service=N
level=INFO msg="the device was made anew" disksize=0
level=WARN msg="backing device DIR/none: no such file or directory"
level=WARN msg="backing_dev: none is no absolute path: invalid argument"
level=WARN msg="another worker serves" pid=N without_service=N
level=INFO msg="the device was made anew" disksize=2097152
level=WARN msg="dev/zram0 is open once: swapoff and detach the loop device first, or zramfs down DIR" reason=terminated
level=INFO msg="the extra devices end first" reason=terminated
level=INFO msg="a device has ended" number=1 how="ended by itself"
level=INFO msg=unmounted dir=DIR
level=INFO msg="ended well"
`
	w.end(0, want)
	if _, err := os.Stat(w.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
	if want := `started: version 1.2, 1048576 bytes, algorithm lz4, keeper N
worker_died: worker N: killed by signal 9
recovered: worker N serves; requests waited for T
upgraded: worker N serves in place of N; requests waited for T
upgrade_failed: the serving process ended before it was ready: ended by itself
upgraded: worker N serves in place of N; requests waited for T
warning: backing_dev: none is no absolute path: invalid argument
upgraded: worker N serves in place of N; requests waited for T
`; events != want {
		t.Errorf("the events are\n%swant\n%s", events, want)
	}
}

// dies has the worker die.
func (w *whole) dies(before status.Status) status.Status {
	w.t.Helper()
	w.kill(before.WorkerPID, unix.SIGKILL)
	s := w.status()
	if s.WorkerPID == before.WorkerPID || s.Restarts != 1 || s.RestartsRecent != 1 || s.LastExit != "killed by signal 9" || s.LastRestart == nil ||
		s.UptimeSeconds < before.UptimeSeconds || s.CPUSeconds < before.CPUSeconds {
		w.t.Errorf("after %+v the status is %+v", before, s)
	}
	return s
}

// upgrades goes on with workers of the same program, under another name.
func (w *whole) upgrades(before status.Status) status.Status {
	w.t.Helper()
	w.untilSaid("another worker serves", 1)
	r, err := control.Upgrade(w.dir, "/proc/self/exe")
	s := w.status()
	if err != nil || r.OldPID != before.WorkerPID || r.WorkerPID != s.WorkerPID || r.WorkerPID == r.OldPID || r.WithoutService <= 0 || s.Restarts != 1 {
		w.t.Errorf("the upgrade: %+v, %v; the worker is %d, restarts %d", r, err, s.WorkerPID, s.Restarts)
	}
	if r, err := control.Upgrade(w.dir, w.dir); err == nil || !strings.Contains(err.Error(), "not an executable file") {
		w.t.Errorf("a directory is a program: %+v, %v", r, err)
	}
	if r, err := control.Upgrade(w.dir, "/bin/true"); err == nil || !strings.Contains(err.Error(), "ended before it was ready") {
		w.t.Errorf("true is a worker: %+v, %v", r, err)
	}
	return s
}

// madeAnew takes the device its size, sets a backing device, which fails where there is no file,
// and gives the device another size.
func (w *whole) madeAnew(before status.Status) {
	w.t.Helper()
	w.write("block/zram0/reset", "1")
	backing := filepath.Join(filepath.Dir(w.dir), "backing")
	if err := os.WriteFile(backing, make([]byte, 1<<20), 0o600); err != nil {
		w.t.Fatal(err)
	}
	none := os.WriteFile(filepath.Join(w.dir, "block/zram0/backing_dev"), []byte(w.dir+"/none"), 0)
	relative := os.WriteFile(filepath.Join(w.dir, "block/zram0/backing_dev"), []byte("none"), 0)
	if !errors.Is(none, unix.ENOENT) || !errors.Is(relative, unix.EINVAL) {
		w.t.Errorf("no backing device: %v, %v", none, relative)
	}
	w.write("block/zram0/backing_dev", backing)
	w.write("block/zram0/disksize", "2M")
	s := w.status()
	if s.Disksize != 2<<20 || s.Backing.Path != backing || s.Backing.Capacity == 0 || s.WorkerPID == before.WorkerPID || s.Restarts != 1 {
		w.t.Errorf("made anew it has %+v", s)
	}
}

// refusesToEnd asks the device to end while it is in use.
func (w *whole) refusesToEnd() {
	w.t.Helper()
	f, err := os.Open(filepath.Join(w.dir, "dev/zram0"))
	if err != nil {
		w.t.Fatal(err)
	}
	s := w.status()
	for _, pid := range []int{s.KeeperPID, s.WorkerPID} {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err != nil || string(name) != status.ServerName+"\n" {
			w.t.Errorf("process %d of %+v is called %q, %v", pid, s, name, err)
		}
		for _, ignored := range []unix.Signal{unix.SIGHUP, unix.SIGPIPE, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP} {
			w.kill(pid, ignored)
		}
	}
	w.kill(s.WorkerPID, unix.SIGTERM)
	w.kill(s.KeeperPID, unix.SIGTERM)
	w.untilSaid("is open once", 1)
	if err := f.Close(); err != nil {
		w.t.Error(err)
	}
	w.until("closed", func() bool { return w.status().Opens == 0 })
}

var (
	numbers   = regexp.MustCompile(`\b(worker|keeper|place of) [1-9]\d*`)
	durations = regexp.MustCompile(`\bfor [1-9][\d.]*(ms|s)\b`)
)

// events is what was noted, without numbers of processes, durations and protections.
func (w *whole) events() string {
	w.t.Helper()
	c, err := control.OpenCounters(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	var text strings.Builder
	all, _ := c.Area.Events(0)
	for _, e := range all {
		if e.Kind != telemetry.Unprotected {
			text.WriteString(durations.ReplaceAllString(numbers.ReplaceAllString(fmt.Sprintf("%v: %s\n", e.Kind, e.Text), "$1 N"), "for T"))
		}
	}
	return text.String()
}
