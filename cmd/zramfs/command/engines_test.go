// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// optionsOf reads flags as a command does.
func optionsOf(t *testing.T, args ...string) (o engineOptions, err error) {
	t.Helper()
	app := &cli.App{Flags: engineFlags(), Action: func(c *cli.Context) error {
		o, err = engineOptionsOf(c, packing)
		return nil
	}}
	if err := app.Run(append([]string{"x"}, args...)); err != nil {
		t.Fatal(err)
	}
	return o, err
}

// withKinds has the program have these kinds of engine until the test ends.
func withKinds(t *testing.T, kinds ...engineKind) {
	t.Helper()
	were := engineKinds
	engineKinds = kinds
	t.Cleanup(func() { engineKinds = were })
}

func TestEngineOptions(t *testing.T) {
	withKinds(t, engineKind{name: "x"})
	for args, want := range map[string]engineOptions{
		"":          {mode: gpuAuto, device: allGPUs, task: packing},
		"--gpu off": {mode: gpuOff, device: allGPUs, task: packing},
		"--gpu require --gpu-device 3 --gpu-batch 131072 --gpu-ring-slots 64": {gpuRequire, 3, 1 << 17, 64, packing, 0},
		"--gpu-device 0 --gpu-batch 1 --gpu-ring-slots 1":                     {gpuAuto, 0, 1, 1, packing, 0},
	} {
		if o, err := optionsOf(t, strings.Fields(args)...); err != nil || o != want {
			t.Errorf("%q: %+v, %v, want %+v", args, o, err, want)
		}
	}
	for _, args := range []string{
		"--gpu never", "--gpu=", "--gpu-device -1", "--gpu-batch 0", "--gpu-batch -1", "--gpu-batch 131073", "--gpu-ring-slots 0", "--gpu-ring-slots 65",
	} {
		if _, err := optionsOf(t, strings.Fields(args)...); err == nil {
			t.Errorf("%q is accepted", args)
		} else if code, _ := describe(err); code != exitUsage {
			t.Errorf("%q: %v, exit code %d", args, err, code)
		}
	}
}

// A program that has no engines refuses what requires one, as a value that cannot be used, and says
// how to get one that has.
func TestRequireWithoutEngines(t *testing.T) {
	withKinds(t)
	_, err := optionsOf(t, "--gpu", "require")
	if code, message := describe(err); code != exitUsage || message != "--gpu require: this program was built without GPUs; make build-cuda makes one that has them" {
		t.Errorf("%d, %q", code, message)
	}
	if o, err := optionsOf(t, "--gpu-device", "1"); err != nil || o.device != 1 {
		t.Errorf("%+v, %v", o, err) // where there is one
	}
}

// With which modes which engines are opened.
func TestOpenEngines(t *testing.T) {
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("too old")
	some := func(n int, err error) func(codec.Algorithm, engineOptions) ([]bulk.Engine, error) {
		return func(codec.Algorithm, engineOptions) ([]bulk.Engine, error) { return make([]bulk.Engine, n), err }
	}
	for name, c := range map[string]struct {
		mode    string
		kinds   []engineKind
		engines int
		missing []string
		err     string
	}{
		"none built":                 {gpuAuto, nil, 0, nil, ""},
		"there":                      {gpuAuto, []engineKind{{name: "a", open: some(2, nil)}}, 2, nil, ""},
		"off":                        {gpuOff, []engineKind{{name: "a", open: some(2, nil)}, {name: "b", open: some(0, cause)}}, 0, nil, ""},
		"missing":                    {gpuAuto, []engineKind{{name: "a", open: some(0, cause)}}, 0, []string{"a: too old"}, ""},
		"one of two kinds":           {gpuAuto, []engineKind{{name: "a", open: some(1, nil)}, {name: "b", open: some(0, cause)}}, 1, []string{"b: too old"}, ""},
		"one of two devices":         {gpuRequire, []engineKind{{name: "a", open: some(1, cause)}}, 1, []string{"a: too old"}, ""},
		"required and not there":     {gpuRequire, []engineKind{{name: "a", open: some(0, cause)}}, 0, nil, "a GPU is required: too old"},
		"required and not built":     {gpuRequire, nil, 0, nil, "a GPU is required: " + errNoEngines.Error()},
		"required, one of two kinds": {gpuRequire, []engineKind{{name: "a", open: some(0, cause)}, {name: "b", open: some(3, nil)}}, 3, []string{"a: too old"}, ""},
	} {
		withKinds(t, c.kinds...)
		engines, missing, err := openEngines(lz4, engineOptions{mode: c.mode, device: allGPUs})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if len(engines) != c.engines || !slices.Equal(missing, c.missing) || text != c.err {
			t.Errorf("%s: %d engines, missing %q, %q", name, len(engines), missing, text)
		}
	}
}

// An engine is not opened in vain where it is only wanted if there is one; who asks for it has it
// whatever it is good for.
func TestEnginesAreNotOpenedInVain(t *testing.T) {
	withKinds(t, engineKind{
		name: "a", open: func(codec.Algorithm, engineOptions) ([]bulk.Engine, error) { return make([]bulk.Engine, 1), nil },
		does: func(_ codec.Algorithm, t task) bool { return t != packing },
	})
	for _, c := range []struct {
		algorithm string
		options   engineOptions
		missing   string
	}{
		{"lz4", engineOptions{mode: gpuAuto, task: unpacking, pages: fewPages}, ""},
		{"lz4", engineOptions{mode: gpuAuto, task: unpacking}, ""},
		{"lz4", engineOptions{mode: gpuAuto, task: unpacking, pages: fewPages - 1}, "a: 262143 pages are too few to open one, less than 262144"},
		{"lz4", engineOptions{mode: gpuAuto, task: packing, pages: fewPages}, "a: it is of no use for lz4"},
		{"lz4", engineOptions{mode: gpuRequire, task: packing, pages: 1}, ""},
		{"lz4:backend=a", engineOptions{mode: gpuAuto, task: packing, pages: 1}, ""},
	} {
		a, err := codec.Parse(c.algorithm, engineNames()...)
		if err != nil {
			t.Fatal(err)
		}
		engines, missing, err := openEngines(a, c.options)
		if err != nil || strings.Join(missing, ";") != c.missing || len(engines) == 0 != (c.missing != "") {
			t.Errorf("%s, %+v: %d engines, %q, %v", c.algorithm, c.options, len(engines), missing, err)
		}
	}
}

// builtEngines are the engines that this program was built with, before tests changed them.
var builtEngines []string

// F087: a program that was built to reach a GPU lets algorithms ask for it by name, and no other
// program does.
func TestF087EngineIsOfferedWhereItIsBuilt(t *testing.T) {
	d, err := driver.CUDA()
	if err == nil {
		err = d.Close()
	}
	_, answer := codec.Parse("lz4:backend=gpu:batch=1024", builtEngines...)
	if errors.Is(err, driver.ErrNotBuilt) {
		if !errors.Is(answer, codec.ErrNoEngine) {
			t.Errorf("without the engine backend=gpu is answered with %v", answer)
		}
		return
	}
	if answer != nil {
		t.Errorf("with the engine backend=gpu is answered with %v", answer)
	}
}
