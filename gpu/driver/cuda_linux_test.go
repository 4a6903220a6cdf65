// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// childVariable tells a child process what to do with libcuda.
const childVariable = "ZRAMFS_CUDA_TEST_CHILD"

// TestCUDAChild is what the other tests start the test binary for, since a process looks for
// libraries where the environment said when it began.
func TestCUDAChild(t *testing.T) {
	act, ok := map[string]func(*testing.T) error{
		"open": openAndTell, "story": childStory, "kernel": childKernel, "hang": childHang, "sticky": childSticky, "memory": childMemory, "launch": childLaunch,
		"register": childRegister, "share": childShare, "stale": childStale, "stop": childStop, "late": childLate, "drivers": childDrivers, "loop": childLoop, "threads": childThreads,
	}[os.Getenv(childVariable)]
	if !ok {
		return
	}
	if err := act(t); err != nil {
		fmt.Println("answer:", err)
		return
	}
	fmt.Println("answer: all is well")
}

// child runs an act in a process that finds libcuda in dir, if that is not empty, and returns what
// it answers. The process must end well.
func child(t *testing.T, act, dir string, environment ...string) string {
	t.Helper()
	command := exec.Command("/proc/self/exe", "-test.run=^TestCUDAChild$")
	command.Env = append(os.Environ(), append(environment, childVariable+"="+act, "LD_LIBRARY_PATH="+dir)...)
	command.Dir = "/"
	if os.Geteuid() == 0 {
		// NVIDIA's library makes device files if it may.
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if !strings.Contains(string(out), "answer: ") {
		t.Fatalf("no answer:\n%s", out)
	}
	return string(out)
}

func wantAnswer(t *testing.T, answer string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(answer, p) {
			t.Errorf("the answer does not say %q:\n%s", p, answer)
		}
	}
}

// fakeLibcuda compiles the library of testdata.
func fakeLibcuda(t *testing.T, flags ...string) string {
	t.Helper()
	require.Command(t, "cc")
	dir, err := os.MkdirTemp("", "zramfs-libcuda-") // which others may enter, unlike those of tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append(flags, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), filepath.Join("testdata", "libcuda.c"))
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return dir
}

func openAndTell(*testing.T) error {
	d, err := CUDA()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %+v\n", d.Version(), d.Devices())
	return d.Close()
}

func childStory(t *testing.T) error {
	d, err := CUDA()
	if err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	return errors.Join(tell(d, increment(t), b), unix.Munmap(b))
}

func childContext() (*Driver, *Context, error) {
	d, err := CUDA()
	if err != nil {
		return nil, nil, err
	}
	c, err := d.Open(0, Options{Limit: 200 * time.Millisecond})
	return d, c, err
}

// childKernel loads a kernel that translates, and one that the library refuses.
func childKernel(t *testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	err = c.Do(func(th *Thread) error {
		info, err := th.Load(increment(t))
		if err != nil {
			return err
		}
		fmt.Printf("%+v\n", info)
		_, err = th.Load(stray(t))
		return err
	})
	return errors.Join(err, d.Close())
}

// childHang waits for what does not come, and ends all the same.
func childHang(t *testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	var r room
	err = c.Do(func(th *Thread) (err error) {
		if r, err = makeRoom(th, 64); err != nil {
			return err
		}
		return r.trip(th, increment(t))
	})
	return errors.Join(err, c.Wait(r.done), c.Close(), d.Close())
}

// childSticky launches what is answered with a sticky error, and asks again.
func childSticky(t *testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	err = c.Do(func(th *Thread) error {
		r, err := makeRoom(th, 64)
		if err != nil {
			return err
		}
		return r.trip(th, increment(t))
	})
	return errors.Join(err, c.Do(func(*Thread) error { return nil }), d.Close())
}

// childLate closes a context in which a wait has not come back yet, and lives to see that it does.
func childLate(*testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	var e Event
	err = c.Do(func(t *Thread) (err error) {
		e, err = t.NewEvent()
		return err
	})
	fmt.Println("wait:", c.Wait(e))
	err = errors.Join(err, c.Close(), d.Close())
	<-c.ended
	return err
}

// childStop is stopped while it waits, for longer than a wait may take.
func childStop(*testing.T) error {
	d, err := CUDA()
	if err != nil {
		return err
	}
	c, err := d.Open(0, Options{Limit: time.Second})
	if err != nil {
		return err
	}
	var e Event
	err = c.Do(func(t *Thread) (err error) {
		e, err = t.NewEvent()
		return err
	})
	stop := exec.Command("sh", "-c", "sleep 0.02; kill -STOP $0; sleep 1.1; kill -CONT $0", strconv.Itoa(os.Getpid()))
	return errors.Join(err, stop.Start(), c.Wait(e), stop.Wait(), d.Close())
}

func childMemory(*testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	err = c.Do(func(t *Thread) error {
		free, total, err := t.MemoryInfo()
		fmt.Println(free>>30, "of", total>>30)
		if err != nil {
			return err
		}
		_, err = t.Alloc("large", 2<<30)
		return err
	})
	p := NewHostPool(c, 1<<20)
	h, poolErr := p.Get(100)
	if poolErr == nil {
		number(h.Bytes(), 1)
		poolErr = errors.Join(numbered(h.Bytes(), 1), p.Put(h))
	}
	return errors.Join(err, poolErr, p.Close(), d.Close())
}

