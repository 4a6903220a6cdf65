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

// Defaults of a simulated device: those of an H100, except for memory.
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

// A SimulatedDevice describes a device of a [Simulator]. The zero value has 1 GiB of memory.
type SimulatedDevice struct {
	Name         string
	Memory       int64 // bytes
	Major, Minor int   // compute capability
	L2           int   // bytes of the L2 cache, for Properties only
	// Link is the speed of copies in bytes a second; 0 is the machine's own.
	Link int64
	// Workers is how many blocks of a launch run at a time: 0 means one a core.
	Workers int
	// Seed selects the order in which lanes and warps run, and Strict checks the kernels' claims of
	// uniformity; see package sim.
	Seed   uint64
	Strict bool
}

// A Simulator simulates GPUs and their driver. It is safe for concurrent use.
type Simulator struct {
	specs []SimulatedDevice // immutable
	// next is the last handle given out. Handles are never reused.
	next atomic.Uint64

	mu      sync.Mutex // guards the following fields
	devices []*simDevice
	calls   map[string]int // count of each call
	plan    []failure
	ver     int
	libErr  error
	tracing bool
	trace   []Span
}

// A failure is a planned one.
type failure struct {
	call string
	left int // calls until then; 1 is the next
	code Code
}

// NewSimulator makes devices, whose contexts and memory are made when a driver opens them.
func NewSimulator(devices ...SimulatedDevice) *Simulator {
	s := &Simulator{specs: devices, calls: map[string]int{}, ver: simulatedVersion}
	for i, d := range devices {
		s.devices = append(s.devices, newSimDevice(s, i, d))
	}
	return s
}

// Driver loads the simulator as CUDA loads libcuda. There may be several at a time.
func (s *Simulator) Driver() (*Driver, error) { return newDriver(&simLibrary{s}) }

// Fail makes the n-th future call of a function, such as cuMemAlloc, fail with a code; 1 is the
// next. A sticky code makes the context unusable, as on a GPU. Work in a stream fails later than
// its call: its names are "run copy", "run fill" and "run kernel".
func (s *Simulator) Fail(call string, n int, code Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = append(s.plan, failure{call, n, code})
}

// Calls returns how often each function was called so far.
func (s *Simulator) Calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// Hold stops the streams of a device before their next piece of work, until release is called.
func (s *Simulator) Hold(device int) (release func()) { return s.devices[device].hold() }

// Leaks names the allocations that the last context of a device had when it was closed, or those of
// the present one.
func (s *Simulator) Leaks(device int) []string { return s.devices[device].leaks() }

// SetVersion sets the version of CUDA that the driver reports, as 1000 times the major and 10 times
// the minor version.
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
	// The context is released even if the call fails.
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

// context returns the context of a handle.
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

// simCode returns the code that a GPU would give for an error of a simulated kernel or copy.
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

// properties returns those of the device with that number.
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
