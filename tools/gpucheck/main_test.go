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

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// simulatedRig returns a rig with a simulated device whose findings go to out.
func simulatedRig(t *testing.T, s *driver.Simulator, out *bytes.Buffer) *rig {
	return &rig{ctx: t.Context(), sizes: small(), find: s.Driver, meter: noPower, out: out, simulated: true}
}

// Every step runs to its end on a simulated device, frees its memory there, and reports no wrong
// result.
func TestEveryStep(t *testing.T) {
	for _, s := range steps() {
		t.Run(s.name, func(t *testing.T) {
			device := driver.NewSimulator(driver.SimulatedDevice{})
			var out bytes.Buffer
			r := simulatedRig(t, device, &out)
			if err := r.play(s); err != nil {
				t.Fatal(err)
			}
			if leaks := device.Leaks(0); len(leaks) > 0 && s.name != "errors" {
				t.Errorf("leaks: %v", leaks)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			for _, line := range lines {
				var f finding
				if err := json.Unmarshal([]byte(line), &f); err != nil || f.Step != s.name || f.What == "" || f.Error != "" {
					t.Errorf("%s: %v", line, err)
				}
			}
			if len(lines) < 2 && s.name != "small" {
				t.Errorf("it tells nothing: %s", lines)
			}
		})
	}
}

// A failed call fails its step, with an error that names it.
func TestFailingCallsFailTheirSteps(t *testing.T) {
	for name, call := range map[string]string{"load": "cuModuleLoadDataEx", "addresses": "run kernel", "calls": "run copy", "link": "cuMemHostRegister", "kernels": "run kernel"} {
		device := driver.NewSimulator(driver.SimulatedDevice{})
		device.Fail(call, 1, driver.LaunchFailed)
		var out bytes.Buffer
		chosen, err := choose(name)
		if err != nil {
			t.Fatal(err)
		}
		err = simulatedRig(t, device, &out).play(chosen[0])
		if !errors.Is(err, driver.LaunchFailed) || !strings.Contains(out.String(), "FAILED") {
			t.Errorf("%s with %s failing: %v\n%s", name, call, err, out.String())
		}
	}
}

// Wrong results are found: a page, a hash, an object and a status.
func TestWrongResultsAreFound(t *testing.T) {
	var out bytes.Buffer
	r := simulatedRig(t, driver.NewSimulator(driver.SimulatedDevice{}), &out)
	err := r.onDevice(func(d *device) error {
		all, err := programs()
		if err != nil {
			return err
		}
		c := &kernelCheck{rig: r, device: d, programs: all}
		for name, spoil := range map[string]func(b *bulk.Batch){
			"a page":    func(b *bulk.Batch) { b.Pages[5*pageSize+77] ^= 1 },
			"an object": func(b *bulk.Batch) { b.Length[3]-- },
			"a byte":    func(b *bulk.Batch) { b.Arena[b.Offset[2]+1] ^= 1 },
		} {
			memory := bytes.Join(pages.Generate(pages.Text, 8, 1), nil)
			b, err := r.cpuObjects("lz4", memory)
			if err != nil {
				return err
			}
			spoil(b)
			if err := c.reading("lz4", b); !errors.Is(err, errWrong) {
				t.Errorf("%s is wrong: %v", name, err)
			}
			if err := c.release(); err != nil {
				return err
			}
		}
		memory := bytes.Join(pages.Generate(pages.Text, 2, 1), nil)
		got, err := c.compressed(memory)
		if err != nil {
			return err
		}
		page, result := memory[:pageSize], kernels.ReadResult(got.results)
		check := &objectCheck{cpu: new(lz4.Encoder)}
		if err := check.object(result, page, got.arena); err != nil {
			t.Error(err)
		}
		for name, wrong := range map[string]kernels.Result{
			"page":   {Hash: result.Hash + 1, Word: result.Word, Offset: result.Offset, Length: result.Length},
			"object": {Hash: result.Hash, Word: result.Word + 1, Offset: result.Offset, Length: result.Length},
			"raw":    {Kind: kernels.KindRaw},
			"same":   {Word: result.Word, Kind: kernels.KindSame},
			"space":  {Kind: kernels.KindNoSpace},
			"behind": {Hash: result.Hash, Word: result.Word, Offset: uint64(len(got.arena)), Length: 1},
			"length": {Hash: result.Hash, Word: result.Word, Offset: result.Offset, Length: result.Length - 1},
		} {
			if err := check.object(wrong, page, got.arena); !errors.Is(err, errWrong) {
				t.Errorf("%s: %v", name, err)
			}
		}
		return c.release()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The findings of a file, complete or cut off, become a table and a document; a failure among them
// is an error.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	file, document := filepath.Join(dir, "findings.jsonl"), filepath.Join(dir, "findings.json")
	good := `{"step":"link","what":"copy","value":51.25,"unit":"GB/s"}
{"step":"bulk","criterion":"G.115","what":"GPU alone","value":12,"unit":"GB/s","want":"at least 14.4","met":false}
{"step":"calls","criterion":"H3","what":"there and back","value":0,"text":"the same","met":true}
`
	for _, test := range []struct {
		content string
		failed  bool
		want    []string
	}{
		{good, false, []string{"51.25 GB/s", "at least 14.4: NOT REACHED", "the same", "ok"}},
		{good + `{"step":"errors","what":"the step","value":1,"text":"FAILED","error":"gone"}` + "\n", true, []string{"FAILED: gone"}},
		{good + `{"step":"err`, true, []string{"half a line"}},
	} {
		if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := run(t.Context(), options{table: file, json: document}, &out)
		if errors.Is(err, errFailed) != test.failed || err != nil && !test.failed {
			t.Errorf("%q: %v", test.content, err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		var all []finding
		if err := json.Unmarshal(text, &all); err != nil || len(all) != strings.Count(strings.TrimSpace(test.content), "\n")+1 {
			t.Errorf("%d findings, %v", len(all), err)
		}
	}
}

// Pages come from a file without its same-filled ones, or are generated; none is same-filled, and
// generated ones are all different.
func TestSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pages.zpg")
	sample := bytes.Join(append(pages.Generate(pages.Text, 5, 1), make([]byte, pageSize)), nil)
	if err := pagefile.Save(file, []pagefile.Program{{Name: "a", Pages: sample}}); err != nil {
		t.Fatal(err)
	}
	for name, distinct := range map[string]int{"": 200, file: 5} {
		s, err := newSource(name)
		if err != nil {
			t.Fatal(err)
		}
		got, seen := make([]byte, 200*pageSize), map[string]bool{}
		s.fill(got, 3)
		for at := 0; at < len(got); at += pageSize {
			if page := got[at : at+pageSize]; sameFilled(page) {
				t.Errorf("%s: page %d is of one word", s.name(), at/pageSize)
			} else {
				seen[string(page)] = true
			}
		}
		if len(seen) != distinct {
			t.Errorf("%s: %d different pages, want %d", s.name(), len(seen), distinct)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-steps", "none"}, {"more"}, {"-kernel-pages", "-1"}, {"-nothing"}} {
		if _, err := parse(args); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
	o, err := parse([]string{"-steps", "link,load"})
	if err != nil || len(o.steps) != 2 || o.steps[0].name != "link" {
		t.Errorf("%+v, %v", o, err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), options{list: true}, &out); err != nil || strings.Count(out.String(), "\n") != len(steps()) {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// Without libcuda, or without the tag, every step fails and says so.
func TestWithoutADevice(t *testing.T) {
	if _, err := driver.CUDA(); err == nil {
		t.Skip("there is a device")
	}
	var out bytes.Buffer
	o, err := parse([]string{"-steps", "load"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o, &out); err == nil || !strings.Contains(out.String(), "FAILED") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
