// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/doctor"
	"github.com/zramfs/zramfs/internal/status"
)

// TestDoctorHere runs the checks on this machine: none may be at a loss, and the exit code must
// follow the lines.
func TestDoctorHere(t *testing.T) {
	got := runProgram(t, "doctor")
	want := exitOK
	checked, _, _ := strings.Cut(got.stdout, "Result: ")
	for line := range strings.Lines(checked) {
		state, rest, _ := strings.Cut(line, " ")
		switch status.State(state) {
		case status.Fail:
			want = exitFailure
		case status.OK, status.Warn:
		default:
			t.Errorf("not a line of doctor: %q", line)
		}
		if strings.Contains(rest, "cannot tell") && os.Geteuid() == 0 {
			t.Errorf("root is told: %s", line)
		}
	}
	if got.code != want || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q; want %d and nothing", got.code, got.stderr, want)
	}
	asJSON := runProgram(t, "doctor", "-J")
	var checks struct{ Checks []doctor.Finding }
	if err := json.Unmarshal([]byte(asJSON.stdout), &checks); err != nil {
		t.Fatal(err)
	}
	if asJSON.code != want || len(checks.Checks) != strings.Count(checked, "\n") {
		t.Errorf("JSON: exit code %d, %d checks; want %d, %d", asJSON.code, len(checks.Checks), want, strings.Count(checked, "\n"))
	}
}
