// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
)

func TestDoctorInstructions(t *testing.T) {
	m := machineOf(t, wellMachine())
	m.instructions = func() daemon.InstructionStatus {
		return daemon.InstructionStatus{
			Detected: []string{"avx512", "avx2", "generic"}, Usable: []string{"generic"},
			Codecs: []daemon.ImplementationStatus{{Name: "lz4", Set: "generic"}, {Name: "page", Set: "generic"}},
		}
	}
	f := findingNamed(t, checkMachine(m), "instruction-sets")
	const want = "warn  instruction-sets: the codecs may use generic; ZRAMFS_DISABLE switches off avx512, avx2; fix: unset ZRAMFS_DISABLE"
	if f.String() != want {
		t.Errorf("%s, want %s", f, want)
	}
	if f := findingNamed(t, checkMachine(m), "codecs"); f.String() != "ok    codecs: lz4 by generic, page by generic" {
		t.Errorf("%s", f)
	}
}

// A device of an older program reports no instruction sets.
func TestStatusWithoutInstructions(t *testing.T) {
	d := wellDevice()
	d.Status.Instructions = daemon.InstructionStatus{}
	if text := printedStatus(t, []device{d}, false); strings.Contains(text, "  code ") {
		t.Errorf("%s", text)
	}
}

// An unknown word in ZRAMFS_DISABLE is a usage error of every command.
func TestEnvironmentIsChecked(t *testing.T) {
	for _, value := range []string{"avx3", "generic", "avx2,banana"} {
		t.Setenv("ZRAMFS_DISABLE", value)
		for _, args := range [][]string{{"list"}, {"status"}, {"doctor"}, {"bench", "codec"}, {"estimate", "--all"}, {"mount", "/nowhere"}, {"version"}} {
			got := runProgram(t, args...)
			if got.code != exitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "zramfs: ZRAMFS_DISABLE names ") {
				t.Errorf("ZRAMFS_DISABLE=%s %q: %+v", value, args, got)
			}
		}
	}
	t.Setenv("ZRAMFS_DISABLE", "avx512, neon")
	if got := runProgram(t, "version"); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}