// childLaunch tells what a launch costs through all of this package, and what the library alone
// takes for it.
func childLaunch(t *testing.T) error {
	d, c, err := childContext()
	if err != nil {
		return err
	}
	k := increment(t)
	err = c.Do(func(th *Thread) error {
		r, err := makeRoom(th, 4)
		if err != nil {
			return err
		}
		if err := th.Launch(r.stream, k, 1, uint64(r.device), 1); err != nil {
			return err
		}
		call, function := th.calls.(*cudaCalls), uintptr(th.kernels[k].function)
		wrapped := each(func() { err = errors.Join(err, th.Launch(r.stream, k, 1, uint64(r.device), 1)) })
		bare := each(func() {
			err = errors.Join(err, call.call(cuLaunchKernel, function, 1, 1, 1, threads, 1, 1, 0, uintptr(r.stream.handle), call.block.at(pointersAt), 0))
		})
		fmt.Printf("a launch takes %v, the call alone %v\n", wrapped, bare)
		if wrapped-bare > 2*time.Microsecond {
			err = errors.Join(err, errors.New("a launch costs over 2 microseconds more than the call"))
		}
		return err
	})
	return errors.Join(err, d.Close())
}

// each is how long f takes: the least of some averages, since other programs run too.
func each(f func()) time.Duration {
	const averages, calls = 20, 2000
	least := time.Hour
	for range averages {
		start := time.Now()
		for range calls {
			f()
		}
		least = min(least, time.Since(start)/calls)
	}
	return least
}

// H4: the wrapper adds at most 2 microseconds to a launch.
func TestH4LaunchOverhead(t *testing.T) {
	answer := child(t, "launch", fakeLibcuda(t))
	wantAnswer(t, answer, "answer: all is well")
	t.Log(answer)
}

// NVIDIA's own library, on a machine without a GPU, says that there is none, and so do we.
func TestLibcudaWithoutDevice(t *testing.T) {
	answer := child(t, "open", require.Libcuda(t))
	wantAnswer(t, answer, ErrNoDevice.Error(), "cuInit: CUDA_ERROR_NO_DEVICE (100)")
}

func TestNoLibcuda(t *testing.T) {
	answer := child(t, "open", t.TempDir())
	if !strings.Contains(answer, ErrNoLibrary.Error()) {
		t.Skipf("needs a machine without libcuda: %s", answer)
	}
	wantAnswer(t, answer, "NVIDIA_DRIVER_CAPABILITIES=compute", "libcuda.so.1: cannot open shared object file")
}

// The calls arrive as cuda.h has them, which the library of testdata checks.
func TestCallsArriveAtLibcuda(t *testing.T) {
	dir := fakeLibcuda(t)
	wantAnswer(t, child(t, "open", dir), "CUDA 12.2", "Name:Fake GPU", "UUID:GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "PCI:0000:3b:00.0",
		"Major:9 Minor:0", "Multiprocessors:132", "ClockKHz:1980000", "L2:52428800", "Memory:85899345920", "SharedPerBlock:49152",
		"ThreadsPerBlock:1024", "Copiers:3", "MapsHost:true ReadOnlyHost:true", "all is well")
	wantAnswer(t, child(t, "open", dir, "FAKE_MIG=1"), "UUID:MIG-00010203-0405-0607-0809-0a0b0c0d0e0f")
	wantAnswer(t, child(t, "story", dir), "contexts left: 0", "answer: all is well")
	wantAnswer(t, child(t, "memory", dir), "79 of 80", "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)")
}

func TestLibcudaAnswers(t *testing.T) {
	dir := fakeLibcuda(t)
	wantAnswer(t, child(t, "open", dir, "FAKE_VERSION=10020"), ErrDriverTooOld.Error(), "CUDA 10.2")
	wantAnswer(t, child(t, "open", dir, "FAKE_INIT=804"), ErrDriverTooOld.Error(), "cuInit: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804)")
	wantAnswer(t, child(t, "open", dir, "FAKE_INIT=34"), ErrNoLibrary.Error(), "cuInit: CUDA_ERROR_STUB_LIBRARY (34)")
	wantAnswer(t, child(t, "open", dir, "FAKE_INIT=910"), "cuInit: CUDA_ERROR_OF_THE_FUTURE (910)")
	wantAnswer(t, child(t, "open", fakeLibcuda(t, "-DOLD")), ErrDriverTooOld.Error(), "it lacks cuDevicePrimaryCtxSetFlags_v2")
	wantAnswer(t, child(t, "sticky", dir, "FAKE_LAUNCH=700"), "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)", ErrDead.Error())
	wantAnswer(t, child(t, "kernel", dir), "Registers:40 Local:0 Shared:1000 Log:translated ",
		`cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): kernel stray, line 2, ".target sm_70": ptxas application ptx input, line 2; error   : a planned one`)
}

// The context of a device that answers after all ends with the last call that waits in it.
func TestLateLibcuda(t *testing.T) {
	wantAnswer(t, child(t, "late", fakeLibcuda(t), "FAKE_WAIT=400"), "wait: "+ErrDead.Error(), "answer: all is well")
}

// Time for which the whole program was stopped does not make a device silent.
func TestStoppedProgramGoesOn(t *testing.T) {
	wantAnswer(t, child(t, "stop", fakeLibcuda(t), "FAKE_WAIT=100"), "answer: all is well")
}

// F042: the context is given back also after an error that ends it.
func TestF042ContextIsGivenBack(t *testing.T) {
	dir := fakeLibcuda(t)
	for _, environment := range []string{"FAKE_LAUNCH=0", "FAKE_LAUNCH=700", "FAKE_LAUNCH=1"} {
		wantAnswer(t, child(t, "sticky", dir, environment), "contexts left: 0")
	}
}

// A program whose device hangs goes on, and ends with status 0.
func TestHangingLibcuda(t *testing.T) {
	wantAnswer(t, child(t, "hang", fakeLibcuda(t), "FAKE_HANG=1"), ErrDead.Error(), ErrTimeout.Error())
}
