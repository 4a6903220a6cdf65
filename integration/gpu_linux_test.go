// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// gpusVariable says which GPUs the program has that gpuProgram builds; see the tests of package
// command.
const gpusVariable = "ZRAMFS_TEST_GPUS"

// gpuCommand prepares a run of the program on a machine with these GPUs, by another program and its
// arguments if there is one. They are slow, so their pieces are small.
func gpuCommand(t *testing.T, gpus string, by []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := gpuBuilt()
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(by, []string{path}, args, []string{"--gpu-batch=64", "--gpu-ring-slots=2"})
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Env = append(os.Environ(), "ZRAMFS_TEST_AS_PROGRAM=1", gpusVariable+"="+gpus)
	return cmd
}

// withGPUs runs the program on a machine with these GPUs.
func withGPUs(t *testing.T, gpus string, args ...string) result {
	t.Helper()
	return runCommand(t, commandTimeout, gpuCommand(t, gpus, nil, args...))
}

// A worked is what every command that does bulk work prints with --json, below its name.
type worked struct {
	Engines   []workedPart   `json:"engines"`
	Fallbacks map[string]int `json:"fallbacks"`
	Missing   []string       `json:"missing"`
}

// A workedPart is that of one engine.
type workedPart struct {
	Name      string  `json:"name"`
	Pages     int     `json:"pages"`
	Share     float64 `json:"share"`
	Pieces    int     `json:"pieces"`
	Ratio     float64 `json:"ratio"`
	Busy      float64 `json:"busy_ms"`
	Speed     float64 `json:"mb_s"`
	H2D       float64 `json:"h2d_ms"`
	Kernel    float64 `json:"kernel_ms"`
	D2H       float64 `json:"d2h_ms"`
	Failures  int     `json:"failures"`
	LastError string  `json:"last_error"`
}

