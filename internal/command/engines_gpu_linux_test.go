// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package command

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/imageio"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// gpusVariable gives the test binary, running as zramfs, simulated GPUs. It has their number and
// kind, as in "devices=2 fail=cuMemAlloc:3:2". Without it there are none, as in the default
// program.
const gpusVariable = "ZRAMFS_TEST_GPUS"

func init() {
	engineKinds = nil
	if text := os.Getenv(gpusVariable); text != "" {
		k, err := simulatedKind(text)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s=%s: %v\n", gpusVariable, text, err)
			os.Exit(1)
		}
		engineKinds = []imageio.Kind{k}
	}
}

// A simulatedGPU is the parsed gpusVariable.
type simulatedGPU struct {
	devices, major, version int
	silent                  int              // milliseconds that the opened device does not answer
	libcuda                 bool             // it is what the machine has, and not simulated
	unasked                 bool             // it is opened for any number of pages
	early, late             []plannedFailure // of calls from the beginning on, and from when engines are open
}

// A plannedFailure makes the n-th call fail.
type plannedFailure struct {
	call    string
	n, code int
}

// readSimulated reads libcuda, unasked, devices=N, major=N of the compute capability of the last
// device, version=N of CUDA, silent=MILLISECONDS, and any number of fail=CALL:N:CODE and, for
// failures after the opening, late=CALL:N:CODE.
func readSimulated(text string) (g simulatedGPU, err error) {
	g.devices = 1
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "libcuda":
			g.libcuda = true
		case "unasked":
			g.unasked = true
		case "devices":
			g.devices, err = strconv.Atoi(value)
		case "major":
			g.major, err = strconv.Atoi(value)
		case "version":
			g.version, err = strconv.Atoi(value)
		case "silent":
			g.silent, err = strconv.Atoi(value)
		case "fail", "late":
			var f plannedFailure
			f, err = readFailure(value)
			if key == "fail" {
				g.early = append(g.early, f)
			} else {
				g.late = append(g.late, f)
			}
		default:
			err = errors.New("no such word")
		}
		if err != nil {
			return g, fmt.Errorf("%q: %w", word, err)
		}
	}
	return g, nil
}

// readFailure reads CALL:N:CODE; in the call's name _ is a blank.
func readFailure(text string) (f plannedFailure, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return f, errors.New("want CALL:N:CODE")
	}
	f.call = strings.ReplaceAll(parts[0], "_", " ")
	if f.n, err = strconv.Atoi(parts[1]); err == nil {
		f.code, err = strconv.Atoi(parts[2])
	}
	return f, err
}

// simulator makes the devices.
func (g simulatedGPU) simulator() *driver.Simulator {
	all := make([]driver.SimulatedDevice, g.devices)
	if g.devices > 0 {
		all[g.devices-1].Major = g.major
	}
	s := driver.NewSimulator(all...)
	if g.version > 0 {
		s.SetVersion(g.version)
	}
	plan(s, g.early)
	return s
}

func plan(s *driver.Simulator, failures []plannedFailure) {
	for _, f := range failures {
		s.Fail(f.call, f.n, driver.Code(f.code))
	}
}

// patience is longer than a simulated kernel takes on a busy machine.
const patience = 2 * time.Minute

// simulatedKind returns simulated devices as a kind of engine.
func simulatedKind(text string) (imageio.Kind, error) {
	g, err := readSimulated(text)
	if g.libcuda {
		k := imageio.GPUs(driver.CUDA, driver.Options{})
		if g.unasked {
			k.Least = 0
		}
		return k, err
	}
	s := g.simulator()
	limit := patience
	if g.silent > 0 {
		limit = time.Duration(g.silent) * time.Millisecond
	}
	k := imageio.GPUs(s.Driver, driver.Options{Limit: limit})
	if g.unasked {
		k.Least = 0
	}
	open := k.Open
	k.Open = func(a codec.Algorithm, o imageio.Options) ([]bulk.Engine, error) {
		engines, err := open(a, o)
		plan(s, g.late)
		if g.silent > 0 && len(engines) > 0 {
			s.Hold(0) // for good
		}
		return engines, err
	}
	return k, err
}

