// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// serverScript mounts a fuse.zramfs without a server at $1, makes it hang or die by $2, and runs
// the program behind descriptor 3 on it. The mount ends with the namespace.
const serverScript = `
set -eu
dir=$1 how=$2
shift 2
exec 4<>/dev/fuse
mount -i -t fuse.zramfs -o fd=4,rootmode=40000,user_id=0,group_id=0 zram0 "$dir"
[ "$how" = hang ] || exec 4<&-
exec timeout -s KILL 25 /proc/self/fd/3 "$@"`

// TestBrokenServer runs commands against a server that hangs and one that has died. Every command
// must end and say what is wrong.
func TestBrokenServer(t *testing.T) {
	tests := []struct {
		how, args   string
		code        int
		stdout, err string
	}{
		{"hang", "status", 1, "degraded\n  zramfs has not answered for 1 s; fix: see ", ""},
		{"hang", "status -q DIR", 1, "zramfs has not answered for 1 s; fix: see ", ""},
		{"hang", "list", 1, "NAME ", "has not answered"},
		{"hang", "list -J", 1, `"answer": "timeout"`, "has not answered"},
		{"hang", "top -b -d 0.1 -n 1", 0, " timeout /tmp/zr-command-", ""},
		{"hang", "umount DIR", 1, "", "does not answer, so DIR cannot be unmounted"},
		{"hang", "down DIR", 1, "", "does not answer, so DIR cannot be unmounted"},
		{"hang", "compact DIR", 1, "", "has not answered"},
		{"hang", "set DIR algorithm=lz4", 1, "", "zramfs: set: DIR: zramfs has not answered"},
		{"hang", "idle DIR", 1, "", "zramfs: idle: DIR: zramfs has not answered"},
		{"hang", "recompress DIR", 1, "", "zramfs: recompress: DIR: zramfs has not answered"},
		{"hang", "exec DIR -- true", 1, "", "zramfs: exec: DIR: zramfs has not answered"},
		{"hang", "snapshot save DIR /dev/null", 1, "", "zramfs: snapshot of DIR: "},
		{"hang", "upgrade DIR", 1, "", "zramfs: upgrade DIR: the keeper of the device does not answer"},
		{"hang", "trace DIR", 1, "", "zramfs: trace DIR: the keeper of the device does not answer"},
		{"hang", "events DIR", 1, "", "zramfs: events DIR: the keeper of the device does not answer"},
		{"hang", "top DIR", 1, "", "standard output is no terminal"},
		{"hang", "status DIR/../other", 3, "no zramfs device at ", ""},
		{"die", "status", 1, swapdev.ErrDead.Error() + "; fix: zramfs down --force ", ""},
		{"die", "status DIR", 1, "degraded", ""},
		{"die", "list", 1, "/dev/zram0", swapdev.ErrDead.Error()},
		{"die", "verify DIR", 1, "", "zramfs: verify DIR: " + swapdev.ErrDead.Error() + "\n"},
		{"die", "export DIR /tmp/none", 1, "", "zramfs: export DIR: " + swapdev.ErrDead.Error() + "\n"},
		{"die", "events DIR", 1, "", "zramfs: events DIR: " + swapdev.ErrDead.Error() + "\n"},
		{"die", "upgrade DIR", 1, "", "zramfs: upgrade DIR: " + swapdev.ErrDead.Error() + "\n"},
	}
	for _, test := range tests {
		t.Run(test.how+" "+test.args, func(t *testing.T) {
			t.Parallel()
			got, took := runAgainst(t, test.how, test.args)
			got.stderr = regexp.MustCompile(`/tmp/zr-command-\d+`).ReplaceAllString(got.stderr, "DIR")
			if got.code != test.code || !strings.Contains(got.stdout, test.stdout) || !strings.Contains(got.stderr, test.err) ||
				test.err == "" && got.stderr != "" {
				t.Errorf("%d, %q, %q; want %d, %q, %q", got.code, got.stdout, got.stderr, test.code, test.stdout, test.err)
			}
			if took > 10*helper.AnswerTime {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestBrokenServerJSON wants valid JSON about a dead server, too.
func TestBrokenServerJSON(t *testing.T) {
	got, _ := runAgainst(t, "die", "status -J DIR") // named, since others may be mounted
	var status struct{ Zramfs []report }
	if err := json.Unmarshal([]byte(got.stdout), &status); err != nil {
		t.Fatalf("%v: %q", err, got.stdout)
	}
	if len(status.Zramfs) != 1 || status.Zramfs[0].Health != "degraded" || len(status.Zramfs[0].Problems) != 1 {
		t.Errorf("%+v", status)
	}
}

// runAgainst runs the program next to a broken server's mount; DIR in args is its mount point.
func runAgainst(t *testing.T, how, args string) (outcome, time.Duration) {
	t.Helper()
	attr := require.MountNS(t)
	require.Command(t, "mount")
	dir, err := os.MkdirTemp("/tmp", "zr-command-") // not TempDir, which only its owner may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	words := append([]string{"-c", serverScript, "sh", dir, how}, strings.Fields(strings.ReplaceAll(args, "DIR", dir))...)
	cmd := exec.CommandContext(t.Context(), "sh", words...)
	cmd.SysProcAttr = attr
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{self}
	cmd.Env = append(os.Environ(), asProgram+"=1")
	begin := time.Now()
	got := runCommand(t, cmd)
	return got, time.Since(begin)
}
