// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// cluster and HaltPoll are the parameters of most tests: a sysctl and one of a module.
const cluster Parameter = "vm.page-cluster"

var pair = []Setting{{Parameter: cluster, Value: "5"}, {Parameter: HaltPoll, Value: "200000", AtLeast: true}}

// machineWith returns a machine with these files below its root.
func machineWith(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	m := host.Root(t.TempDir())
	for name, text := range files {
		path := m.Path(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// machineOfTwo has both parameters.
func machineOfTwo(t *testing.T) host.Root {
	return machineWith(t, map[string]string{"proc/sys/vm/page-cluster": "3", string(HaltPoll): "0"})
}

// want compares values of parameters.
func want(t *testing.T, m host.Root, values map[Parameter]string) {
	t.Helper()
	for p, value := range values {
		if now, err := p.Read(m); err != nil || now != value {
			t.Errorf("%s is %q, %v; want %q", p, now, err, value)
		}
	}
}

// forgetful keeps nothing.
func forgetful([]Change) error { return nil }

// Apply has the old values kept before the first change, of both kinds of files.
func TestApplyKeepsThenChanges(t *testing.T) {
	m := machineOfTwo(t)
	var kept [][]Change
	own, r := Apply(m, pair, nil, func(c []Change) error {
		kept = append(kept, c)
		want(t, m, map[Parameter]string{cluster: "3", HaltPoll: "0"})
		return nil
	})
	if len(kept) != 1 || !slices.Equal(kept[0], own) || !slices.Equal(own, []Change{{cluster, "3", "5"}, {HaltPoll, "0", "200000"}}) {
		t.Errorf("kept %v, returned %v", kept, own)
	}
	want(t, m, map[Parameter]string{cluster: "5", HaltPoll: "200000"})
	if !slices.Equal(r.Done, []string{"vm.page-cluster=5 (was 3)", string(HaltPoll) + "=200000 (was 0)"}) || len(r.Warnings) != 0 {
		t.Errorf("report %+v", r)
	}
	r = Restore(m, own, nil)
	want(t, m, map[Parameter]string{cluster: "3", HaltPoll: "0"})
	if !slices.Equal(r.Done, []string{"vm.page-cluster=3", string(HaltPoll) + "=0"}) || len(r.Warnings) != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestApplyWithoutRecordChangesNothing(t *testing.T) {
	m := machineOfTwo(t)
	own, r := Apply(m, pair, nil, func([]Change) error { return errors.New("no room") })
	want(t, m, map[Parameter]string{cluster: "3", HaltPoll: "0"})
	if len(own) != 0 || len(r.Done) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "cannot be kept: no room") {
		t.Errorf("%v, %+v", own, r)
	}
}

// A value that does not stay is reported, and the record has it no longer.
func TestApplyReadsBack(t *testing.T) {
	m := machineOfTwo(t)
	path := m.Path(string(HaltPoll))
	if err := errors.Join(os.Remove(path), os.Symlink("/dev/null", path)); err != nil { // it takes every write
		t.Fatal(err)
	}
	var kept []Change
	own, r := Apply(m, pair, nil, func(c []Change) error { kept = c; return nil })
	if len(own) != 1 || !slices.Equal(kept, own) || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `=200000: the kernel has made it ""`) {
		t.Errorf("kept %v, returned %v, %+v", kept, own, r)
	}
}

// A value between the old one and ours, as of a kernel with a limit of its own, is taken back.
func TestPutBack(t *testing.T) {
	m := machineWith(t, map[string]string{"proc/sys/vm/page-cluster": "4"})
	if err := putBack(m, cluster, "3"); err != nil {
		t.Error(err)
	}
	want(t, m, map[Parameter]string{cluster: "3"})
}

// Restore changes nothing that the kernel has not from us, and speaks only of what another program
// has set.
func TestRestoreOfOthers(t *testing.T) {
	for _, test := range []struct{ now, after, warning string }{
		{"5", "3", ""},
		{"3", "3", ""}, // a killed up had not set it yet
		{"4", "4", "vm.page-cluster is 4 by now, not the 5 that up set: left alone"},
	} {
		m := machineWith(t, map[string]string{"proc/sys/vm/page-cluster": test.now})
		r := Restore(m, []Change{{cluster, "3", "5"}}, nil)
		want(t, m, map[Parameter]string{cluster: test.after})
		if strings.Join(r.Warnings, "\n") != test.warning {
			t.Errorf("%s: %+v", test.now, r)
		}
	}
	r := Restore(machineWith(t, nil), []Change{{HaltPoll, "0", "1"}}, nil)
	if len(r.Done) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "restore "+string(HaltPoll)+"=0: ") {
		t.Errorf("a module that is gone: %+v", r)
	}
}

// Two devices come and go in either order, and an operator may set a value before each step: the
// last value that was not ours is there at the end, unless an operator's own came after.
func TestTwoDevicesInEitherOrder(t *testing.T) {
	for _, first := range []int{0, 1} {
		for operator, end := range map[int]string{0: "3", 1: "4", 2: "4", 3: "4"} {
			m, all := machineOfTwo(t), make([][]Change, 2)
			set := func(step int) {
				if operator == step {
					if err := cluster.set(m, "4"); err != nil {
						t.Fatal(err)
					}
				}
			}
			all[0], _ = Apply(m, pair, nil, forgetful)
			set(1)
			all[1], _ = Apply(m, pair, all[:1], forgetful)
			set(2)
			one := Restore(m, all[first], all[1-first:2-first])
			set(3)
			other := Restore(m, all[1-first], nil)
			want(t, m, map[Parameter]string{cluster: end, HaltPoll: "0"})
			warned := len(one.Warnings) + len(other.Warnings)
			if wanted := map[int]int{2: 2, 3: 1}[operator]; warned != wanted {
				t.Errorf("operator at %d: %+v, %+v: want %d warnings", operator, one, other, wanted)
			}
		}
	}
}

// Devices of two versions want different values: what was there at first comes back.
func TestTwoVersions(t *testing.T) {
	for _, first := range []int{0, 1} {
		m, all := machineOfTwo(t), make([][]Change, 2)
		all[0], _ = Apply(m, []Setting{{Parameter: cluster, Value: "6"}}, nil, forgetful)
		all[1], _ = Apply(m, pair, all[:1], forgetful)
		Restore(m, all[first], all[1-first:2-first])
		Restore(m, all[1-first], nil)
		want(t, m, map[Parameter]string{cluster: "3", HaltPoll: "0"})
	}
}

func TestParameterFiles(t *testing.T) {
	m := machineWith(t, map[string]string{"etc/passwd": "root", "sys/a": "1"})
	for _, p := range []Parameter{"/etc/passwd", "/sys/../etc/passwd", "/", "/sys/", "vm.nothing", "/sys/nothing"} {
		if _, err := p.Read(m); err == nil {
			t.Errorf("%s can be read", p)
		}
		if err := p.set(m, "2"); err == nil {
			t.Errorf("%s can be set", p)
		}
	}
	if err := Parameter("/sys/a").set(m, "2"); err != nil {
		t.Error(err)
	}
	want(t, m, map[Parameter]string{"/sys/a": "2"})
}

func TestMet(t *testing.T) {
	for _, test := range []struct {
		s   Setting
		now string
		met bool
	}{
		{pair[0], "5", true}, {pair[0], "6", false}, {pair[0], "", false},
		{pair[1], "200000", true}, {pair[1], "200001", true}, {pair[1], "0", false}, {pair[1], "-1", false},
		{Setting{Value: "cpu", AtLeast: true}, "cache", false},
	} {
		if test.s.met(test.now) != test.met {
			t.Errorf("%+v, %q: want %t", test.s, test.now, test.met)
		}
	}
}

// guest_halt_poll_ns is set only where it counts and the serving process cannot do better.
func TestSettingsOfMachine(t *testing.T) {
	const governor, device = "sys/devices/system/cpu/cpuidle/current_governor", "dev/cpu_dma_latency"
	for _, test := range []struct {
		files map[string]string
		poll  bool
	}{
		{map[string]string{}, false},
		{map[string]string{string(HaltPoll): "0"}, true},
		{map[string]string{string(HaltPoll): "0", governor: "haltpoll"}, true},
		{map[string]string{string(HaltPoll): "0", governor: "menu"}, false},
		{map[string]string{string(HaltPoll): "0", device: ""}, false},
	} {
		var names []string
		for _, s := range Settings(machineWith(t, test.files)) {
			names = append(names, string(s.Parameter))
		}
		if slices.Contains(names, string(HaltPoll)) != test.poll || !slices.Contains(names, string(cluster)) {
			t.Errorf("%v: %v", test.files, names)
		}
	}
	for _, s := range all {
		if !strings.Contains(Help(), string(s.Parameter)+"="+s.Value) {
			t.Errorf("help %q: without %s", Help(), s.Parameter)
		}
	}
	if want := "and where /dev/cpu_dma_latency cannot be used also " + string(HaltPoll) + "=200000"; !strings.Contains(Help(), want) {
		t.Errorf("help %q, want %q", Help(), want)
	}
}
