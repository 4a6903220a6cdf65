// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// parseMount parses a command line of mount without mounting.
func parseMount(t *testing.T, args []string) (cfg zramfsd.Config, err error) {
	t.Helper()
	app := newApp(io.Discard, io.Discard)
	app.Command("mount").Action = func(c *cli.Context) error {
		var err error
		cfg, err = deviceConfig(c)
		return err
	}
	err = runApp(app, append([]string{"zramfs"}, args...))
	return cfg, err
}

// TestF077 wants every impossible size refused with a line and the exit code of usage, before a
// directory is made.
func TestF077MountRefusesSizes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "zram")
	for _, args := range [][]string{
		{"--size", "0"}, {"--size", "17T"}, {"--size", "-1"}, {"--size", "101K%"}, {"--size", "big"},
		{"--mem-limit", "-1"}, {"--mem-limit", "x"},
	} {
		for _, command := range []string{"mount", "up"} {
			wantRefusal(t, dir, exitUsage, append([]string{command, dir}, args...), args[1])
		}
	}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if memory.Kind() == store.MemoryHeap {
		return // under the race detector no worker can take over what the keeper has made
	}
	// Only the store knows that this is too little.
	wantRefusal(t, dir, exitUsage, []string{"mount", dir, "-s", "64M", "-m", "64K"}, "memory limit")
}