// gpusOf opens the GPUs of a simulator for an algorithm.
func gpusOf(t *testing.T, text, algorithm string, o imageio.Options) ([]bulk.Engine, error) {
	t.Helper()
	k, err := simulatedKind(text)
	if err != nil {
		t.Fatal(err)
	}
	a, err := codec.Parse(algorithm, "gpu")
	if err != nil {
		t.Fatal(err)
	}
	if o.Batch == 0 && !strings.Contains(algorithm, "batch") {
		o.Batch = 64 // a simulator measures no longer than that takes
	}
	engines, err := k.Open(a, o)
	for _, e := range engines {
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return engines, err
}

// Flags and the algorithm's parameters reach the engine; engines make LZ4 blocks if these are
// wanted.
func TestGPUOptions(t *testing.T) {
	for _, c := range []struct {
		algorithm  string
		options    imageio.Options
		names      string
		max, lanes int
		compress   bool
	}{
		{"lz4", imageio.Options{Device: imageio.AllDevices}, "gpu0 gpu1", 64, 8, true},
		{"lz4:fast", imageio.Options{Device: 1, Batch: 32, Slots: 2}, "gpu1", 32, 2, true},
		{"lz4:backend=gpu:batch=48", imageio.Options{Device: 0}, "gpu0", 48, 8, true},
		{"lz4:backend=gpu:batch=48", imageio.Options{Device: 0, Batch: 16}, "gpu0", 16, 8, true},
		{"page", imageio.Options{Device: imageio.AllDevices}, "gpu0 gpu1", 64, 8, false},
		{"zstd", imageio.Options{Device: imageio.AllDevices}, "gpu0 gpu1", 64, 8, false},
	} {
		engines, err := gpusOf(t, "devices=2", c.algorithm, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range engines {
			names = append(names, e.Name())
			if l := e.Limits(); l.Max != c.max || l.Lanes != c.lanes {
				t.Errorf("%s, %+v: %+v", c.algorithm, c.options, l)
			}
			if e.Can(bulk.Compress, codec.LZ4) != c.compress || !e.Can(bulk.Verify, codec.Page) {
				t.Errorf("%s can the wrong things", c.algorithm)
			}
			if _, ok := e.(bulk.Registrar); !ok {
				t.Errorf("%s cannot be told of memory", e.Name())
			}
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("%s, %+v: %q, want %q", c.algorithm, c.options, got, c.names)
		}
	}
}

// The bounds of the flags are those of package gpu.
func TestGPUBounds(t *testing.T) {
	for _, o := range []imageio.Options{{Batch: imageio.MaxBatch + 1}, {Batch: 64, Slots: imageio.MaxSlots + 1}} {
		if engines, err := gpusOf(t, "devices=1", "lz4", o); !errors.Is(err, driver.ErrArgument) || len(engines) != 0 {
			t.Errorf("%+v: %d engines, %v", o, len(engines), err)
		}
	}
	if _, err := gpusOf(t, "devices=1", "lz4", imageio.Options{Slots: imageio.MaxSlots}); err != nil {
		t.Error(err)
	}
}

// doctor names an unusable device next to the usable ones.
func TestGPUOneOfTwoIsTooOld(t *testing.T) {
	engines, err := gpusOf(t, "devices=2 major=6", "lz4", imageio.Options{Device: imageio.AllDevices})
	if len(engines) != 1 || engines[0].Name() != "gpu0" || !errors.Is(err, driver.ErrDeviceTooOld) {
		t.Errorf("%d engines, %v", len(engines), err)
	}
}

// doctor has a line for GPUs in a program built with them.
func TestGPUDoctor(t *testing.T) {
	for text, want := range map[string]string{
		"devices=1":         "ok    gpu: device 0, Simulated GPU, has 1G and compute capability 9.0; the driver knows CUDA 12.2\n",
		"devices=2 major=6": "warn  gpu: device 0, Simulated GPU, has 1G and compute capability 9.0; the GPU is too old: its compute capability must be 7.0 or more (Volta, of 2017): device 1, Simulated GPU, has 6.0; the driver knows CUDA 12.2\n",
		"devices=0":         "warn  gpu: NVIDIA's driver sees no GPU: none is there, none was given to this container, or CUDA_VISIBLE_DEVICES hides it: cuInit: CUDA_ERROR_NO_DEVICE (100)\n",
		"version=10020":     "warn  gpu: NVIDIA's driver is too old: it must know CUDA 11.1, as release 455 and later do, and knows CUDA 10.2\n",
	} {
		t.Setenv(gpusVariable, text)
		if got := runProgram(t, "doctor"); !strings.Contains(got.stdout, want) {
			t.Errorf("%s:\n%s\nwant %s", text, got.stdout, want)
		}
	}
	t.Setenv(gpusVariable, "")
	if got := runProgram(t, "doctor"); strings.Contains(got.stdout, "gpu: ") {
		t.Errorf("%s", got.stdout)
	}
}

func TestGPUVersion(t *testing.T) {
	t.Setenv(gpusVariable, "libcuda")
	if got := runProgram(t, "version"); !strings.Contains(got.stdout, ", with gpu)\nzramfsd ") {
		t.Errorf("%+v", got)
	}
}
