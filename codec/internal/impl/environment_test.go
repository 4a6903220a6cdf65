// SPDX-License-Identifier: Apache-2.0

package impl

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// childVariable makes TestChild speak.
const childVariable = "ZRAMFS_TEST_IMPL_CHILD"

// TestChild is what the tests below start the test binary for; by itself it does nothing.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	fmt.Printf("usable=%v detected=%v best=%s error=%v\n", Usable(), Detected(), Table[int]{{AVX512, 0}, {AVX2, 0}, {NEON, 0}, {Generic, 0}}.Best().Set,
		CheckEnvironment())
}

// child returns what a process sees for which ZRAMFS_DISABLE is disable.
func child(t *testing.T, disable string) string {
	t.Helper()
	line := append(strings.Fields(os.Getenv(emulatorVariable)), os.Args[0], "-test.run=^TestChild$")
	command := exec.Command(line[0], line[1:]...)
	command.Env = append(os.Environ(), childVariable+"=1", disableVariable+"="+disable)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// want returns what child says if of the detected sets those in off are switched off.
func want(off ...Set) string {
	left := slices.DeleteFunc(Detected(), func(set Set) bool { return slices.Contains(off, set) })
	return fmt.Sprintf("usable=%v detected=%v best=%s ", left, Detected(), left[0])
}

// F026, F086: what the environment switches off is not used, and the next best is.
func TestF026SwitchedOffByTheEnvironment(t *testing.T) {
	for disable, off := range map[string][]Set{
		"":                 {},
		"avx512":           {AVX512},
		"avx2":             {AVX512, AVX2},
		"avx512,avx2":      {AVX512, AVX2},
		"avx512,avx2,neon": {AVX512, AVX2, NEON},
	} {
		if out := child(t, disable); !strings.Contains(out, want(off...)+"error=<nil>") {
			t.Errorf("ZRAMFS_DISABLE=%s: the child says\n%swant\n%s", disable, out, want(off...))
		}
	}
}

func TestMisspeltEnvironmentIsAnErrorThatHelps(t *testing.T) {
	out := child(t, "avx512,sse4,generic")
	for _, text := range []string{want(AVX512), disableVariable, `"sse4,generic"`, "use avx512, avx2, neon"} {
		if !strings.Contains(out, text) {
			t.Errorf("the child does not say %s:\n%s", text, out)
		}
	}
}
