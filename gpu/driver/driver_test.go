// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

const threads = 64

// increment adds one to each of n words of 32 bits.
func increment(tb testing.TB) *ptx.Kernel {
	tb.Helper()
	b := ptx.New("increment", threads)
	words, count := b.ParamGlobal("words"), b.ParamU32("count")
	i := b.CtaidX().Mad(ptx.N(threads), b.TidX())
	b.If(i.Lt(count), func() {
		at := words.Index(i, 4)
		at.StoreU32(at.LoadU32().Add(ptx.N(1)))
	})
	return built(tb, b)
}

// stray stores a word at any address.
func stray(tb testing.TB) *ptx.Kernel {
	tb.Helper()
	b := ptx.New("stray", 32)
	at, v := b.ParamGlobal("at"), b.ParamU32("v")
	b.When(b.LaneID().Eq(ptx.N(0)), func() { at.StoreU32(v) })
	return built(tb, b)
}

func built(tb testing.TB, b *ptx.Builder) *ptx.Kernel {
	tb.Helper()
	k, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// open makes a simulator of one device and a context on it, which the test closes, or the cleanup.
func open(tb testing.TB, spec SimulatedDevice, o Options) (*Simulator, *Context) {
	tb.Helper()
	s := NewSimulator(spec)
	d, err := s.Driver()
	if err != nil {
		tb.Fatal(err)
	}
	c, err := d.Open(0, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s, c
}

func do(tb testing.TB, c *Context, f func(*Thread) error) {
	tb.Helper()
	if err := c.Do(f); err != nil {
		tb.Fatal(err)
	}
}

// room is what a round trip needs.
type room struct {
	stream      Stream
	begin, done Event
	host        Host
	device      Pointer
}

func makeRoom(t *Thread, n int) (r room, err error) {
	for _, step := range []func() error{
		func() (err error) { r.stream, err = t.NewStream(); return },
		func() (err error) { r.begin, err = t.NewEvent(); return },
		func() (err error) { r.done, err = t.NewEvent(); return },
		func() (err error) { r.host, err = t.AllocHost(n); return },
		func() (err error) { r.device, err = t.Alloc("room", n); return },
	} {
		if err := step(); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r room) free(t *Thread) error {
	return errors.Join(t.Free(r.device), t.FreeHost(r.host), t.CloseEvent(r.begin), t.CloseEvent(r.done), t.CloseStream(r.stream))
}

// trip copies n words in, increments them and copies them out.
func (r room) trip(t *Thread, k *ptx.Kernel) error {
	n := len(r.host.Bytes()) / 4
	for _, step := range []func() error{
		func() error { return t.Record(r.begin, r.stream) },
		func() error { return t.Fill(r.stream, r.device, 0, 4*n) },
		func() error { return t.CopyIn(r.stream, r.device, r.host) },
		func() error { return t.Launch(r.stream, k, (n+threads-1)/threads, uint64(r.device), uint64(n)) },
		func() error { return t.CopyOut(r.stream, r.host, r.device) },
		func() error { return t.Record(r.done, r.stream) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// number fills bytes with words that count from v on, and numbered tells whether they do.
func number(b []byte, v int) {
	for i := range len(b) / 4 {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v+i))
	}
}

func numbered(b []byte, v int) error {
	for i := range len(b) / 4 {
		if got := binary.LittleEndian.Uint32(b[4*i:]); got != uint32(v+i) {
			return fmt.Errorf("word %d is %d, want %d", i, got, v+i)
		}
	}
	return nil
}

// wholeStory makes use of every call once or more, from loading the library to closing it.
func wholeStory(s *Simulator, k *ptx.Kernel) error {
	d, err := s.Driver()
	if err != nil {
		return err
	}
	return tell(d, k, make([]byte, 4096))
}

// tell is what comes after the library is loaded. The memory is to be registered.
func tell(d *Driver, k *ptx.Kernel, mapped []byte) (err error) {
	defer func() { err = errors.Join(err, d.Close()) }()
	c, err := d.Open(0, Options{})
	if err != nil {
		return err
	}
	var r room
	number(mapped, 7)
	err = c.Do(func(t *Thread) (err error) {
		if _, _, err := t.MemoryInfo(); err != nil {
			return err
		}
		if r, err = makeRoom(t, 4000); err != nil {
			return err
		}
		number(r.host.Bytes(), 1)
		if err := r.trip(t, k); err != nil {
			return err
		}
		h, err := t.RegisterHost(mapped, false)
		if err != nil {
			return err
		}
		if err := errors.Join(t.Await(r.stream, r.done), t.Launch(r.stream, k, 16, uint64(h.Device()), 1000), t.Record(r.done, r.stream)); err != nil {
			return err
		}
		if err := c.driver.lib.wait(c.handle, r.done.handle); err != nil {
			return c.check(err)
		}
		return t.UnregisterHost(h)
	})
	if err != nil {
		return err
	}
	if err := c.Wait(r.done); err != nil {
		return err
	}
	if err := errors.Join(numbered(r.host.Bytes(), 2), numbered(mapped[:4000], 8), numbered(mapped[4000:], 1007)); err != nil {
		return err
	}
	return c.Do(func(t *Thread) error {
		if _, err := t.Elapsed(r.begin, r.done); err != nil {
			return err
		}
		return r.free(t)
	})
}

func TestH1H2H3KernelsRunAndCopiesAreExact(t *testing.T) {
	s := NewSimulator(SimulatedDevice{})
	if err := wholeStory(s, increment(t)); err != nil {
		t.Fatal(err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Whatever call fails, whether it can be survived or not, its error comes out with the call's name,
// everything can be closed, no goroutine stays, and the next story is as if nothing had been.
func TestF044H9EachCallFailsOnce(t *testing.T) {
	k := increment(t)
	s := NewSimulator(SimulatedDevice{Workers: 1})
	if err := wholeStory(s, k); err != nil {
		t.Fatal(err)
	}
	for call, times := range s.Calls() {
		for n := 1; n <= times; n++ {
			for _, code := range []Code{Unknown, OutOfMemory, IllegalAddress, MisalignedAddress, LaunchFailed} {
				t.Run(fmt.Sprintf("%s/%d/%d", call, n, code), func(t *testing.T) { failOnce(t, k, call, n, code) })
			}
		}
	}
}

func failOnce(t *testing.T, k *ptx.Kernel, call string, n int, code Code) {
	before := runtime.NumGoroutine()
	s := NewSimulator(SimulatedDevice{Workers: 1})
	s.Fail(call, n, code)
	err := wholeStory(s, k)
	// The end of a dead context returns no error that was told before.
	if err == nil {
		t.Fatal("no error")
	}
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, code) || !strings.Contains(err.Error(), call) {
		t.Errorf("error %v, want one of %s that is %v", err, call, code)
	}
	if err := wholeStory(s, k); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if left := s.Leaks(0); len(left) != 0 {
		t.Errorf("the next one leaves behind: %v", left)
	}
	for wait := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(wait) > 5*time.Second {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// A sticky error ends the context, with its cause, and another context on the other device does not
// notice.
func TestF041StickyErrorsEndOneContextAlone(t *testing.T) {
	s := NewSimulator(SimulatedDevice{Name: "one"}, SimulatedDevice{Name: "two"})
	d, err := s.Driver()
	if err != nil {
		t.Fatal(err)
	}
	var contexts []*Context
	for _, p := range d.Devices() {
		c, err := d.Open(p.Ordinal, Options{})
		if err != nil {
			t.Fatal(err)
		}
		contexts = append(contexts, c)
	}
	k, bad := increment(t), stray(t)
	rooms := make([]room, 2)
	for i, c := range contexts {
		do(t, c, func(t *Thread) (err error) {
			rooms[i], err = makeRoom(t, 64)
			return err
		})
		number(rooms[i].host.Bytes(), i)
	}
	do(t, contexts[0], func(t *Thread) error {
		return errors.Join(t.Launch(rooms[0].stream, bad, 1, uint64(rooms[0].device)+1<<20, 3), t.Record(rooms[0].done, rooms[0].stream))
	})
	var fault *sim.Fault
	if err := contexts[0].Wait(rooms[0].done); !errors.Is(err, IllegalAddress) || !errors.As(err, &fault) || fault.Kernel != "stray" {
		t.Errorf("wait answers %v", err)
	}
	err = contexts[0].Do(func(*Thread) error { return nil })
	if !errors.Is(err, ErrDead) || !errors.Is(err, IllegalAddress) {
		t.Errorf("the context answers %v", err)
	}
	if err := contexts[0].Close(); err != nil {
		t.Errorf("close of a dead context: %v", err)
	}

	do(t, contexts[1], func(t *Thread) error { return rooms[1].trip(t, k) })
	if err := contexts[1].Wait(rooms[1].done); err != nil {
		t.Fatal(err)
	}
	if err := numbered(rooms[1].host.Bytes(), 2); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestMisalignedAccessIs716(t *testing.T) {
	_, c := open(t, SimulatedDevice{}, Options{})
	k := stray(t)
	var r room
	do(t, c, func(t *Thread) (err error) {
		r, err = makeRoom(t, 64)
		return errors.Join(err, t.Launch(r.stream, k, 1, uint64(r.device)+1, 3), t.Record(r.done, r.stream))
	})
	if err := c.Wait(r.done); !errors.Is(err, MisalignedAddress) || !strings.Contains(err.Error(), "room+1") {
		t.Errorf("wait answers %v", err)
	}
}

// The translator's log and the line of PTX are in the error.
func TestKernelsThatDoNotTranslate(t *testing.T) {
	_, c := open(t, SimulatedDevice{}, Options{})
	narrow := increment(t).Altered(func(code []ptx.Instruction) {
		for i := range code {
			if code[i].Op == ptx.OpAddU32 {
				code[i].Src[0] = ptx.Operand{Kind: ptx.OperandRegister, Register: 0}
			}
		}
	})
	err := c.Do(func(t *Thread) error {
		_, err := t.Load(narrow)
		return err
	})
	var ke *KernelError
	if !errors.Is(err, InvalidPTX) || !errors.As(err, &ke) || ke.Kernel != "increment" || ke.Log == "" {
		t.Errorf("load answers %v", err)
	}
	e := newKernelError("k", "one\n\ttwo;\nthree", "ptxas application ptx input, line 2; error   : bad two\nmore\x00\x00")
	if want := `kernel k, line 2, "two;": ptxas application ptx input, line 2; error   : bad two`; e.Error() != want {
		t.Errorf("error is %q, want %q", e.Error(), want)
	}
	if e := newKernelError("k", "one", ""); e.Error() != "kernel k: no word of why" {
		t.Errorf("error is %q", e.Error())
	}
}

func TestF046F047UnfitLaunchesAreRefused(t *testing.T) {
	_, c := open(t, SimulatedDevice{}, Options{})
	k := increment(t)
	do(t, c, func(th *Thread) error {
		s, err := th.NewStream()
		if err != nil {
			return err
		}
		for _, bad := range []func() error{
			func() error { return th.Launch(s, k, 0, 1, 1) },
			func() error { return th.Launch(s, k, 1<<31, 1, 1) },
			func() error { return th.Launch(s, k, 1, 1) },
			func() error { return th.Launch(s, k, 1, 1, 1<<32) },
			func() error { _, err := th.Alloc("none", 0); return err },
			func() error { _, err := th.AllocHost(-1); return err },
			func() error { _, err := th.RegisterHost(nil, false); return err },
			func() error { return th.Fill(s, 1, 0, -1) },
		} {
			if err := bad(); !errors.Is(err, ErrArgument) {
				t.Errorf("error %v, want %v", err, ErrArgument)
			}
		}
		th.context.device.SharedPerBlock = -1
		defer func() { th.context.device.SharedPerBlock = simulatedShared }()
		if _, err := th.Load(stray(t)); !errors.Is(err, ErrArgument) {
			t.Errorf("shared memory: %v", err)
		}
		return th.CloseStream(s)
	})
}

// Handles that are none, or no more, are refused as CUDA refuses them.
func TestStaleHandles(t *testing.T) {
	_, c := open(t, SimulatedDevice{}, Options{})
	k := increment(t)
	do(t, c, func(th *Thread) error {
		r, err := makeRoom(th, 64)
		if err != nil {
			return err
		}
		if _, err := th.RegisterHost(r.host.Bytes(), false); !errors.Is(err, RegisteredAlready) {
			t.Errorf("registering twice: %v", err)
		}
		if err := r.free(th); err != nil {
			return err
		}
		for what, call := range map[string]func() error{
			"free":   func() error { return th.Free(r.device) },
			"host":   func() error { return th.FreeHost(r.host) },
			"stream": func() error { return th.CloseStream(r.stream) },
			"event":  func() error { return th.CloseEvent(r.done) },
			"record": func() error { return th.Record(r.done, r.stream) },
			"await":  func() error { return th.Await(r.stream, r.done) },
			"time":   func() error { _, err := th.Elapsed(r.begin, r.done); return err },
			"copy":   func() error { return th.CopyIn(r.stream, r.device, r.host) },
			"launch": func() error { return th.Launch(r.stream, k, 1, 1, 1) },
		} {
			var e *Error
			if err := call(); !errors.As(err, &e) {
				t.Errorf("%s: %v", what, err)
			}
		}
		return nil
	})
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	if bytes.Contains([]byte(fmt.Sprint(c.Properties())), []byte("MIG")) {
		t.Error("a simulated device is no part of one")
	}
}
