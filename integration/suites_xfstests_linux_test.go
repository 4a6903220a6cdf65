// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// xfstestsSize and xfstestsScratch are the devices that the suite asks for.
	xfstestsSize, xfstestsScratch = 4 << 30, 8 << 30
	xfstestsTimeout               = 2 * time.Hour
	// xfstestsScript runs the suite in a mount namespace, where three files have the users that its
	// tests ask for. The namespace gives back the mounts of other tests, which it would keep alive.
	// Processes that the OOM killer ends in other memory groups are no failure.
	xfstestsScript = `set -e; mount --make-rprivate /
for m in $(awk '$2 ~ "^/tmp/" { print $2 }' /proc/mounts | tac); do umount -i -l "$m"; done
for f in passwd group shadow; do mount --bind "$USERS/$f" "/etc/$f"; done
sed -i '/-e "oom-kill"/d' common/rc
exec ./check "$@"`
)

// xfstestsUsers are appended to files of /etc.
var xfstestsUsers = map[string]string{
	"passwd": "fsgqa:x:3001:3001::/tmp:/bin/bash\nfsgqa2:x:3003:3003::/tmp:/bin/bash\n123456-fsgqa:x:3002:3002::/tmp:/bin/bash\n",
	"group":  "fsgqa:x:3001:\nfsgqa2:x:3003:\n123456-fsgqa:x:3002:\n",
	"shadow": "fsgqa:*:20000:0:99999:7:::\nfsgqa2:*:20000:0:99999:7:::\n123456-fsgqa:*:20000:0:99999:7:::\n",
}

var xfstests = flag.String("xfstests", "-g quick -x swap", "the arguments of xfstests' check in TestSuiteXfstests")

// TestSuiteXfstests runs the quick group of xfstests, without the tests that turn swap on, on file
// systems on two devices.
func TestSuiteXfstests(t *testing.T) {
	requireGrounds(t)
	path := require.Suite(t, "xfstests")
	for _, program := range []string{"bash", "bc", "gawk", "setfacl", "setfattr", "xfs_io", "unshare", "losetup"} {
		require.Command(t, program)
	}
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			require.Command(t, "mkfs."+fs)
			var device, reference outcome
			t.Run("both", func(t *testing.T) { // at once
				t.Run("reference", func(t *testing.T) { t.Parallel(); reference = runXfstests(t, path, fs, onReference) })
				t.Run("device", func(t *testing.T) { t.Parallel(); device = runXfstests(t, path, fs, onDevice) })
			})
			wantNoWorse(t, "xfstests quick on "+fs, path, device, reference)
		})
	}
}

func runXfstests(t *testing.T, path, fs string, make maker) outcome {
	t.Helper()
	test, scratch := make(t, xfstestsSize), make(t, xfstestsScratch)
	work := test.work(t)
	for _, dir := range []string{"test", "scratch"} {
		if err := os.Mkdir(filepath.Join(work, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, lines := range xfstestsUsers {
		text, err := os.ReadFile(filepath.Join("/etc", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, name), append(text, lines...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	system(t, toolTimeout, "mkfs."+fs, "-q", test.loop)
	cmd := exec.Command("unshare", append([]string{"--mount", "bash", "-c", xfstestsScript, "check"}, strings.Fields(*xfstests)...)...)
	cmd.Dir = filepath.Join(work, "suite") // it writes to its directory
	system(t, toolTimeout, "cp", "-a", path, cmd.Dir)
	cmd.Env = append(os.Environ(), "USERS="+work, "FSTYP="+fs, "TEST_DEV="+test.loop, "SCRATCH_DEV="+scratch.loop,
		"TEST_DIR="+filepath.Join(work, "test"), "SCRATCH_MNT="+filepath.Join(work, "scratch"), "RESULT_BASE="+filepath.Join(work, "results"))
	r := runCommand(t, xfstestsTimeout, cmd)
	return xfstestsOutcome(r.Stdout + r.Stderr)
}

// xfstestsLine is the line of a test; lines that say more begin with spaces. A test that passed
// shows the seconds of an earlier run, if there was one, and of this one.
var xfstestsLine = regexp.MustCompile(`^((?:ext4|xfs|generic|shared)/\d+) +(\[not run\]|\[failed|- output mismatch|\[expunged\]|(?:\d+s \.\.\. )? *\d+s|_check)(.*)$`)

func xfstestsOutcome(said string) outcome {
	o := newOutcome()
	last := ""
	for line := range strings.Lines(said) {
		part := xfstestsLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch {
		case part == nil && last != "" && strings.HasPrefix(line, " "):
			o.reasons[last] += line
		case part == nil:
			last = ""
		default:
			last = part[1]
			o.reasons[last] = part[2] + part[3] + "\n"
			switch {
			case part[2] == "[not run]":
				o.verdicts[last] = suiteNotRun
			case strings.HasSuffix(part[2], "s") && !strings.Contains(part[3], "failed"):
				o.verdicts[last] = suitePassed
			case part[2] != "[expunged]":
				o.verdicts[last] = suiteFailed
			}
		}
	}
	return o
}
