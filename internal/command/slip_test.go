// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/swapdev"
)

// A word without a slash that is neither a directory nor a section is a wrong call of every command
// that takes a DIR, which says what was meant. Calls that could begin something contradict
// themselves, so that they begin nothing in any case.
func TestSlipIsNoDevice(t *testing.T) {
	cwd := t.TempDir()
	if err := os.WriteFile(filepath.Join(cwd, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	conf := " --config-root " + writeConfig(t, "[zram0]\nzram-size = 64\n[zram1]\nzram-size = 0\n")
	const neither = "is neither a directory nor a section"
	for line, want := range map[string]string{
		"up 4G -v -q":                     `up: "4G" ` + neither + "; did you mean --size 4G? For a directory of that name write ./4G",
		"up 2.5g -v -q":                   "did you mean --size 2.5g?",
		"up help -v -q":                   "did you mean --help?",
		"up force -v -q":                  "did you mean --force?",
		"up mem-limit=2G -v -q":           "did you mean --mem-limit=2G?",
		"up priority -v -q":               "did you mean --priority VALUE?",
		"up zramo -v -q":                  "did you mean zram0?",
		"up /run/zram 4G -v -q":           "up: one DIR at most; did you mean --size 4G?",
		"up typo -v -q":                   `"typo" ` + neither + ". For",
		"up zram7 -v -q" + conf:           `"zram7" ` + neither,
		"up --section typo -v -q" + conf:  `up: there is no section "typo"; there are zram0, zram1`,
		"up --section zram7 -v -q" + conf: `there is no section "zram7"`,
		"down --section zram77":           `there is no section "zram77"`,
		"upgrade --section typo":          `there is no section "typo"`,
		"mount 4G -v -q":                  "did you mean --size 4G?",
		"set typo":                        neither,
		"set mem-limit":                   "did you mean mem-limit=VALUE?",
		"idle all":                        "leave it out for all pages",
		"idle 3600":                       "did you mean --age 3600s?",
		"down all":                        "did you mean --all?",
		"down typo":                       neither,
		"umount typo":                     neither,
		"compact typo":                    neither,
		"recompress typo":                 neither,
		"upgrade typo":                    neither,
		"list typo":                       neither,
		"status typo":                     neither,
		"status -q typo":                  neither,
		"status all 4G":                   "one DIR at most",
		"top --once typo":                 neither,
		"top -b typo":                     neither,
		"trace typo":                      neither,
		"events typo":                     neither,
		"exec typo -- true":               neither,
		"verify typo":                     neither,
		"export typo file":                neither,
		"import file typo":                neither,
		"snapshot save typo out":          neither,
		"snapshot restore file typo":      neither,
	} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", strings.Fields(line)...)
		cmd.Env, cmd.Dir = append(os.Environ(), asProgram+"=1"), cwd
		if got := runCommand(t, cmd); got.code != exitUsage || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%s: %+v, want %s", line, got, want)
		}
	}
	// The name of a section is that of its directory, also where a file has the name; a file that
	// exists names itself.
	for line, want := range map[string]string{
		"up zram1 -v -q" + conf: "/run/zram1 is not configured for this machine",
		"status file":           "no zramfs device at file",
	} {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", strings.Fields(line)...)
		cmd.Env, cmd.Dir = append(os.Environ(), asProgram+"=1"), cwd
		if got := runCommand(t, cmd); !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: %+v, want %s", line, got, want)
		}
	}
}

// down of a DIR without a device fails where others run; a section is none, for services that stop.
func TestDownOfNoDeviceFails(t *testing.T) {
	dir := served(t)
	got := runProgram(t, "down", filepath.Join(t.TempDir(), "none"))
	if got.code != exitFailure || !strings.Contains(got.stderr, "none; there are: ") || !strings.Contains(got.stderr, dir) || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if got := runProgram(t, "down", "--force", filepath.Join(t.TempDir(), "none")); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	c, err := upContext(newApp(io.Discard, io.Discard)) // it has the flags of down that matter
	if err != nil {
		t.Fatal(err)
	}
	if err := downGone(c, filepath.Join(t.TempDir(), "none"), "zram9", swapdev.ErrNotRunning); err != nil {
		t.Error(err)
	}
}
