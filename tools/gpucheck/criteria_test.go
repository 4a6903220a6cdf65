// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/internal/require"
)

// told runs a step and returns its findings.
func told(t *testing.T, r *rig, name string) (all []finding, err error) {
	t.Helper()
	var out bytes.Buffer
	r.out = &out
	chosen, err := choose(name)
	if err != nil {
		t.Fatal(err)
	}
	err = r.play(chosen[0])
	for line := range strings.Lines(out.String()) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, f)
	}
	return all, err
}

// find returns the finding about a subject.
func find(t *testing.T, all []finding, what string) finding {
	t.Helper()
	for _, f := range all {
		if strings.Contains(f.What, what) {
			return f
		}
	}
	t.Fatalf("nothing is told of %q: %+v", what, all)
	return finding{}
}

// H4, H11: the result follows from the times of the loop in C, and a loop that fails is an error.
func TestH4H11AreJudgedByTheLoopInC(t *testing.T) {
	for _, c := range []struct {
		loop      string
		h4, h11   bool // h4: it must be reached; a launch of a simulator's may be as short or not
		failed    bool
		undecided bool
	}{
		{loop: "echo 1e12 1e12", h4: true, h11: true},
		{loop: "echo 0.5 1", h4: false, h11: false},
		{loop: "echo 1e12 1", h4: true, h11: false},
		{loop: "echo no libcuda >&2; exit 2", failed: true},
		{loop: "echo well", failed: true},
		{undecided: true},
	} {
		r := simulatedRig(t, driver.NewSimulator(driver.SimulatedDevice{Link: 1 << 30}), nil)
		if c.loop != "" {
			r.loop = filepath.Join(t.TempDir(), "loop")
			if err := os.WriteFile(r.loop, []byte("#!/bin/sh\n[ $# = 7 ] || exit 3\n"+c.loop+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		all, err := told(t, r, "calls")
		if c.failed || err != nil {
			if !c.failed || err == nil {
				t.Errorf("%q: %v", c.loop, err)
			}
			continue
		}
		if c.undecided {
			if f := find(t, all, "the same in C"); f.Met != nil || f.Criterion != "H4 H11" {
				t.Errorf("without a loop: %+v", f)
			}
			continue
		}
		h4, h11 := find(t, all, "a launch, beyond"), find(t, all, "a round, beside")
		if h4.Met == nil || h11.Met == nil || c.h4 && !*h4.Met || *h11.Met != c.h11 || h4.Criterion != "H4" || h11.Criterion != "H11" {
			t.Errorf("%q: %+v and %+v", c.loop, h4, h11)
		}
		if *h4.Met != (h4.Value <= 2000) || *h11.Met != (h11.Value <= 1.05) {
			t.Errorf("%q: %+v and %+v are judged otherwise than they say", c.loop, h4, h11)
		}
	}
}

// F065: the energy for each GB is the mean power times the time, divided by the pages done in it.
// Without a meter there is no figure.
func TestF065EnergyIsMeasured(t *testing.T) {
	const moment, power = 30 * time.Millisecond, 250.0
	r := simulatedRig(t, driver.NewSimulator(driver.SimulatedDevice{}), nil)
	r.energy = moment
	r.meter = func(_ context.Context, _ string, d time.Duration) (float64, error) {
		time.Sleep(d)
		return power, nil
	}
	all, err := told(t, r, "energy")
	if err != nil {
		t.Fatal(err)
	}
	for _, kernel := range []string{"page_decompress", "lz4_compress"} {
		watts, joules := find(t, all, "power, "+kernel), find(t, all, "energy, "+kernel)
		if watts.Value != power || watts.Unit != "W" || joules.Unit != "J/GB" {
			t.Errorf("%+v and %+v", watts, joules)
		}
		// A simulated device's work in a second is far from zero and far from a real one's.
		if speed := watts.Value / joules.Value; speed < 1e-6 || speed > 0.1 {
			t.Errorf("%s takes %.4g J for each GB, so it does %.4g GB/s", kernel, joules.Value, speed)
		}
	}
	none := errors.New("no meter")
	r.meter = func(context.Context, string, time.Duration) (float64, error) { return 0, none }
	if _, err := told(t, r, "energy"); !errors.Is(err, none) {
		t.Errorf("without a meter: %v", err)
	}
}

// The power is that of the device at work, however nvidia-smi numbers it.
func TestPowerIsOfTheDevice(t *testing.T) {
	require.Command(t, "sh")
	dir := t.TempDir()
	text := "#!/bin/sh\necho \"$@\" >>" + filepath.Join(dir, "asked") + "\necho 100\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r := simulatedRig(t, driver.NewSimulator(driver.SimulatedDevice{}), nil)
	r.meter = nvidiaPower
	r.energy = time.Millisecond // too short for a figure
	if _, err := told(t, r, "energy"); err == nil {
		t.Error("it has a figure")
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || !strings.Contains(string(asked), "-i 0000:00:00.0\n") {
		t.Errorf("nvidia-smi is asked: %q, %v", asked, err)
	}
}
