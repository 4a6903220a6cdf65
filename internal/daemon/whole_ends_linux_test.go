// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/status"
)

const (
	saysReadyLine = "level=INFO msg=ready dir=DIR disksize=1048576 algorithm=lz4 mem_limit=8388608 memory=memfd\n"
	saysUnmounted = "level=INFO msg=unmounted dir=DIR\n"
	saysEnd       = saysUnmounted + "level=INFO msg=\"ended well\"\n"
)

// wholeEnds are ways in which devices end.
var wholeEnds = map[string]struct {
	refuses string // what the configuration refuses
	code    int    // of the keeper
	want    string // lines
	end     func(w *whole)
}{
	"a signal": {want: saysReadyLine + saysEnd, end: func(w *whole) { w.kill(w.cmd.Process.Pid, unix.SIGINT) }},
	"refused": {"ready", 1, "announce the device: refused\n", func(w *whole) {
		if text, err := io.ReadAll(w.ready); err != nil || len(text) > 0 && text[0] != 'R' {
			w.t.Errorf("announced %q, %v", text, err)
		}
	}},
	"its end fails": {"end", 1, saysReadyLine + saysEnd + "level=ERROR msg=\"ended: refused\"\nrefused\n", func(w *whole) {
		w.kill(w.cmd.Process.Pid, unix.SIGTERM)
	}},
	"the data file is unmounted":   {want: saysReadyLine + saysEnd, end: func(w *whole) { w.unmount("dev", 0) }},
	"the attributes are unmounted": {want: saysReadyLine + saysEnd, end: func(w *whole) { w.unmount("", unix.MNT_DETACH) }},
	"a hidden data file keeps the attributes": {want: saysReadyLine + saysEnd, end: func(w *whole) {
		f := w.open("dev/zram0")
		w.write("control/loops", "/dev/loop77\n")
		w.until("held", func() bool { return w.keeperHas(w.dir) })
		w.unmount("dev", unix.MNT_DETACH)
		if err := unix.Unmount(w.dir, 0); err != unix.EBUSY {
			w.t.Errorf("unmounted by others: %v", err)
		}
		if s := w.status(); len(s.Loops) != 1 || s.Loops[0] != "/dev/loop77" || s.Opens != 1 {
			w.t.Errorf("%d users, loops %q", s.Opens, s.Loops)
		}
		if err := f.Close(); err != nil {
			w.t.Error(err)
		}
	}},
	"the extra device goes last": {
		want: saysReadyLine + "level=INFO msg=\"a device was added\" number=1\nlevel=WARN msg=\"zram0 has ended; the directory stays for its extra devices\"\n" +
			"level=INFO msg=\"a device has ended\" number=1 how=\"ended by itself\"\n" + saysEnd,
		end: func(w *whole) {
			if n, err := os.ReadFile(filepath.Join(w.dir, "control/hot_add")); err != nil || string(n) != "1\n" {
				w.t.Errorf("an extra device: %q, %v", n, err)
			}
			w.unmount("dev", 0)
			w.untilSaid("the directory stays", 1)
			if n, err := os.ReadFile(filepath.Join(w.dir, "control/hot_add")); !errors.Is(err, unix.ENOMEM) {
				w.t.Errorf("an extra device without the first: %q, %v", n, err)
			}
			if err := os.WriteFile(filepath.Join(w.dir, "control/hot_remove"), []byte("2"), 0); !errors.Is(err, unix.ENODEV) {
				w.t.Errorf("a device that is not there ended: %v", err)
			}
			w.write("control/hot_remove", "1")
		},
	},
	"a directory of the mount is in use": {
		want: saysReadyLine + "level=WARN msg=\"still mounted: unmount DIR/dev: still in use (device or resource busy), 0 open handles on dev/zram0\" reason=terminated\n" + saysEnd,
		end: func(w *whole) {
			fd, err := unix.Open(filepath.Join(w.dir, "dev"), unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				w.t.Fatal(err)
			}
			w.kill(w.cmd.Process.Pid, unix.SIGTERM)
			w.untilSaid("still mounted", 1)
			if err := unix.Close(fd); err != nil {
				w.t.Error(err)
			}
			w.kill(w.cmd.Process.Pid, unix.SIGTERM)
		},
	},
	"an upgrade is under way": {want: saysReadyLine + saysEnd, end: func(w *whole) {
		sleeper, sleeps := filepath.Join(filepath.Dir(w.dir), "sleeper"), filepath.Join(filepath.Dir(w.dir), "sleeps")
		// A shell writes the file: none may have it open for writing when it is executed.
		script := fmt.Sprintf("printf '#!/bin/sh\n: > %s\nsleep 60\n' > %s && chmod 700 %[2]s", sleeps, sleeper)
		if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
			w.t.Fatalf("%s: %v", out, err)
		}
		upgraded := make(chan error)
		go func() {
			_, err := control.Upgrade(w.dir, sleeper)
			upgraded <- err
		}()
		w.until("started", func() bool { _, err := os.Stat(sleeps); return err == nil })
		w.kill(w.cmd.Process.Pid, unix.SIGTERM)
		if err := <-upgraded; err == nil || !strings.Contains(err.Error(), errDeviceEnded.Error()) {
			w.t.Errorf("upgraded: %v", err)
		}
	}},
	"the keeper dies": {
		code: -1, want: saysReadyLine + "level=WARN msg=\"the keeper has died: should this process die too, what is stored is lost\"\n" +
			"level=WARN msg=\"reset: make the device anew: the channel between keeper and worker has ended: cannot allocate memory\"\n",
		end: func(w *whole) {
			before := w.status()
			w.kill(w.cmd.Process.Pid, unix.SIGKILL)
			w.untilSaid("the keeper has died", 1)
			if s := w.status(); s.SurvivesCrash || s.KeeperPID != before.KeeperPID || s.CPUSeconds < before.CPUSeconds || s.ProcessMemoryBytes == 0 {
				w.t.Errorf("after %+v the status is %+v", before, s)
			}
			if err := os.WriteFile(filepath.Join(w.dir, "block/zram0/reset"), []byte("1"), 0); !errors.Is(err, unix.ENOMEM) {
				w.t.Errorf("made anew without a keeper: %v", err)
			}
			w.unmount("dev", 0)
		},
	},
}

