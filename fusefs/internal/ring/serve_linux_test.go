// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A serveConfig is what a test tells the process that serves.
type serveConfig struct {
	Dir     string
	Size    int
	Uring   bool
	Entries int
	CostNs  int
	Offline bool // pretend that only CPU 0 is online
	// SlowEvery makes every SlowEvery-th read and write take SlowMs.
	SlowEvery, SlowMs int
	HoldWrites        bool // each until it is let go
	BadPayload        bool // so small that the kernel refuses it
	Setup             uint32
	NoPin             bool
	Batch, Help       int
	Threads           int // reading /dev/fuse, without rings
	// Inherited: descriptor 3 is /dev/fuse, 4 the rings' memory, and 5 the file's.
	// Adopt: a predecessor has served there.
	Inherited, Adopt bool
}

// A serveState is what it answers to a command.
type serveState struct {
	Error    string
	Mallocs  uint64
	Bound    int // threads bound to one CPU
	Files    int
	GCs      uint32
	Requests [2]uint64 // by device and by rings
	Slow     int64     // how many were slow or held
	Ended    bool
	EndError string
}

const (
	commandState = "state"
	commandGC    = "gc"   // from now on, without a pause
	commandAbort = "wait" // until the connection has ended
	commandDrain = "drain"
	commandVain  = "vain"  // drain, and give up at once
	commandFree  = "free"  // the workers of their CPUs, as the kernel does when these go
	commandRace  = "race"  // drain while a worker is about to take a request
	commandSpoil = "spoil" // what the next request is answered with is not what the kernel knows it by
	commandGo    = "go"    // on with a write that is held
	commandRings = "rings" // until the rings have ended
)

// drainPatience is less than patience: why a drain failed can still be told.
const drainPatience = patience / 2

// A server is the serving process's.
type server struct {
	config   serveConfig
	file     memoryFile
	device   int
	rings    *Rings
	requests [2]atomic.Uint64
	turn     atomic.Int64
	slow     atomic.Int64 // requests that were slow or held
	spoil    atomic.Bool
	letGo    chan struct{}
	serving  sync.WaitGroup
	start    error
}

func serve(text string) (err error) {
	s := &server{letGo: make(chan struct{}, 8)}
	if err := json.Unmarshal([]byte(text), &s.config); err != nil {
		return err
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 4)
	debug.SetGCPercent(-1)
	if s.file.data, err = s.memory(s.config.Size, 5); err != nil {
		return err
	}
	s.file.cost = time.Duration(s.config.CostNs)
	if s.config.Inherited {
		s.device = 3
	} else if s.device, err = mount(s.config.Dir); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return errors.Join(err, unix.Unmount(s.config.Dir, unix.MNT_DETACH))
	}
	return s.attend()
}

// memory is n bytes, page-aligned and there already.
func memory(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
}

// memory is the server's, private or inherited.
func (s *server) memory(n, fd int) ([]byte, error) {
	if !s.config.Inherited {
		return memory(n)
	}
	// Where nothing else comes to lie, and the race detector does not mind.
	place := unsafe.Add(unsafe.Pointer(nil), 0x7e9000000000+fd<<32)
	const access, kind = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_FIXED_NOREPLACE | unix.MAP_POPULATE
	p, err := unix.MmapPtr(fd, 0, place, uintptr(n), access, kind)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), n), nil
}

