// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// told returns the orders that a worker gets while do runs.
func told(t *testing.T, do func(p *process)) (orders []keeperMsg) {
	t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	do(&process{orders: to})
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	receive(from, func(o keeperMsg) { orders = append(orders, o) })
	if err := from.Close(); err != nil {
		t.Error(err)
	}
	return orders
}

// A worker that asks again, in the place of one that died, gets the answer that the request had.
func TestHotAnswersAgain(t *testing.T) {
	k := &keeper{extraDevices: extraDevices{keepers: map[int]*extraKeeper{}}}
	k.image.Store(&image{disksize: 1 << 20})
	some := "/some"
	want := []hotAnswer{
		{Request: 1, Errno: syscall.ENODEV}, {Request: 1, Errno: syscall.ENODEV}, {Request: 2, Errno: syscall.ENOMEM}, {Request: 3, Errno: syscall.EBUSY},
		{Request: 1, Errno: syscall.ENODEV}, // after others of the same worker
	}
	got := told(t, func(p *process) {
		for _, r := range []hotRequest{{Request: 1, Remove: 4}, {Request: 1}, {Request: 2}, {Request: 3, Backing: &some}, {Request: 1}} {
			k.hot(p, r)
		}
	})
	var answers []hotAnswer
	for _, o := range got {
		if o.ExtraDevices == nil || o.Hot == nil {
			t.Fatalf("told %+v", o)
		}
		answers = append(answers, *o.Hot)
	}
	if !slices.Equal(answers, want) {
		t.Errorf("answered %+v, want %+v", answers, want)
	}
}

// A worker that takes over is told since when the device can be opened, on a clock that is never
// set.
func TestUptime(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = from.Close(), to.Close() }()
	k := &keeper{since: 50 * time.Second, extraDevices: extraDevices{keepers: map[int]*extraKeeper{}}}
	k.serve(&process{orders: to, image: &image{}}, restarts{})
	var o keeperMsg
	if err := json.NewDecoder(from).Decode(&o); err != nil || o.Serve == nil {
		t.Fatalf("told %+v, %v", o, err)
	}
	if o.Serve.Ready != 50*time.Second {
		t.Errorf("ready since %v", o.Serve.Ready)
	}
}

// A device that is not made anew stays as it is: the worker learns that for each request, and the
// log says why, but not again for a request that was given up.
func TestResizeIsRefused(t *testing.T) {
	needMemoryFiles(t)
	logs, said := quietLogs(t)
	k := &keeper{cfg: Config{Config: zramfsd.Config{Memory: store.MemoryMemfd}}, logger: logs.Logger(), quiet: make(chan struct{})}
	close(k.quiet)
	k.image.Store(&image{})
	got := told(t, func(p *process) {
		k.resize(p, 7, 4096) // the device has ended
		k.cfg.Memory = "none"
		k.resize(p, 7, 4096)
		k.resize(p, 7, 4096)
		k.resize(p, 8, 8192)
	})
	refused := slices.DeleteFunc(got, func(o keeperMsg) bool { return !o.Refused })
	lines := strings.Join(said(), "\n")
	if len(refused) != 4 || strings.Count(lines, "\n")+1 != 3 || strings.Count(lines, "ERROR the device is not made anew with 4096 bytes and stays as it is: ") != 2 ||
		strings.Count(lines, errDeviceEnded.Error()) != 1 {
		t.Errorf("refused %d times, and said:\n%s", len(refused), lines)
	}
}

// A worker that has ended has taken what the kernel says, and one that was not started nothing.
func TestSpent(t *testing.T) {
	p := &process{}
	if got := p.spent(); got != 0 {
		t.Errorf("before it was started: %v", got)
	}
	p.cmd = exec.Command("sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; cat /proc/self/smaps /proc/kallsyms >/dev/null 2>&1; true")
	if got := p.spent(); got != 0 {
		t.Errorf("without an end: %v", got)
	}
	if err := p.cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if want := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime(); p.spent() != want || want == 0 {
		t.Errorf("spent %v, want %v", p.spent(), want)
	}
}

// The memory of the processes has all parts, that of requests once, and the keeper's while it
// lives.
func TestProcessMemory(t *testing.T) {
	const requests = 1 << 40
	own, err := host.Local.Usage("self")
	if err != nil {
		t.Fatal(err)
	}
	alone := processMemory(0, false)
	if all := own.Anon + own.File + own.Tables; own.File == 0 || alone < all-all/8 || alone > all+all/8 {
		t.Errorf("it has %d bytes, the kernel says %+v", alone, own)
	}
	if more := processMemory(requests, false) - alone; more < requests-requests/4 || more > requests+requests/4 {
		t.Errorf("with requests it has %d bytes more", more)
	}
	parent, err := host.Local.Usage(strconv.Itoa(own.Parent))
	if both := processMemory(0, true); err != nil || both+alone/8 < alone+parent.Anon+parent.Tables || both > 1<<38 {
		t.Errorf("with a keeper it has %d bytes, without %d; the keeper %+v, %v", both, alone, parent, err)
	}
}

// childOrphan leaves a process behind that has its descriptors, and tells its number.
func childOrphan() error {
	cmd := exec.Command("sleep", "3600")
	news := os.NewFile(newsFD, "news")
	cmd.ExtraFiles = []*os.File{os.NewFile(orderFD, "orders"), news}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(news, "{\"resize\":%d}\n", cmd.Process.Pid)
	return err
}

// TestFollowEndsWhatIsLeft has a worker end whose news another process keeps open: that ends too.
func TestFollowEndsWhatIsLeft(t *testing.T) {
	p := &process{}
	if err := p.start(Config{WorkArgs: func(zramfsd.Config) []string { return []string{"orphan"} }}, program{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	left, ended := uint64(0), make(chan error, 1)
	go func() { ended <- p.follow(func(n workerMsg) { left = *n.Resize }) }()
	select {
	case how := <-ended:
		if how != nil {
			t.Errorf("it ended by %v", how)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the news of a dead worker are awaited; its group ended: %v", p.kill())
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", left))
		if len(stat) == 0 || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the process goes on: %s", stat)
		}
	}
}
