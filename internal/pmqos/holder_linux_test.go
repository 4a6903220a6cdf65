// SPDX-License-Identifier: Apache-2.0

package pmqos

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// latency is what the kernel's idle governors have to keep to, in microseconds.
func latency(t *testing.T) int32 {
	t.Helper()
	f, err := os.Open(Device)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var value [4]byte
	if _, err := f.Read(value[:]); err != nil {
		t.Fatal(err)
	}
	return int32(binary.NativeEndian.Uint32(value[:]))
}

// awaitLatency waits until the kernel keeps to a latency of zero, or to none.
func awaitLatency(t *testing.T, zero bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		got := latency(t)
		if (got == 0) == zero {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the kernel keeps to a latency of %d us", got)
		}
	}
}

// TestHolderFollowsRequests: the request is held while lone requests come, let go after, and ends
// with the Holder.
func TestHolderFollowsRequests(t *testing.T) {
	require.Root(t)
	h := New(Low)
	if s := h.Status(); s.State != status.Ready {
		t.Skipf("this machine has no PM QoS request: %s", s.Reason) // TestWithoutDevice has the rest
	}
	h.Start()
	defer func() { awaitLatency(t, false) }()
	defer h.Close()
	for end := time.Now().Add(10 * time.Second); h.within.Load() == 0 || h.Status().WakeUpUs == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it measures nothing: %+v", h.Status())
		}
	}
	awaitLatency(t, false)
	for range 2 {
		held := make(chan struct{})
		go func() {
			for {
				select {
				case <-held:
					return
				default:
					h.FaultSeen(time.Now())
					time.Sleep(time.Millisecond)
				}
			}
		}()
		awaitLatency(t, true)
		if s := h.Status(); s.State != status.Held && s.State != status.Ready { // ready for an instant after take
			t.Errorf("it says %+v", s)
		}
		close(held)
		awaitLatency(t, false)
	}
	if s := h.Status(); s.Holds < 2 || s.HeldSeconds <= 0 || s.LoneRequests < 2 || s.WakeUpHeldUs <= 0 {
		t.Errorf("it says %+v", s)
	}
}

// TestHolderOff: nothing is opened and nothing held.
func TestHolderOff(t *testing.T) {
	h := New(Off)
	h.Start()
	for range 4 * batch {
		h.FaultSeen(time.Now())
	}
	if s := h.Status(); s.State != status.Off || s.Holds != 0 || s.Reason == "" || s.LoneRequests != 4*batch {
		t.Errorf("it says %+v", s)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestLoneAllocatesNothing, whether or not it asks for the request.
func TestLoneAllocatesNothing(t *testing.T) {
	h := New(Off)
	h.within.Store(int64(time.Hour))
	if n := testing.AllocsPerRun(1000, func() { h.FaultSeen(time.Now()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if len(h.asked) != 1 {
		t.Error("many requests within an hour did not ask")
	}
}

// TestWithoutDevice: where /dev lacks the file it is made by the number in /proc/misc, and leaves
// nothing; a kernel without it is said to have none.
func TestWithoutDevice(t *testing.T) {
	require.Root(t)
	misc, err := host.Local.Read("proc/misc")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{misc: Available(host.Local) == nil, "229 fuse\n": false} {
		root := t.TempDir()
		for _, dir := range []string{"dev", "proc"} {
			if err := os.Mkdir(root+"/"+dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(root+"/proc/misc", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Available(host.Root(root)); (err == nil) != want {
			t.Errorf("available: %v, with /proc/misc\n%s", err, text)
		}
		if left, err := os.ReadDir(root + "/dev"); err != nil || len(left) > 0 {
			t.Errorf("left in /dev: %v, %v", left, err)
		}
	}
}

// TestHold: the kernel keeps to a latency of zero until the file is closed.
func TestHold(t *testing.T) {
	require.Root(t)
	held, err := Hold()
	if err != nil {
		t.Skipf("this machine has no PM QoS request: %v", err)
	}
	awaitLatency(t, true)
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	awaitLatency(t, false)
}

// TestWakeUpsWithoutPartner: where a thread cannot get to its processor, as when that has gone
// offline since, the other one does not wait for it without end.
func TestWakeUpsWithoutPartner(t *testing.T) {
	usable, err := Usable()
	if err != nil {
		t.Fatal(err)
	}
	const absent = 1000
	for _, pair := range [][2]int{{usable[0], absent}, {absent, usable[0]}} {
		failed := make(chan error, 1)
		go func() {
			_, err := WakeUps(pair[0], pair[1])
			failed <- err
		}()
		select {
		case err := <-failed:
			if err == nil {
				t.Errorf("processors %v were measured", pair)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("processors %v: a thread waits for the other", pair)
		}
	}
}

// TestWakeUp: a thread is woken in more than no time, and the threads that measured may run
// everywhere again.
func TestWakeUp(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor")
	}
	for range 3 {
		if d, err := WakeUp(); err != nil || d <= 0 || d > 100*time.Millisecond {
			t.Errorf("%v, %v", d, err)
		}
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	all, err := host.Local.Field("proc/self/status", "Cpus_allowed_list")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		one, err := host.Local.Field("proc/self/task/"+task.Name()+"/status", "Cpus_allowed_list")
		if err == nil && one != all { // else it has ended
			t.Errorf("thread %s may run on %s, not %s", task.Name(), one, all)
		}
	}
}