// names are those of the engines.
func (w worked) names() string {
	var all []string
	for _, e := range w.Engines {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

// shared wants that all of some engines had their part, and that all parts are the whole.
func (w worked) shared(t *testing.T, names string) {
	t.Helper()
	if w.names() != names {
		t.Fatalf("engines are %q, want %q", w.names(), names)
	}
	share := 0.0
	for _, e := range w.Engines {
		share += e.Share
		if e.Failures != 0 || e.LastError != "" {
			t.Errorf("%+v", e)
		}
		if e.Name != "cpu" && (e.Pages == 0 || e.Pieces == 0 || e.Ratio <= 1 || e.Busy <= 0 || e.Speed <= 0 || e.H2D <= 0 || e.Kernel <= 0 || e.D2H <= 0) {
			t.Errorf("%s had no part: %+v", e.Name, e)
		}
	}
	if share < 0.999 || share > 1.001 {
		t.Errorf("the shares are %.3f all together", share)
	}
}

// allWorked reports whether all engines had a part. An engine that is slow to start finds nothing
// to do.
func (w worked) allWorked() bool {
	return !slices.ContainsFunc(w.Engines, func(e workedPart) bool { return e.Pages == 0 })
}

// sharedBy runs a command as workedBy does until all of these engines had their part, which they
// have as a rule.
func sharedBy(t *testing.T, names, gpus string, args ...string) {
	t.Helper()
	w := workedBy(t, gpus, args...)
	for try := 0; !w.allWorked() && try < 5; try++ {
		w = workedBy(t, gpus, args...)
	}
	w.shared(t, names)
}

// workedBy runs a command with --json that has to succeed, and returns what it says of its work.
func workedBy(t *testing.T, gpus string, args ...string) worked {
	t.Helper()
	r := withGPUs(t, gpus, append(args, "--json")...)
	all, w := map[string]json.RawMessage{}, worked{}
	err := json.Unmarshal([]byte(r.Stdout), &all)
	if err == nil {
		err = json.Unmarshal(all[args[0]], &w)
	}
	if err != nil || r.Code != 0 || r.Stderr != "" {
		t.Fatalf("%q: exit code %d, %v: %s%s", args, r.Code, err, r.Stdout, r.Stderr)
	}
	return w
}

// failedIn runs an export as workedBy does until the GPU was given something to fail at, which it
// is as a rule: the CPU may be done before.
func failedIn(t *testing.T, gpus, dir, file string, want []byte) worked {
	t.Helper()
	for try := 0; ; try++ {
		w := workedBy(t, gpus, "export", "--gpu=require", dir, file)
		sameFile(t, file, want)
		if slices.ContainsFunc(w.Engines, func(e workedPart) bool { return e.Failures > 0 }) || try == 5 {
			return w
		}
	}
}

// sameFile wants a file to hold these bytes, and removes it.
func sameFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := difference(got, want, 0); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
}

// TestGPU lets the commands share their work with two GPUs, on a device in use: what they leave is
// the same.
func TestGPU(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for _, algorithm := range []string{"lz4", "page"} {
		t.Run(algorithm, func(t *testing.T) {
			dir, other := mount(t, "--size", "16M", "-a", algorithm), mount(t, "--size", "16M", "-a", algorithm)
			want := mixedDevice(t, dir, 1000)
			file := filepath.Join(tempDir(t), "pages")
			sharedBy(t, "cpu gpu0 gpu1", "devices=2", "verify", "--gpu=require", dir)
			sharedBy(t, "cpu gpu0 gpu1", "devices=2", "export", "--force", "--gpu=require", dir, file)
			if algorithm == "lz4" { // which they can make
				sharedBy(t, "cpu gpu1", "devices=2", "import", "--gpu=require", "--gpu-device=1", file, other)
			} else if w := workedBy(t, "devices=2", "import", "--gpu=require", "--gpu-device=1", file, other); w.names() != "cpu gpu1" || w.Engines[0].Share != 1 || w.Fallbacks["unreadable"] == 0 {
				t.Errorf("%+v", w)
			}
			sameFile(t, file, want)
			if got := workedBy(t, "devices=2", "export", "--gpu=off", other, file).names(); got != "cpu" {
				t.Errorf("engines are %q although they are off", got)
			}
			sameFile(t, file, want)
			for _, d := range []string{dir, other} {
				if v := scrub(t, d).Verify; v.Wrong != 0 {
					t.Errorf("verify says %+v", v)
				}
			}
		})
	}
}

// TestGPUDamage lets a GPU read damaged objects, which the CPU judges.
func TestGPUDamage(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	f, content := corruptible(t)
	memory, _ := image(t, f.pid)
	at := locate(t, memory, content[301])
	mustFlip(t, memory, at)
	r := withGPUs(t, "devices=1", "verify", "--gpu=require", f.dir)
	if r.Code != 1 || !strings.Contains(r.Stdout, ": 1 damaged: 301\n") || !strings.Contains(r.Stdout, "\ngpu0: ") {
		t.Errorf("verify: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	file := filepath.Join(tempDir(t), "pages")
	if r := withGPUs(t, "devices=1", "export", "--gpu=require", f.dir, file); r.Code != 1 || !strings.Contains(r.Stderr, "page 301 is damaged") {
		t.Errorf("export: exit code %d: %s", r.Code, r.Stderr)
	}
	onlyFile(t, file)
	mustFlip(t, memory, at)
	if r := withGPUs(t, "devices=1", "verify", "--gpu=require", f.dir); r.Code != 0 {
		t.Errorf("verify: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestGPUFails makes calls of CUDA fail in the middle of an export, or when the device is opened:
// it says so, and leaves the same file. So does it with a device that falls silent.
func TestGPUFails(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M", "-a", "lz4")
	want := mixedDevice(t, dir, 2000)
	file := filepath.Join(tempDir(t), "pages")
	for _, c := range []struct{ fail, says string }{
		{"cuMemcpyHtoDAsync:1:1", "cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE (1)"},
		{"cuLaunchKernel:1:701", "cuLaunchKernel: "},
		{"run_kernel:1:700", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}, // after which a device is dead
		{"run_copy:2:719", "CUDA_ERROR_LAUNCH_FAILED (719)"},
	} {
		w := failedIn(t, "late="+c.fail, dir, file, want)
		if !slices.ContainsFunc(w.Engines, func(e workedPart) bool {
			return e.Name == "gpu0" && e.Failures > 0 && strings.Contains(e.LastError, c.says)
		}) {
			t.Errorf("%s: %+v", c.fail, w)
		}
	}
	silent := failedIn(t, "silent=3000", dir, file, want)
	if len(silent.Engines) != 2 || silent.Engines[0].Share != 1 || silent.Engines[1].Failures == 0 || !strings.Contains(silent.Engines[1].LastError, "does not answer") {
		t.Errorf("%+v", silent)
	}
	if r := withGPUs(t, "fail=cuMemAlloc:2:2", "export", "--gpu=require", dir, file); r.Code != 1 || !strings.Contains(r.Stderr, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)") {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	onlyFile(t, file)
}

// TestGPUInterrupted ends exports at some moments of a GPU's work: either the file is there as a
// whole, or nothing is.
func TestGPUInterrupted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M", "-a", "lz4")
	want := mixedDevice(t, dir, 2000)
	file := filepath.Join(tempDir(t), "pages")
	ends := map[int]int{}
	for _, after := range []string{"0.05", "0.1", "0.2", "0.4", "3"} {
		r := runCommand(t, commandTimeout, gpuCommand(t, "devices=1", []string{"timeout", "--preserve-status", "-s", "INT", after}, "export", "--gpu=require", dir, file))
		ends[r.Code]++
		switch {
		case r.Code == 0:
			sameFile(t, file, want)
		case r.Code == 1 && strings.Contains(r.Stderr, "interrupted"), r.Code == 128+int(unix.SIGINT): // the latter before it begins
			onlyFile(t, file)
		default:
			t.Errorf("after %s s: exit code %d: %s", after, r.Code, r.Stderr)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("after %s s there is a file", after)
		}
	}
	t.Logf("exit codes %v", ends)
}

// TestGPUMissing goes through the reasons for there being no GPU: each command says which it is and
// goes on, or, where one is required, ends with exit code 1 and leaves all as it was.
func TestGPUMissing(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	want := mixedDevice(t, dir, 500)
	before := stored(t, dir)
	file, zeros := filepath.Join(tempDir(t), "pages"), filepath.Join(tempDir(t), "zeros")
	if err := os.WriteFile(zeros, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for gpus, says := range map[string]string{
		"libcuda":       "libcuda.so.1 was not found: install the driver, or, in a container, grant it the driver capability compute",
		"devices=0":     "sees no GPU: none is there, none was given to this container",
		"version=10020": "is too old: it must know CUDA 11.1",
		"major=6":       "its compute capability must be 7.0 or more",
	} {
		if gpus == "libcuda" && hasLibcuda() {
			t.Log("there is a libcuda: how it is missed remains to be seen")
			continue
		}
		for _, args := range [][]string{{"verify", dir}, {"export", dir, file}, {"import", zeros, dir}} {
			r := withGPUs(t, gpus, append(args, "--gpu=require")...)
			if r.Code != 1 || !strings.HasPrefix(r.Stderr, "zramfs: "+args[0]+" ") || !strings.Contains(r.Stderr, "a GPU is required: ") ||
				!strings.Contains(r.Stderr, says) || strings.Count(r.Stderr, "\n") != 1 || r.Stdout != "" {
				t.Errorf("%s: %q: exit code %d: %s%s", gpus, args, r.Code, r.Stdout, r.Stderr)
			}
		}
		onlyFile(t, file)
		if after := stored(t, dir); after != before {
			t.Errorf("%s: what is stored changed from %+v to %+v", gpus, before, after)
		}
		w := workedBy(t, gpus+" unasked", "export", dir, file)
		if w.names() != "cpu" || len(w.Missing) != 1 || !strings.Contains(w.Missing[0], says) {
			t.Errorf("%s: %+v", gpus, w)
		}
		sameFile(t, file, want)
	}
	w := workedBy(t, "devices=1", "export", dir, file)
	if w.names() != "cpu" || len(w.Missing) != 1 || !strings.HasSuffix(w.Missing[0], "pages are too few to open one, less than 262144") {
		t.Errorf("%+v", w)
	}
	if w := workedBy(t, "devices=1 unasked", "export", "--force", dir, file); w.names() != "cpu gpu0" {
		t.Errorf("%+v", w)
	}
	sameFile(t, file, want)
}

// stored is what a device holds, without the reserve, which is filled up in the background.
func stored(t *testing.T, dir string) status.Memory {
	t.Helper()
	m := statusOf(t, dir).Memory
	m.MemUsedTotal, m.MemUsedMax, m.ReserveBytes = inUse(m), 0, 0
	return m
}

// hasLibcuda reports whether the loader would find NVIDIA's library.
func hasLibcuda() bool {
	out, err := exec.Command("ldconfig", "-p").Output()
	return err != nil || bytes.Contains(out, []byte("libcuda.so.1"))
}
