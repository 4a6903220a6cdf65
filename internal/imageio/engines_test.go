// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu/driver"
)

// Each mode and algorithm opens the right engines.
func TestOpenEngines(t *testing.T) {
	lz4, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("too old")
	some := func(n int, err error) func(codec.Algorithm, Options) ([]bulk.Engine, error) {
		return func(codec.Algorithm, Options) ([]bulk.Engine, error) { return make([]bulk.Engine, n), err }
	}
	for name, c := range map[string]struct {
		mode    string
		kinds   []Kind
		engines int
		missing []string
		err     string
	}{
		"none built":                 {Auto, nil, 0, nil, ""},
		"there":                      {Auto, []Kind{{Name: "a", Open: some(2, nil)}}, 2, nil, ""},
		"off":                        {Off, []Kind{{Name: "a", Open: some(2, nil)}, {Name: "b", Open: some(0, cause)}}, 0, nil, ""},
		"missing":                    {Auto, []Kind{{Name: "a", Open: some(0, cause)}}, 0, []string{"a: too old"}, ""},
		"one of two kinds":           {Auto, []Kind{{Name: "a", Open: some(1, nil)}, {Name: "b", Open: some(0, cause)}}, 1, []string{"b: too old"}, ""},
		"one of two devices":         {Require, []Kind{{Name: "a", Open: some(1, cause)}}, 1, []string{"a: too old"}, ""},
		"required and not there":     {Require, []Kind{{Name: "a", Open: some(0, cause)}}, 0, nil, "a GPU is required: too old"},
		"required and not built":     {Require, nil, 0, nil, "a GPU is required: " + ErrNoEngines.Error()},
		"required, one of two kinds": {Require, []Kind{{Name: "a", Open: some(0, cause)}, {Name: "b", Open: some(3, nil)}}, 3, []string{"a: too old"}, ""},
	} {
		engines, missing, err := OpenEngines(lz4, Options{Mode: c.mode, Device: AllDevices, Kinds: c.kinds})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if len(engines) != c.engines || !slices.Equal(missing, c.missing) || text != c.err {
			t.Errorf("%s: %d engines, missing %q, %q", name, len(engines), missing, text)
		}
	}
}

// Without "backend=", a useless engine is not opened; with it, it is.
func TestEnginesAreNotOpenedInVain(t *testing.T) {
	kinds := []Kind{{
		Name: "a", Least: fewPages, Open: func(codec.Algorithm, Options) ([]bulk.Engine, error) { return make([]bulk.Engine, 1), nil },
		does: func(_ codec.Algorithm, t Task) bool { return t != Packing },
	}}
	for _, c := range []struct {
		algorithm string
		options   Options
		missing   string
	}{
		{"lz4", Options{Mode: Auto, Task: Unpacking, Pages: fewPages}, ""},
		{"lz4", Options{Mode: Auto, Task: Unpacking}, ""},
		{"lz4", Options{Mode: Auto, Task: Unpacking, Pages: fewPages - 1}, "a: 262143 pages are too few to open one, less than 262144"},
		{"lz4", Options{Mode: Auto, Task: Packing, Pages: fewPages}, "a: of no use for lz4"},
		{"lz4", Options{Mode: Require, Task: Packing, Pages: 1}, ""},
		{"lz4:backend=a", Options{Mode: Auto, Task: Packing, Pages: 1}, ""},
	} {
		a, err := codec.Parse(c.algorithm, names(kinds)...)
		if err != nil {
			t.Fatal(err)
		}
		c.options.Kinds = kinds
		engines, missing, err := OpenEngines(a, c.options)
		if err != nil || strings.Join(missing, ";") != c.missing || len(engines) == 0 != (c.missing != "") {
			t.Errorf("%s, %+v: %d engines, %q, %v", c.algorithm, c.options, len(engines), missing, err)
		}
	}
}

// F087: only a program built with GPUs lets algorithms ask for them by name.
func TestF087EngineIsOfferedWhereItIsBuilt(t *testing.T) {
	d, err := driver.CUDA()
	if err == nil {
		err = d.Close()
	}
	_, answer := codec.Parse("lz4:backend=gpu:batch=1024", names(Kinds())...)
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
