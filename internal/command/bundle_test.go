// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/bundle"
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

// A command that cannot say what it has written leaves no file, as the exit code says.
func TestBundleIntoAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	c := cli.NewContext(&cli.App{Writer: full}, nil, nil)
	if err := writeBundle(context.Background(), c, file, bundle.Bundle{}); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}
