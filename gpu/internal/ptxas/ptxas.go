// SPDX-License-Identifier: Apache-2.0

// Package ptxas gives tests NVIDIA's assembler: it says whether a device's own translator takes a
// text, and what the result needs.
//
// The program is not ours to pass on, so it is taken from where [require.Ptxas] finds it. It needs
// no GPU. Each call starts a process of its own in a directory of its own, so any number of tests
// may run it.
package ptxas

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// Targets are the devices' architectures that kernels are assembled for: from the oldest that we
// support to the newest that every ptxas since 11.8 knows.
var Targets = []string{"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"}

// A Usage is what one kernel needs of the machine.
type Usage struct {
	Registers   int // of 32 bits, a thread
	StackBytes  int // a thread
	SpillStores int // bytes
	SpillLoads  int // bytes
	SharedBytes int // a block
}

// Assemble translates a text for one target, with warnings as errors, and returns what each kernel
// in it needs, by name. It skips the test where there is no ptxas, and fails it if the text is
// refused.
func Assemble(tb testing.TB, text, target string) map[string]Usage {
	tb.Helper()
	usage, err := Try(tb, text, target)
	if err != nil {
		tb.Fatalf("%v\n%s", err, numbered(text))
	}
	return usage
}

// Try is Assemble that returns ptxas' complaint.
func Try(tb testing.TB, text, target string) (map[string]Usage, error) {
	tb.Helper()
	program, dir := require.Ptxas(tb), tb.TempDir()
	source := filepath.Join(dir, "kernels.ptx")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return nil, err
	}
	out, err := exec.Command(program, "-arch="+target, "-v", "-Werror", "-o", filepath.Join(dir, "kernels.cubin"), source).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ptxas for %s: %w: %s", target, err, out)
	}
	return parse(string(out)), nil
}

var (
	entry     = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	stack     = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	registers = regexp.MustCompile(`Used (\d+) registers`)
	shared    = regexp.MustCompile(`(\d+) bytes smem`)
)

// parse reads what ptxas -v tells.
func parse(out string) map[string]Usage {
	all, name := map[string]Usage{}, ""
	for line := range strings.Lines(out) {
		if m := entry.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		u := all[name]
		if m := stack.FindStringSubmatch(line); m != nil {
			u.StackBytes, u.SpillStores, u.SpillLoads = number(m[1]), number(m[2]), number(m[3])
		}
		if m := registers.FindStringSubmatch(line); m != nil {
			u.Registers = number(m[1])
		}
		if m := shared.FindStringSubmatch(line); m != nil {
			u.SharedBytes = number(m[1])
		}
		if name != "" {
			all[name] = u
		}
	}
	return all
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// numbered puts line numbers before a text, because ptxas complains by line.
func numbered(text string) string {
	var all strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		fmt.Fprintf(&all, "%4d %s", n, line)
	}
	return all.String()
}
