// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/nodepod"
	"github.com/zramfs/zramfs/internal/onhost"
	"github.com/zramfs/zramfs/internal/status"
)

// TestExitCodes runs commands that need no device and wants the documented code and an error of one
// line.
func TestExitCodes(t *testing.T) {
	const absent = "/nonexistent/zram"
	tests := []struct {
		args   []string
		code   int
		stderr string // part of it; empty for nothing at all
	}{
		{[]string{}, 0, ""},
		{[]string{"--help"}, 0, ""},
		{[]string{"--version"}, 0, ""},
		{[]string{"version"}, 0, ""},
		{[]string{"help", "list"}, 0, ""},
		{[]string{"list", "--help"}, 0, ""},
		{[]string{"frobnicate"}, 2, `zramfs: unknown command "frobnicate"`},
		{[]string{"help", "frobnicate"}, 2, `zramfs: unknown command "frobnicate"`},
		{[]string{"--frobnicate"}, 2, "zramfs: unknown flag --frobnicate"},
		{[]string{"list", "--frobnicate"}, 2, "zramfs: list: unknown flag --frobnicate; see zramfs list --help"},
		{[]string{"list", absent, "-x"}, 2, "zramfs: list: unknown flag -x"},
		{[]string{"list", "-o"}, 2, "zramfs: list: flag -o needs a value"},
		{[]string{"list", "--bytes=perhaps"}, 2, `--bytes "perhaps": neither true nor false`},
		{[]string{"list", "-J", "--raw"}, 2, "zramfs: list: mutually exclusive arguments: --json --raw"},
		{[]string{"list", "-o", "NAME", "--output-all"}, 2, "mutually exclusive"},
		{[]string{"list", "-o", "FOO"}, 1, "zramfs: unknown column: FOO"},
		{[]string{"list", "-o", "NAME,FOO"}, 1, "zramfs: unknown column: FOO"},
		{[]string{"list", "-o", ""}, 1, "zramfs: empty column name"},
		{[]string{"list", absent}, 1, "zramfs: no zramfs device at " + absent},
		{[]string{"status", absent}, 3, ""},
		{[]string{"status", absent, "-J"}, 3, ""},
		{[]string{"status", "a", "b"}, 2, "zramfs: status: one DIR at most"},
		{[]string{"doctor", "now"}, 2, "zramfs: doctor: takes no arguments"},
		{[]string{"version", "now"}, 2, "zramfs: version: takes no arguments"},
		{[]string{"node"}, 2, "zramfs: node: name what to do: run, leave, zramfs, serve, limited-swap"},
		{[]string{"node", "frobnicate"}, 2, "zramfs: node: name what to do"},
		{[]string{"node", "--dir", "/run/zram", "run"}, 2, "zramfs: node: unknown flag --dir"},
		{[]string{"node", "--help"}, 0, ""},
		{[]string{"node", "run", "--help"}, 0, ""},
		{[]string{"node", "run", "--frobnicate"}, 2, "not defined: -frobnicate"},
		{[]string{"node", "run", "--", "/run/zram"}, 2, `flags of zramfs up, and "/run/zram" is none`},
		{[]string{"node", "leave", "now"}, 2, "leave takes no arguments"},
		{[]string{"node", "serve", "--token-file", absent}, 1, absent},
		{[]string{"node", "limited-swap", "--node", "n", "--interval", "1ms"}, 2, "--interval 1ms is below 1s"},
		{[]string{"config", "show"}, 0, ""},
		{[]string{"metrics", "-J"}, 0, ""},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := runProgram(t, test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d (stderr %q)", got.code, test.code, got.stderr)
			}
			if test.stderr == "" && got.stderr != "" || !strings.Contains(got.stderr, test.stderr) {
				t.Errorf("stderr %q, want %q in it", got.stderr, test.stderr)
			}
			if lines := strings.Count(got.stderr, "\n"); test.stderr != "" && lines != 1 {
				t.Errorf("stderr has %d lines, want 1: %q", lines, got.stderr)
			}
			if test.code == 0 && got.stdout == "" {
				t.Error("nothing on standard output")
			}
		})
	}
}

// TestFullDisk wants a failure if the output cannot be written: a script would take it for an empty
// list.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"doctor"}, {"list", "-J"}, {"status", "-J"}, {"--help"},
		{"config", "show"}, {"list"}, {"status"}, {"doctor", "-J"}, {"version", "-J"}} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		var stderr strings.Builder
		cmd.Stdout, cmd.Stderr = full, &stderr
		err := cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != exitFailure || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%v: exit code %d, stderr %q; want %d and the reason", args, code, stderr.String(), exitFailure)
		}
	}
}

func TestDescribe(t *testing.T) {
	cause := errors.New("cause")
	tests := []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{cause, 1, "cause"},
		{usageError("size %q: %w", "x", cause), 2, `size "x": cause`},
		{fmt.Errorf("mount: %w", usageError("no")), 2, "mount: no"},
		{partly(0, usageError("no")), 2, "no"},
		{partly(1, usageError("no")), 1, "no"}, // not "nothing was done"
		{partly(1, nil), 0, ""},
		{exitWith(3), 3, ""},
		{exitWith(0), 0, ""},
		{errors.Join(cause, errors.New("second")), 1, "cause; second"},
		{nodeError(fmt.Errorf("up: %w", &nodepod.Failed{Command: "up", Code: 4})), 4, "up: zramfs up ended with exit code 4"},
		{nodeError(fmt.Errorf("run: %w", onhost.ErrNoProgram)), 127, "run: the program is not on the node"},
		{nodeError(fmt.Errorf("run: %w", onhost.ErrNoHostPID)), 1, "run: " + onhost.ErrNoHostPID.Error()},
		{fmt.Errorf("mount: %w", &status.StartError{Code: 7, Message: "no\nroom"}), 7, "mount: no; room"},
	}
	for _, test := range tests {
		if code, text := describe(test.err); code != test.code || text != test.text {
			t.Errorf("describe(%v) = %d, %q; want %d, %q", test.err, code, text, test.code, test.text)
		}
	}
	if !errors.Is(usageError("x: %w", cause), cause) {
		t.Error("usageError hides its cause")
	}
}
