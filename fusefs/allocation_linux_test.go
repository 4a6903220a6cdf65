// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

// TestPagePathAllocatesNothing counts what requests allocate on their way: nothing, at any length
// and alignment.
func TestPagePathAllocatesNothing(t *testing.T) {
	const size, longest = 16 << 20, 1 << 20
	f := newTestFileSystem(t, size)
	buf := make([]byte, longest)
	rng := rand.New(rand.NewPCG(10, 11))
	for i := range buf {
		buf[i] = byte(rng.Uint32N(20)) // compresses, and not into one word
	}
	answer := make([]byte, longest)
	argument := make([]byte, argumentSize)
	for name, c := range map[string]struct {
		off uint64
		n   int
	}{
		"a page":         {8192, pageSize},
		"a MiB":          {1 << 20, longest},
		"part of a page": {100, 200},
		"parts":          {4000, 9000},
		"at the end":     {size - 100, 200},
	} {
		thread := pageThread{beforeWait: func(bool) {}}
		serve := func(op uint32) syscall.Errno {
			binary.LittleEndian.PutUint64(argument[8:], c.off)
			binary.LittleEndian.PutUint64(argument[16:], uint64(c.n)) // both take it for their size
			binary.LittleEndian.PutUint32(argument[24:], punchHole)
			_, errno := f.servePage(&thread, op, argument, buf[:c.n], answer)
			return errno
		}
		for verb, request := range map[string]func() syscall.Errno{
			"write": func() syscall.Errno { return serve(opWrite) },
			"read":  func() syscall.Errno { return serve(opRead) },
			"punch": func() syscall.Errno { return max(serve(opWrite), serve(opFallocate)) },
		} {
			errno := request() // whatever is made on first use
			got := testing.AllocsPerRun(50, func() { errno = max(errno, request()) })
			if got != 0 || errno != 0 {
				t.Errorf("%s of %s allocates %v times, error %v", verb, name, got, errno)
			}
		}
	}
}

// TestPagePathAllocatesNothingInUse counts what threads allocate for page requests while all else
// is on: counters, trace, ages, a memory limit that changes, and readers of attributes, whose
// requests do allocate.
func TestPagePathAllocatesNothingInUse(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	l := newLeftOf(t, requestsShape{attributes: attributeThreads, data: 2, transfer: leftTransfer})
	l.store.SetMemLimit(32 << 20)
	l.session.requests.keepInit(attributeConnection, initRequest(2))
	l.session.requests.keepInit(dataConnection, initRequest(2))
	counters, err := privateCounters(2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(l.session.files, Config{Store: l.store, Algorithm: l.algorithm(), NoResend: true, Counters: counters,
		FaultSeen: func(time.Time) {}, Failed: func(telemetry.Op, uint64, syscall.Errno) {},
		Status: func([]string) ([]byte, error) { return json.Marshal(l.store.Stats()) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	l.exchangePages(200) // whatever is made on first use
	before := allocatedByThreads()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() { l.exchangeAttributes(s.attributes.fs, stop) })
	const requests = 3000
	l.exchangePages(requests)
	close(stop)
	readers.Wait()
	after := allocatedByThreads()
	if n := after.pages - before.pages; n != 0 {
		t.Errorf("%d requests allocate %d objects, at:\n%s", requests, n, after.where)
	}
	if after.others == before.others {
		t.Error("requests for attributes allocate nothing: nothing is counted")
	}
	var cursor telemetry.Cursor
	traces, _ := counters.Area.Traces(&cursor)
	if ages := l.store.Stats().Ages; ages.Refaults == [store.AgeClasses]uint64{} || len(traces) < requests {
		t.Errorf("%d requests are traced, refaults %v", len(traces), ages.Refaults)
	}
	s.Stop()
	if err := errors.Join(s.Close(), counters.Close()); err != nil {
		t.Error(err)
	}
}

// exchangePages sends some requests for pages, one after the other, and wants them to succeed.
func (l *left) exchangePages(n int) {
	l.t.Helper()
	content := varied(4*pageSize, 3)
	buf := make([]byte, leftTransfer+bufferOff)
	for i := range uint64(n) {
		off, unique := i*7%512*pageSize, 1000+2*i
		m := writeRequest(unique, off, content[:pageSize+int(i%4)*pageSize])
		switch i % 8 {
		case 1, 2, 3, 5:
			m = readRequest(unique, off-7*pageSize*(i%8), 4*pageSize)
		case 7:
			m = punchRequest(unique, off, 2*pageSize)
		}
		if err := l.send(dataConnection, m); err != nil {
			l.t.Fatal(err)
		}
		if k, err := l.receive(dataConnection, buf); err != nil || k < outHeaderSize || errnoOf(buf) != 0 {
			l.t.Fatalf("request %d: %d bytes, %v", i, k, err)
		}
	}
}

// exchangeAttributes sends requests for attributes until stop.
func (l *left) exchangeAttributes(fs *fileSystem, stop <-chan struct{}) {
	buf := make([]byte, leftTransfer+bufferOff)
	exchange := func(m message) {
		if err := l.send(attributeConnection, m); err != nil {
			l.t.Error(err)
		}
		if k, err := l.receive(attributeConnection, buf); err != nil || k < outHeaderSize || errnoOf(buf) != 0 {
			l.t.Errorf("%d bytes, error %d, %v", k, errnoOf(buf), err)
		}
	}
	for unique := uint64(10); ; unique += 8 {
		select {
		case <-stop:
			return
		default:
		}
		for i, name := range []string{"mm_stat", "io_stat", "stat", "comp_algorithm"} {
			node := fs.tree.lookup(deviceNode, name).id
			exchange(request(opRead, unique+2*uint64(i), node, transferArgument(0, 4096)))
		}
		limit := append(transferArgument(0, 3), fmt.Sprintf("%dM", 20+unique%16)...)
		exchange(request(opWrite, unique, fs.tree.lookup(deviceNode, "mem_limit").id, limit))
		exchange(request(opRead, unique, fs.tree.lookup(controlNode, "status").id, transferArgument(0, 4096)))
	}
}

// allocations are the objects that threads of a server have allocated.
type allocations struct {
	pages, others int64  // for requests for pages, and all others
	where         string // of those for pages
}

// allocatedByThreads asks the memory profile, in which every allocation is.
func allocatedByThreads() (sum allocations) {
	for range 3 { // it lags behind by two collections
		runtime.GC()
	}
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, true); !ok; {
		records = make([]runtime.MemProfileRecord, n+100)
		if n, ok = runtime.MemProfile(records, true); ok {
			records = records[:n]
		}
	}
	for _, r := range records {
		var names []string
		for frames, more := runtime.CallersFrames(r.Stack()), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			names = append(names, f.Function)
		}
		has := func(name string) bool {
			return slices.ContainsFunc(names, func(f string) bool { return strings.HasSuffix(f, name) })
		}
		switch {
		case !has("fusefs.(*thread).serve"):
		case has("fusefs.(*thread).dispatchOther"):
			sum.others += r.AllocObjects
		default:
			sum.pages += r.AllocObjects
			sum.where += strings.Join(names, " < ") + "\n"
		}
	}
	return sum
}
