// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// What a simulated device is where nothing else is said: an H100's figures, but of memory.
const (
	simulatedMemory   = 1 << 30
	simulatedVersion  = 12020
	simulatedMajor    = 9
	simulatedShared   = 48 << 10
	simulatedThreads  = 1024
	simulatedName     = "Simulated GPU"
	simulatedPCI      = "0000:%02x:00.0"
	simulatedUUID     = "GPU-00000000-0000-0000-0000-%012x"
	simulatedClockKHz = 1_755_000
	simulatedL2       = 50 << 20
	simulatedSMs      = 132
)

// A SimulatedDevice says what a device of a [Simulator] is like. The zero value is one of 1 GiB of
// memory.
type SimulatedDevice struct {
	Name         string
	Memory       int64 // bytes
	Major, Minor int   // compute capability
	L2           int   // bytes of its cache, of which only Properties tell
	// Link is how many bytes a second a copy moves; 0 is as fast as the machine copies.
	Link int64
	// Workers is how many blocks of a launch run at a time: 0 is one a core.
	Workers int
	// Seed chooses the order in which lanes and warps run, and Strict checks what kernels call
	// uniform; see package sim.
	Seed   uint64
	Strict bool
}

// A Simulator is GPUs, and a driver for them, that a program without any can have. It is safe for
// concurrent use.
type Simulator struct {
	specs []SimulatedDevice // immutable
	// next is the last handle that was given out. They are never given out twice.
	next atomic.Uint64

	mu      sync.Mutex // guards what follows
	devices []*simDevice
	calls   map[string]int // how often each was made
	plan    []failure
	ver     int
	libErr  error
	tracing bool
	trace   []Span
}

// A failure is to come.
type failure struct {
	call string
	left int // calls until then; 1 is the next
	code Code
}

// NewSimulator makes devices, which have contexts and memory from when a driver opens them.
func NewSimulator(devices ...SimulatedDevice) *Simulator {
	s := &Simulator{specs: devices, calls: map[string]int{}, ver: simulatedVersion}
	for i, d := range devices {
		s.devices = append(s.devices, newSimDevice(s, i, d))
	}
	return s
}

// Driver loads the simulator as CUDA loads libcuda. There may be several at a time.
func (s *Simulator) Driver() (*Driver, error) { return newDriver(&simLibrary{s}) }

// Fail makes the n-th call from now on of a function, like cuMemAlloc, fail with a code, where 1 is
// the next. A sticky code makes the context unusable, as on a GPU. What a stream does fails later
// than the call for it: the names for that are "run copy", "run fill" and "run kernel".
func (s *Simulator) Fail(call string, n int, code Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = append(s.plan, failure{call, n, code})
}

// Calls says how often each function was called so far.
func (s *Simulator) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// Hold stops the streams of a device before what they would do next, until release is called.
func (s *Simulator) Hold(device int) (release func()) { return s.devices[device].hold() }

// Leaks names what the last context of a device had allocated when it was closed, or has now if
// there is one.
func (s *Simulator) Leaks(device int) []string { return s.devices[device].leaks() }

// SetVersion changes which version of CUDA the driver says that it knows, as 1000 times the major
// and 10 times the minor version.
func (s *Simulator) SetVersion(v int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ver = v
}

// enter counts a call, and fails it if that was planned.
func (s *Simulator) enter(call string) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call]++
	for i := range s.plan {
		f := &s.plan[i]
		if f.call != call {
			continue
		}
		if f.left--; f.left == 0 {
			code := f.code
			s.plan = append(s.plan[:i], s.plan[i+1:]...)
			return newError(call, code, nil)
		}
	}
	return nil
}

func (s *Simulator) handle() uint64 { return s.next.Add(1) }

// simLibrary is one loading of a simulator.
type simLibrary struct{ *Simulator }

func (l *simLibrary) start() error {
	if err := l.enter("cuInit"); err != nil {
		return err
	}
	if len(l.specs) == 0 {
		return newError("cuInit", NoDevice, nil)
	}
	return nil
}

