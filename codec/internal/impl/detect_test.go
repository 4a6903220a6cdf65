// SPDX-License-Identifier: Apache-2.0

package impl

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// needs lists the words of /proc/cpuinfo that make each set. The kernel leaves out what it does not
// save the registers of.
var needs = map[Set]string{
	AVX2: "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
	AVX512: "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave " +
		"avx512f avx512bw avx512cd avx512dq avx512vl avx512vbmi avx512_vbmi2",
	NEON: "asimd",
}

// stateless are those of them that have no registers of their own: a hypervisor may hide one from
// the kernel and show it to programs, which can use it all the same.
var stateless = strings.Fields("cx16 lahf_lm popcnt bmi1 bmi2 abm movbe")

// flags returns the features that the kernel sees in the first processor.
func flags(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skipf("nothing to compare with: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); key == "flags" || key == "Features" {
			return strings.Fields(value)
		}
	}
	t.Fatal("/proc/cpuinfo lists no features")
	return nil
}

// emulatorVariable holds the command that runs this test binary, if it is not run as it is: tests
// that start it again need it, and /proc/cpuinfo is then of another processor.
const emulatorVariable = "ZRAMFS_TEST_EMULATOR"

// F025: what is detected is what the kernel sees, but for instructions without registers.
func TestF025DetectionAgreesWithTheKernel(t *testing.T) {
	if len(detected()) == 0 && pure {
		t.Skip("built without assembly")
	}
	if emulator := os.Getenv(emulatorVariable); emulator != "" {
		t.Skipf("%s shows the processor below it", emulator)
	}
	have := flags(t)
	for set, words := range needs {
		if (set == NEON) != (runtime.GOARCH == "arm64") {
			if slices.Contains(Detected(), set) {
				t.Errorf("%s was detected on %s", set, runtime.GOARCH)
			}
			continue
		}
		missing := slices.DeleteFunc(strings.Fields(words), func(word string) bool { return slices.Contains(have, word) })
		detected := slices.Contains(Detected(), set)
		if detected && len(missing) > 0 {
			t.Logf("%s: the kernel lacks %v", set, missing)
			missing = slices.DeleteFunc(missing, func(word string) bool { return slices.Contains(stateless, word) })
		}
		if detected != (len(missing) == 0) {
			t.Errorf("%s: detected is %v, the kernel lacks %v", set, detected, missing)
		}
	}
}

func TestDetectedIsInOrder(t *testing.T) {
	got := Detected()
	if !slices.IsSortedFunc(got, func(a, b Set) int { return slices.Index(all, a) - slices.Index(all, b) }) {
		t.Errorf("the order is %v, not that of %v", got, all)
	}
	if got[len(got)-1] != Generic {
		t.Errorf("%v does not end in generic", got)
	}
}
