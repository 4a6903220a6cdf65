// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// doctor --bundle writes a private file and lists it; a file that is there stays as it was.
func TestBundle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	got := runProgram(t, "doctor", "--bundle", file)
	if got.code != exitOK || !strings.Contains(got.stdout, "README.txt\n") || !strings.Contains(got.stdout, file+" written: ") {
		t.Errorf("%+v", got)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if again := runProgram(t, "doctor", "--bundle", file); again.code != exitFailure || !strings.Contains(again.stderr, "exists") {
		t.Errorf("%+v", again)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
	if piped := runProgram(t, "doctor", "--bundle", "-"); !strings.HasPrefix(piped.stdout, "\x1f\x8b") || !strings.Contains(piped.stderr, "README.txt\n") {
		t.Errorf("exit code %d, stderr %q", piped.code, piped.stderr)
	}
	if nowhere := runProgram(t, "doctor", "--bundle", filepath.Join(file, "x")); nowhere.code != exitFailure || strings.Count(nowhere.stderr, "\n") != 1 {
		t.Errorf("%+v", nowhere)
	}
}