// mount makes a mount and returns its descriptor.
func mount(dir string) (device int, err error) {
	device, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,max_read=%d", device, maxWrite)
	return device, unix.Mount("zramfs-ring", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// begin makes the rings, agrees with the kernel on them, and serves.
func (s *server) begin() (err error) {
	if s.config.Uring {
		if s.rings, err = s.makeRings(); err != nil {
			return err
		}
	}
	if !s.config.Adopt {
		if err := s.answerInit(); err != nil {
			return err
		}
	}
	for range max(1, s.config.Threads) {
		s.serving.Add(1)
		go s.readDevice()
	}
	if s.config.Adopt {
		s.start = s.rings.Adopt(s.device)
	} else if s.rings != nil {
		s.start = s.rings.Start(s.device)
	}
	return nil
}

func (s *server) makeRings() (*Rings, error) {
	cpus, err := ReadCPUs()
	if err != nil {
		return nil, err
	}
	if s.config.Offline {
		cpus.online = cpus.online[:1]
	}
	c := Config{CPUs: cpus, Entries: s.config.Entries, Payload: maxWrite, Handle: s.handle}
	if s.config.BadPayload {
		c.Payload /= 2
	}
	if c.Memory, err = s.memory(c.Size(), 4); err != nil {
		return nil, err
	}
	t := defaultTuning
	if s.config.Setup != 0 {
		t.setup = s.config.Setup
	}
	if s.config.Batch != 0 {
		t.batch = s.config.Batch
	}
	if s.config.Help != 0 {
		t.help = s.config.Help
	}
	if s.config.NoPin {
		t.pin = false
	}
	return newRings(c, t)
}

func (s *server) answerInit() error {
	buf := make([]byte, 1<<16)
	n, err := unix.Read(s.device, buf)
	if err != nil || n < 60 || order.Uint32(buf[4:]) != opInit {
		return fmt.Errorf("no INIT: %d bytes, %w", n, err)
	}
	offered := order.Uint32(buf[40+12:])
	var out [outHeaderSize + initOutSize]byte
	order.PutUint32(out[0:], uint32(len(out)))
	copy(out[8:16], buf[8:16])
	o := out[outHeaderSize:]
	order.PutUint32(o[0:], 7)
	order.PutUint32(o[4:], min(45, order.Uint32(buf[40+4:])))
	order.PutUint32(o[12:], wantedFlags&offered)
	order.PutUint16(o[16:], backgroundN)
	order.PutUint16(o[18:], backgroundN)
	order.PutUint32(o[20:], maxWrite)
	order.PutUint32(o[24:], 1)
	order.PutUint16(o[28:], maxWrite/pageSize)
	if s.rings != nil {
		order.PutUint32(o[32:], overIOUring)
	}
	_, err = unix.Write(s.device, out[:])
	return err
}

// readDevice serves what comes by the descriptor, until the connection ends.
func (s *server) readDevice() {
	defer s.serving.Done()
	runtime.LockOSThread()
	buf, err := memory(maxWrite + pageSize)
	out, err2 := memory(maxWrite + pageSize)
	if err != nil || err2 != nil {
		panic("no memory")
	}
	for {
		n, err := unix.Read(s.device, buf)
		if err == unix.EINTR || err == unix.EAGAIN || err == unix.ENOENT {
			continue
		}
		if err != nil {
			return
		}
		opcode, node := order.Uint32(buf[4:]), order.Uint64(buf[16:])
		if opcode == opForget || opcode == opForgets || opcode == opInterrupt {
			continue
		}
		s.requests[0].Add(1)
		arg := buf[inHeaderSize:n]
		m, errno := s.file.answer(opcode, node, arg, arg[argSize(opcode):], out[outHeaderSize:])
		order.PutUint32(out[0:], uint32(outHeaderSize+m))
		order.PutUint32(out[4:], uint32(-int32(errno)))
		copy(out[8:16], buf[8:16])
		unix.RawSyscall(unix.SYS_WRITE, uintptr(s.device), uintptr(address(out)), uintptr(outHeaderSize+m))
	}
}

// handle serves what comes by the rings.
func (s *server) handle(worker int, r *Request) {
	s.requests[1].Add(1)
	opcode := r.Opcode()
	if s.config.HoldWrites && opcode == opWriteFile {
		s.slow.Add(1)
		s.rings.Send(worker)
		<-s.letGo
	}
	isIO := opcode == opReadFile || opcode == opWriteFile
	if every := int64(s.config.SlowEvery); every > 0 && isIO && s.turn.Add(1)%every == 0 {
		s.slow.Add(1)
		time.Sleep(time.Duration(s.config.SlowMs) * time.Millisecond)
	}
	s.reply(r)
	if isIO && s.spoil.CompareAndSwap(true, false) {
		order.PutUint64(r.head[offCommitID:], ^uint64(0))
	}
}

func (s *server) reply(r *Request) {
	n, errno := s.file.answer(r.Opcode(), r.Node(), r.Arg, r.In, r.Out)
	if errno != 0 {
		r.Refuse(errno)
		return
	}
	r.Answer(n)
}

// attend carries commands out, one a line, until there are no more.
func (s *server) attend() error {
	answers := json.NewEncoder(os.Stdout)
	var ended atomic.Bool
	var end error
	done, rested := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if s.rings != nil {
			end = s.rings.Wait()
		}
		close(rested)
		s.serving.Wait()
		ended.Store(true)
	}()
	var failed error
	say := func() {
		state := s.state()
		if state.Ended = ended.Load(); state.Ended && end != nil {
			state.EndError = end.Error()
		}
		failed = errors.Join(failed, answers.Encode(state))
	}
	say() // ready
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); say() {
		switch commands.Text() {
		case commandGC:
			go func() {
				for {
					runtime.GC()
				}
			}()
		case commandAbort:
			<-done
		case commandDrain:
			s.drain(drainPatience)
		case commandRace:
			s.drainRace()
		case commandVain:
			s.drain(0)
		case commandGo:
			s.letGo <- struct{}{}
		case commandFree:
			s.start = freeThreads()
		case commandSpoil:
			s.spoil.Store(true)
		case commandRings:
			<-rested
			s.start, end = end, nil
		}
	}
	if s.config.Inherited {
		return nil
	}
	if !ended.Load() {
		failed = errors.Join(failed, unix.Unmount(s.config.Dir, 0))
		<-done
	}
	return errors.Join(failed, end, unix.Close(s.device))
}

func (s *server) drain(patience time.Duration) {
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.start = s.rings.Drain(limit, fileNode)
}

// freeThreads lets all threads run on the last CPU alone.
func freeThreads() error {
	cpus, err := ReadCPUs()
	if err != nil {
		return err
	}
	var last unix.CPUSet
	last.Set(cpus.online[len(cpus.online)-1])
	threads, err := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		err = errors.Join(err, unix.SchedSetaffinity(tid, &last))
	}
	return err
}

func (s *server) state() serveState {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	state := serveState{Mallocs: m.Mallocs, GCs: m.NumGC, Slow: s.slow.Load()}
	state.Requests = [2]uint64{s.requests[0].Load(), s.requests[1].Load()}
	if s.start != nil {
		state.Error = s.start.Error()
	}
	threads, _ := filepath.Glob("/proc/self/task/*/status")
	for _, path := range threads {
		status, _ := os.ReadFile(path)
		_, allowed, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		list, _, _ := strings.Cut(strings.TrimSpace(allowed), "\n")
		if cpus, err := parseList(list); err == nil && len(cpus) == 1 {
			state.Bound++
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		state.Files = len(files)
	}
	return state
}
