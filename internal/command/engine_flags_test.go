// SPDX-License-Identifier: Apache-2.0

package command

import (
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/imageio"
)

// withKinds sets the program's kinds of engine until the test ends.
func withKinds(t *testing.T, kinds ...imageio.Kind) {
	t.Helper()
	were := engineKinds
	engineKinds = kinds
	t.Cleanup(func() { engineKinds = were })
}

// optionsOf reads flags as a command does.
func optionsOf(t *testing.T, args ...string) (o imageio.Options, err error) {
	t.Helper()
	app := &cli.App{Flags: engineFlags(), Action: func(c *cli.Context) error {
		o, err = engineOptionsOf(c, imageio.Packing)
		return nil
	}}
	if err := app.Run(append([]string{"x"}, args...)); err != nil {
		t.Fatal(err)
	}
	return o, err
}

func TestEngineOptions(t *testing.T) {
	withKinds(t, imageio.Kind{Name: "x"})
	for args, want := range map[string]imageio.Options{
		"":          {Mode: imageio.Auto, Device: imageio.AllDevices, Task: imageio.Packing},
		"--gpu off": {Mode: imageio.Off, Device: imageio.AllDevices, Task: imageio.Packing},
		"--gpu require --gpu-device 3 --gpu-batch 131072 --gpu-ring-slots 64": {Mode: imageio.Require, Device: 3, Batch: 1 << 17, Slots: 64, Task: imageio.Packing},
		"--gpu-device 0 --gpu-batch 1 --gpu-ring-slots 1":                     {Mode: imageio.Auto, Batch: 1, Slots: 1, Task: imageio.Packing},
	} {
		o, err := optionsOf(t, strings.Fields(args)...)
		o.Kinds, o.Room = nil, nil
		if err != nil || !reflect.DeepEqual(o, want) {
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

// A program without engines refuses to require one, as a usage error that says how to build a
// program with them.
func TestRequireWithoutEngines(t *testing.T) {
	withKinds(t)
	_, err := optionsOf(t, "--gpu", "require")
	if code, message := describe(err); code != exitUsage || message != "--gpu require: this program was built without GPUs; make build-cuda makes one that has them" {
		t.Errorf("%d, %q", code, message)
	}
	if o, err := optionsOf(t, "--gpu-device", "1"); err != nil || o.Device != 1 {
		t.Errorf("%+v, %v", o, err) // where there is one
	}
}