func (l *simLibrary) version() (int, error) {
	if err := l.enter("cuDriverGetVersion"); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ver, nil
}

func (l *simLibrary) devices() (int, error) {
	if err := l.enter("cuDeviceGetCount"); err != nil {
		return 0, err
	}
	return len(l.specs), nil
}

func (l *simLibrary) properties(device int) (Properties, error) {
	for _, call := range []string{"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute"} {
		if err := l.enter(call); err != nil {
			return Properties{}, err
		}
	}
	return l.Simulator.devices[device].properties, nil
}

func (l *simLibrary) retain(device int) (uint64, error) {
	for _, call := range []string{"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxRetain"} {
		if err := l.enter(call); err != nil {
			return 0, err
		}
	}
	return l.Simulator.devices[device].retain()
}

func (l *simLibrary) release(device int) error {
	const call = "cuDevicePrimaryCtxRelease"
	// Whether the call fails or not, a context is given back.
	err := l.enter(call)
	broken := l.Simulator.devices[device].release()
	if err != nil {
		return err
	}
	if broken != nil && broken.Code.Sticky() {
		return newError(call, broken.Code, broken)
	}
	return nil
}

func (l *simLibrary) active(device int) (bool, error) {
	if err := l.enter("cuDevicePrimaryCtxGetState"); err != nil {
		return false, err
	}
	return l.Simulator.devices[device].current() != nil, nil
}

func (l *simLibrary) attach(context uint64) (calls, error) {
	if err := l.enter("cuCtxSetCurrent"); err != nil {
		return nil, err
	}
	c, err := l.context("cuCtxSetCurrent", context)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// context finds a context by its handle.
func (l *simLibrary) context(call string, handle uint64) (*simContext, error) {
	for _, d := range l.Simulator.devices {
		if c := d.current(); c != nil && c.handle == handle {
			return c, nil
		}
	}
	return nil, newError(call, InvalidContext, nil)
}

func (l *simLibrary) wait(context, event uint64) error {
	c, err := l.context("cuEventSynchronize", context)
	if err != nil {
		return err
	}
	return c.wait(event)
}

func (l *simLibrary) close() error { return nil }

// simCode is the code that a GPU would give for what a simulated kernel or copy did.
func simCode(err error) Code {
	switch {
	case errors.Is(err, sim.ErrOutOfMemory):
		return OutOfMemory
	case errors.Is(err, sim.ErrOutOfBounds), errors.Is(err, sim.ErrUseAfterFree), errors.Is(err, sim.ErrReadOnly):
		return IllegalAddress
	case errors.Is(err, sim.ErrMisaligned):
		return MisalignedAddress
	case errors.Is(err, sim.ErrBadLaunch):
		return InvalidValue
	case errors.Is(err, sim.ErrBadKernel):
		return InvalidPTX
	case errors.Is(err, sim.ErrStepLimit), errors.Is(err, sim.ErrDeadlock):
		return LaunchTimeout
	}
	return LaunchFailed
}

// properties of the device with that number.
func (d SimulatedDevice) properties(i int) Properties {
	p := Properties{
		Ordinal: i, Name: d.Name, UUID: fmt.Sprintf(simulatedUUID, i), PCI: fmt.Sprintf(simulatedPCI, i),
		Major: d.Major, Minor: d.Minor, Multiprocessors: simulatedSMs, ClockKHz: simulatedClockKHz, L2: simulatedL2, Memory: d.Memory,
		SharedPerBlock: simulatedShared, ThreadsPerBlock: simulatedThreads, Copiers: 2, MapsHost: true, ReadOnlyHost: true,
	}
	if p.Name == "" {
		p.Name = simulatedName
	}
	if p.Memory == 0 {
		p.Memory = simulatedMemory
	}
	if p.Major == 0 {
		p.Major = simulatedMajor
	}
	if d.L2 > 0 {
		p.L2 = d.L2
	}
	return p
}