// A device ends in each way, says so, and leaves no mount, no process and nothing in one.
func TestWholeDeviceEnds(t *testing.T) {
	if !alone(t) {
		return
	}
	for name, c := range wholeEnds {
		t.Run(name, func(t *testing.T) {
			w := startWhole(t, "ZRAMFS_TEST_REFUSE="+c.refuses)
			if c.refuses != "ready" {
				if report, err := status.ReadAnnouncement(w.ready); err != nil {
					t.Fatal(report, err)
				}
				w.untilSaid("msg=ready", 1)
			}
			c.end(w)
			w.end(c.code, c.want)
			mounts, err := os.ReadFile("/proc/self/mounts")
			if err != nil || strings.Contains(string(mounts), w.dir) {
				t.Errorf("mounts are left: %v", err)
			}
			if _, err := os.Stat(w.dir); errors.Is(err, fs.ErrNotExist) == (c.code < 0) {
				t.Errorf("the directory: %v", err)
			}
		})
	}
}

func (w *whole) unmount(name string, flags int) {
	w.t.Helper()
	if err := unix.Unmount(filepath.Join(w.dir, name), flags); err != nil {
		w.t.Errorf("unmount %q: %v", name, err)
	}
}

func (w *whole) open(name string) *os.File {
	w.t.Helper()
	f, err := os.Open(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// keeperHas reports whether the keeper has a file open.
func (w *whole) keeperHas(path string) bool {
	dir := filepath.Join("/proc", strconv.Itoa(w.cmd.Process.Pid), "fd")
	fds, _ := os.ReadDir(dir)
	return slices.ContainsFunc(fds, func(fd fs.DirEntry) bool {
		to, _ := os.Readlink(filepath.Join(dir, fd.Name()))
		return to == path
	})
}
