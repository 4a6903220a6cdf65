// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/callfail"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// passedBacking is where a worker has its backing device here, with the key behind it: no file that
// is opened later gets the number.
const passedBacking = 200

// eachCall has the calls of a process fail, one after the other, until a run passes untouched. Of
// the same call many times in a row, as those that populate memory, it leaves out more and more.
func eachCall(t *testing.T, run func(n int) (failed string)) {
	t.Helper()
	run(0)
	last, same := "", 0
	for n := 1; !t.Failed(); n += 1 << min(5, max(0, same-4)) {
		failed := run(n)
		if failed == "" {
			return
		}
		if same++; failed != last {
			last, same = failed, 0
		}
	}
}

// TestCallsOfWorkerFail has each system call of a worker fail, from its start to its end: it says
// why it ends, or logs what it goes on without, and leaves nothing.
func TestCallsOfWorkerFail(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var taken []*os.File
	for range locksFD - 2 {
		taken = append(taken, null)
	}
	if !alone(t, taken...) {
		return
	}
	t.Setenv(backingVariable, strconv.Itoa(passedBacking))
	var all strings.Builder
	eachCall(t, func(n int) string {
		failed := workerCallFails(t, n, int(null.Fd()), &all)
		if left := append(goesOn(), leftOpen(orderFD)...); len(left) > 0 {
			t.Errorf("after %q of call %d there is left %q", failed, n, left)
		}
		return failed
	})
	for _, want := range []string{
		"adopt memory file: ", "map key: ", "map the memory of requests: ", "read superblock: ", "map image: ",
		"WARN counters begin anew: map counters: ", "WARN serving may wait for memory: ",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no call that failed led to %q:\n%s", want, all.String())
		}
	}
}

// passFiles gives this process the descriptors of a worker.
func passFiles(t *testing.T, s *fusefs.Session, m *store.Memory, b *backing) {
	t.Helper()
	files := s.Files()
	for fd, f := range map[int]*os.File{attributesFD: files.Attributes, dataFD: files.Data, requestsFD: files.Requests, imageFD: m.File(),
		passedBacking: b.file, passedBacking + 1: b.secret.File()} {
		if err := unix.Dup3(int(f.Fd()), fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
}

// newTestWorker is a worker as Work makes it, with the order to serve.
func newTestWorker(t *testing.T, logs *Logs, sent *strings.Builder) *worker {
	w := &worker{
		cfg: Config{Config: zramfsd.Config{Dir: t.TempDir(), Disksize: 1 << 20, Algorithm: parse(t, "lz4"), Memory: store.MemoryMemfd, Latency: pmqos.Low, Cold: idlework.Default,
			Scrub: time.Hour, SpillDaily: 1 << 30}},
		news: newNewsWriter(sent), orders: make(chan keeperMsg, 4), logs: logs, log: logs.Logger(), ready: make(chan struct{}),
		refused: make(chan struct{}, 1), filled: make(chan struct{}, 1), fillChanged: make(chan struct{}, 1),
		answers: make(chan hotAnswer, 16), leaving: make(chan struct{}), orphaned: make(chan struct{}),
		files: fusefs.Files{Attributes: os.NewFile(attributesFD, "attributes"), Data: os.NewFile(dataFD, "data"), Requests: os.NewFile(requestsFD, "requests")},
	}
	w.kept.Store(true)
	w.orders <- keeperMsg{Serve: &keeperFacts{PID: os.Getppid(), Create: true, Image: 1}}
	return w
}

// stopAtWork orders a worker to stop once all goes on that it does by itself.
func stopAtWork(t *testing.T, w *worker) {
	<-w.ready
	want := []string{"daemon.markMinutes", "protect.LowerWatermarks", "daemon.(*worker).tellFill", "idlework.(*Packer).run",
		"idlework.(*Scrubber).run", "idlework.(*Spiller).run"}
	if w.awake.Status().State != status.Off {
		want = append(want, "pmqos.(*Holder).run")
	}
	stacks := make([]byte, 1<<20)
	missing := func(name string) bool {
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), name+"(")
	}
	for end := time.Now().Add(30 * time.Second); slices.ContainsFunc(want, missing); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not all of %q goes on", want)
			break
		}
	}
	w.orders <- keeperMsg{Stop: true}
}

// workerCallFails has a worker serve until it is stopped, with one call failing.
func workerCallFails(t *testing.T, n, null int, all *strings.Builder) (failed string) {
	session, err := fusefs.NewSession(t.TempDir(), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	b := newBackingDevice(t)
	passFiles(t, session, memory, b)
	logs, said := quietLogs(t)
	var sent strings.Builder
	w := newTestWorker(t, logs, &sent)
	if n == 0 {
		go stopAtWork(t, w)
	} else {
		w.orders <- keeperMsg{Stop: true}
	}
	var failure error
	failed = callfail.Nth(t, n, unix.EIO, func() { failure = w.conclude(w.work) })
	lines := strings.Join(said(), "\n")
	wantTold(t, failed, failure, lines, sent.String())
	if logs.noted != nil {
		t.Errorf("with %q failing the log notes events in counters that are gone", failed)
	}
	all.WriteString(lines + "\n")
	if failure != nil {
		all.WriteString(failure.Error() + "\n")
	}
	for _, fd := range []int{imageFD, passedBacking, passedBacking + 1} {
		to, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if strings.Contains(sent.String(), "prepared") && (strings.HasPrefix(to, "/memfd:") || to == b.path) {
			t.Errorf("with %q failing %s is left open", failed, to)
		}
	}
	if err := errors.Join(w.files.Attributes.Close(), w.files.Data.Close(), w.files.Requests.Close(), session.Close(), memory.Close(), b.close()); err != nil {
		t.Error(err)
	}
	for _, fd := range []int{orderFD, newsFD, attributesFD, dataFD, requestsFD, imageFD, locksFD, passedBacking, passedBacking + 1} {
		if err := unix.Dup3(null, fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	return failed
}

// wantTold demands that a worker whose call has failed tells the keeper why it ends, or that it is
// ready and logs what it lacks. Files that say what the machine has, and memory that may be taken
// later, may fail in silence.
func wantTold(t *testing.T, failed string, failure error, lines, sent string) {
	t.Helper()
	var last workerMsg
	for d := json.NewDecoder(strings.NewReader(sent)); d.More(); {
		last = workerMsg{}
		if err := d.Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
	switch silent := strings.Contains(" openat fstat newfstatat getdents64 readlinkat madvise mlock fallocate mmap sched_setattr", " "+failed); {
	case failure != nil && (failed == "" || !errors.Is(failure, unix.EIO) || last.Failed == nil || last.Failed.Message != failure.Error()):
		t.Errorf("with %q failing the worker ends by %v and says %+v", failed, failure, last.Failed)
	case failure == nil && (last.Ready == nil || len(last.Ready.Protections) < 8):
		t.Errorf("with %q failing the worker says last %+v", failed, last)
	case failure == nil && failed != "" && !silent && !strings.Contains(lines, unix.EIO.Error()):
		t.Errorf("with %q failing the worker logs %q", failed, lines)
	}
}
