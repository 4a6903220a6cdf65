// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// tuneRoot makes the test binary tune, or forget, a device on the machine below the directory that
// it names: a test kills it at work.
const tuneRoot = "ZRAMFS_TEST_TUNE"

// playTune is what such a process does, "up" or "down", before it waits for its end.
func playTune(step string, m host.Root) error {
	var err error
	if step == "down" {
		err = Forget(io.Discard, m, Device{Dir: "/run/zram"})
	} else {
		p, _ := host.Local.Process(os.Getpid())
		err = applyTune(io.Discard, m, tune.Settings(m), &uprecord.Record{Dir: "/run/zram", Keeper: p.PID, Started: p.Start})
	}
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

// startTune starts such a process. The function that it returns kills it.
func startTune(t *testing.T, step string, m host.Root) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", step)
	cmd.Env = append(os.Environ(), tuneRoot+"="+string(m))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
			t.Errorf("zramfs %s: %s", step, cmd.ProcessState)
		}
	}
}

// until waits for a condition of another process.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

// meetReader opens a pipe once another process reads it. Until the file is closed, that process
// waits.
func meetReader(t *testing.T, path string) *os.File {
	t.Helper()
	var f *os.File
	until(t, "a reader of "+path, func() (ok bool) {
		var err error
		f, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil && !errors.Is(err, syscall.ENXIO) {
			t.Fatal(err)
		}
		return err == nil
	})
	return f
}

// first returns the first k values of a and the others of b.
func first(k int, a, b []string) []string { return append(append([]string{}, a[:k]...), b[k:]...) }

var (
	valuesBefore = []string{"3", "60", "10", "15000"}
	valuesDuring = []string{cluster, "133", "125", "0"}
)

// wantRestored has the next command, for another device, restore everything.
func wantRestored(t *testing.T, m host.Root) {
	t.Helper()
	var out strings.Builder
	if err := Forget(&out, m, Device{Dir: "/elsewhere"}); err != nil || strings.Contains(out.String(), "warn") {
		t.Errorf("%v, %q", err, out.String())
	}
	wantSysctls(t, m, valuesBefore...)
	if left := uprecord.Read(m); len(left) > 0 {
		t.Errorf("records are left: %+v", left)
	}
}

// TestTuneUpKilled kills up after the record, and after each of its changes: a pipe in place of the
// next parameter keeps it waiting there.
func TestTuneUpKilled(t *testing.T) {
	for k := range len(sysctls) + 1 {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			m := host.Root(t.TempDir())
			setSysctls(t, m, valuesBefore...)
			var path string
			if k < len(sysctls) {
				path = m.Path(sysctlPath(sysctls[k]))
				if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			kill := startTune(t, "up", m)
			if path != "" {
				f := meetReader(t, path) // up asks for the old value
				_, err := f.WriteString(valuesBefore[k] + "\n")
				if err := errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "the record", func() bool { return len(uprecord.Read(m)) == 1 })
			if path != "" {
				f := meetReader(t, path) // it is about to set the value
				kill()
				if err := errors.Join(f.Close(), os.Remove(path), os.WriteFile(path, []byte(valuesBefore[k]+"\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			} else {
				until(t, "the last change", func() bool {
					now, err := m.Sysctl(sysctls[k-1])
					return err == nil && now == valuesDuring[k-1]
				})
				kill()
			}
			wantSysctls(t, m, first(k, valuesDuring, valuesBefore)...)
			wantRestored(t, m)
		})
	}
}

// TestTuneDownKilled kills down before each parameter that it restores.
func TestTuneDownKilled(t *testing.T) {
	for k := range sysctls {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			m := host.Root(t.TempDir())
			tuned(t, m, "/run/zram", valuesBefore...)
			dies(t, m, "/run/zram")
			path := m.Path(sysctlPath(sysctls[k]))
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
				t.Fatal(err)
			}
			kill := startTune(t, "down", m)
			f := meetReader(t, path)
			kill()
			if err := errors.Join(f.Close(), os.Remove(path), os.WriteFile(path, []byte(valuesDuring[k]+"\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			wantSysctls(t, m, first(k, valuesBefore, valuesDuring)...)
			wantRestored(t, m)
		})
	}
}