// TestMountRefuses does the same for every other error that needs no mount.
func TestMountRefuses(t *testing.T) {
	base := t.TempDir()
	full := filepath.Join(base, "full")
	if err := os.MkdirAll(filepath.Join(full, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "zram")
	wantRefusal(t, dir, exitUsage, []string{"mount", dir, "-a", "lzo"}, `unknown algorithm "lzo"`)
	wantRefusal(t, dir, exitUsage, []string{"mount"}, "name one DIR")
	wantRefusal(t, dir, exitUsage, []string{"mount", dir, dir}, "name one DIR")
	wantRefusal(t, dir, exitUsage, []string{"up", dir, dir}, "one DIR at most")
	wantRefusal(t, dir, exitUsage, []string{"up", dir, "-p", "40000"}, "priority 40000")
	wantRefusal(t, dir, exitUsage, []string{"up", dir, "-p", "-1"}, "priority -1")
	wantRefusal(t, dir, exitUsage, []string{"up", dir, "-d", "never"}, `"never"`)
	wantRefusal(t, dir, exitUsage, []string{"umount"}, "name one DIR")
	wantRefusal(t, dir, exitFailure, []string{"umount", dir}, "no zramfs device at ")
	wantRefusal(t, dir, exitFailure, []string{"mount", full}, "not empty")
	wantRefusal(t, dir, exitFailure, []string{"mount", file}, "not a directory")
	wantRefusal(t, dir, exitFailure, []string{"mount", filepath.Join(dir, "deep")}, "its parent must exist")
}

// TestOthersRefuse does so for commands that need a device: wrong calls, and calls where there is
// none.
func TestOthersRefuse(t *testing.T) {
	base := t.TempDir()
	file, dir := filepath.Join(base, "file"), filepath.Join(base, "zram")
	if err := os.WriteFile(file, make([]byte, pageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	const none = "no zramfs device at "
	for _, c := range []struct {
		args string
		code int
		word string
	}{
		{"import  DIR", exitUsage, "name a FILE and a DIR"}, {"import FILE ", exitUsage, "name a FILE and a DIR"},
		{"import FILE DIR", exitFailure, none}, {"export  F", exitUsage, "name a DIR and a FILE"}, {"export DIR ", exitUsage, "name a DIR and a FILE"},
		{"export DIR F", exitFailure, none}, {"verify DIR", exitFailure, none}, {"serve x", exitUsage, "takes no arguments"},
		{"exec DIR", exitUsage, "name the command after --"}, {"exec DIR -- true", exitFailure, none},
		{"status -q DIR", exitUnknown, none}, {"recompress --type x DIR", exitUsage, "recompress: "}, {"recompress --threshold x DIR", exitUsage, "--threshold"},
		{"recompress --threshold 100 DIR", exitFailure, none}, {"snapshot save DIR F", exitFailure, none}, {"snapshot restore FILE DIR", exitFailure, none},
		{"events --since x DIR", exitUsage, "--since"}, {"events --since 1m DIR", exitFailure, none}, {"trace DIR", exitFailure, none},
		{"trace -n -1 DIR", exitUsage, "--lines -1"}, {"trace --perfetto= DIR", exitUsage, "name of a file"},
		{"trace --perfetto F -f DIR", exitUsage, "neither --follow"}, {"trace --perfetto F -J DIR", exitUsage, "nor --json"},
		{"config", exitUsage, "say what to do"}, {"config x", exitUsage, "say what to do"}, {"config show x", exitUsage, "say what to do"},
		{"config show --config-root=", exitUsage, "--config-root is empty"},
		{"mount --latency x DIR", exitUsage, `latency "x"`},
		{"mount --cold x DIR", exitUsage, "--cold"}, {"mount --scrub x DIR", exitUsage, "--scrub"},
		{"mount --spill-daily x DIR", exitUsage, `--spill-daily "x"`}, {"mount --on-full x DIR", exitUsage, `--on-full: "x"`},
		{"down --all DIR", exitUsage, "exclude each other"}, {"down --all -J", exitUsage, "exclude each other"}, {"down DIR DIR", exitUsage, "one DIR at most"},
		{"upgrade --all DIR", exitUsage, "exclude each other"}, {"upgrade --all -J", exitUsage, "exclude each other"},
		{"metrics x", exitUsage, "takes no arguments"}, {"top --interval x", exitUsage, "--interval"},
		{"set  disksize=1G", exitUsage, "DIR is empty"},
		{"status -q -J", exitUsage, "exclude each other"}, {"estimate --pid=", exitUsage, "--pid"}, {"up --devices 100 DIR", exitUsage, "devices 100"},
		{"upgrade DIR", exitFailure, none},
		{"doctor x", exitUsage, "takes no arguments"}, {"version x", exitUsage, "takes no arguments"},
		{"mount --foreground -s x DIR", exitUsage, "size \"x\""},
		{"mount --foreground -v DIR", exitUsage, "exclude each other"}, {"mount -v -q DIR", exitUsage, "mutually exclusive"}, {"down -v -q DIR", exitUsage, "mutually exclusive"},
		{"up --slots x DIR", exitUsage, "slots"}, {"up --devices 30 -s 512K DIR", exitUsage, "for the first of them"}, {"up --config-root= DIR", exitUsage, "--config-root is empty"},
		{"up --all --config-root=", exitUsage, "--config-root is empty"}, {"top -d 0.01", exitUsage, "--interval"}, {"top -n 1", exitUsage, "go with --batch"}, {"top -b -n 0", exitUsage, "1 at least"}, {"top -b --once", exitUsage, "exclude"}, {"top -b DIR", exitNotRunning, none}, {"top DIR", exitNotRunning, none},
		{"verify --gpu x DIR", exitUsage, "--gpu"}, {"snapshot inspect DIR", exitFailure, "no such file"},
		{"set DIR level=x", exitUsage, "level"}, {"idle --age 999ms DIR", exitUsage, "a second or more"}, {"idle --age 1s DIR", exitFailure, none},
		{"estimate -f FILE --sample x", exitUsage, "sample"}, {"umount DIR", exitFailure, none},
	} {
		args := strings.Split(strings.NewReplacer("DIR", dir, "FILE", file).Replace(c.args), " ")
		wantRefusal(t, dir, c.code, args, c.word)
	}
}

// wantRefusal runs the program and wants an exit code, one line of error with a word in it, and no
// directory dir.
func wantRefusal(t *testing.T, dir string, code int, args []string, word string) {
	t.Helper()
	got := runProgram(t, args...)
	lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
	if got.code != code || len(lines) != 1 || !strings.Contains(lines[0], word) {
		t.Errorf("%v: exit code %d, stderr %q; want %d and %q", args, got.code, got.stderr, code, word)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%v left %s: %v", args, dir, err)
	}
}

// TestDownNothing wants down to be idempotent from the start, unless another device runs.
func TestDownNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "zram")
	got := runProgram(t, "down", dir)
	alone := got.code == exitOK && got.stdout == "no zramfs device at "+dir+"\n" && got.stderr == ""
	others := got.code == exitFailure && strings.HasPrefix(got.stderr, "zramfs: no zramfs device at "+dir+"; there are: ") && got.stdout == ""
	if !alone && !others {
		t.Errorf("%+v", got)
	}
}

// The path of the device is printed byte for byte, also where it is no text in UTF-8.
func TestMountPrintsThePath(t *testing.T) {
	needServing(t)
	t.Setenv(asProgram, "1")
	dir := filepath.Join(t.TempDir(), "caf\xe9")
	if got, want := succeeds(t, "mount --size 16M "+dir), filepath.Join(dir, "dev/zram0")+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	succeeds(t, "umount "+dir)
}
