// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// mainVariable makes the test binary run main.
const mainVariable = "ZRAMFS_GPUCHECK_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const script = "../../gpu/check.sh"

// theScript is its path. It is opened, or go test would take the result of another one from its
// cache: bash is what reads it.
func theScript(t *testing.T) string {
	t.Helper()
	require.Command(t, "bash")
	if _, err := os.ReadFile(script); err != nil {
		t.Fatal(err)
	}
	return script
}

// checkScript runs gpu/check.sh on a simulated device, with a shell script that wraps this binary
// as its program, and with stand-ins for NVIDIA's programs. It returns the findings and whether the
// script succeeded.
func checkScript(t *testing.T, program string, others map[string]string) (all []finding, well bool) {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	others["gpucheck"] = program + "\nexec " + self + ` -bulk-pages 40 "$@"` // TestEveryStep does the work in full
	for name, text := range others {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("bash", theScript(t), "-simulated")
	command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "OUT="+out, "GPUCHECK_BIN="+filepath.Join(dir, "gpucheck"), mainVariable+"=1")
	printed, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v:\n%s", err, printed)
	}
	text, readErr := os.ReadFile(filepath.Join(out, "check.json"))
	if readErr != nil {
		t.Fatalf("%v:\n%s", readErr, printed)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all, err == nil
}

// said returns a step's findings about a subject.
func said(all []finding, step, what string) string {
	for _, f := range all {
		if f.Step == step && strings.Contains(f.What, what) {
			return f.Text + f.Error
		}
	}
	return ""
}

func TestScriptIsWellFormed(t *testing.T) {
	if out, err := exec.Command("bash", "-n", theScript(t)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The script runs all steps, asks NVIDIA's programs, and puts all findings into its document.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	all, well := checkScript(t, "", map[string]string{
		"nvidia-smi": `case $* in *=compute_cap*) echo 9.0 ;; *name,driver*) echo "A, a \"fast\" one, 9.0" ;; *) echo none ;; esac`,
		"ptxas": `[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13"; exit; }; [ "$1" = -arch=sm_90 ] && echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers"`,
		"compute-sanitizer": `echo "========= ERROR SUMMARY: 0 errors"`,
	})
	for _, s := range steps() {
		if got := said(all, s.name, "the step"); got != "done" {
			t.Errorf("%s: %q", s.name, got)
		}
	}
	for what, want := range map[string]string{
		"driver_version": `a "fast" one`, "version": "13.0, sm_90", "lz4_compress.ptx": "at most 40 registers, 0 bytes spilled", "addresses.ptx": "0 warnings", "racecheck": "0 errors",
	} {
		if !slices.ContainsFunc(all, func(f finding) bool { return strings.Contains(f.What, what) && strings.Contains(f.Text, want) }) {
			t.Errorf("nothing says %q of %s", want, what)
		}
	}
	if !well {
		t.Error("it did not end well")
	}
}

// A step that hangs or dies, an assembler error and a sanitizer error are failures, and none of
// them stops the other steps.
func TestScriptGoesOn(t *testing.T) {
	all, well := checkScript(t, `case $* in
-list) echo "hang 1 s"; echo "die 9 s"; echo "crash 9 s"; echo "addresses 40 s"; exit ;;
*hang*) sleep 20; exit ;;
*die*) kill -9 $$ ;;
*crash*) echo "panic: at the disco" >&2; exit 2 ;;
esac`, map[string]string{
		"ptxas": `case $* in *page_verify*) echo 'error: "no" way'; exit 1 ;; esac`,
		"compute-sanitizer": `case $2 in
racecheck) echo "Device not supported"; exit 1 ;;
synccheck) echo "========= RACECHECK SUMMARY: 10 hazards displayed (0 errors, 10 warnings)" ;;
*) echo "========= ERROR SUMMARY: 3 errors"; exit 99 ;;
esac`,
	})
	for step, want := range map[string]string{"hang": "ended after its 1 s", "die": "killed", "crash": "exit status 2: panic: at the disco", "addresses": "done", "small": "done"} {
		if got := said(all, step, "the step"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	for what, want := range map[string]string{"page_verify": `FAILEDerror: "no" way`, "lz4_verify": "registers"} {
		if got := said(all, "ptxas", what); !strings.Contains(got, want) {
			t.Errorf("ptxas %s: %q, want %q", what, got, want)
		}
	}
	for what, want := range map[string]string{"memcheck": "FAILED", "racecheck": "did not run here, status 1: Device not supported", "synccheck": "FAILED"} {
		if got := said(all, "sanitizer", what); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if well {
		t.Error("it ended well")
	}
}
