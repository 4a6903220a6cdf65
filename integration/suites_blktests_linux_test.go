// SPDX-License-Identifier: Apache-2.0

package integration

import (
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
	blktestsSize = 1 << 30
	// blktestsTimeout bounds both groups on one ground.
	blktestsTimeout = 20 * time.Minute
	// blktestsConfig bounds a test that would go on for as long as one likes.
	blktestsConfig = "QUICK_RUN=1\nTIMEOUT=15\nTEST_DEVS=("
)

// TestSuiteBlktests runs the groups block and loop of blktests: the former on the loop device, the
// latter with files of a file system on another one.
func TestSuiteBlktests(t *testing.T) {
	requireGrounds(t)
	path := require.Suite(t, "blktests")
	for _, program := range []string{"bash", "gawk", "fio", "mkfs.ext4", "mkfs.xfs", "losetup"} {
		require.Command(t, program)
	}
	var device, reference outcome
	t.Run("reference", func(t *testing.T) { reference = runBlktests(t, path, onReference) })
	t.Run("device", func(t *testing.T) { device = runBlktests(t, path, onDevice) })
	wantNoWorse(t, "blktests", path, device, reference)
}

func runBlktests(t *testing.T, path string, make maker) outcome {
	t.Helper()
	under, files := make(t, blktestsSize), make(t, 2*blktestsSize)
	system(t, toolTimeout, "mkfs.ext4", "-q", files.loop)
	system(t, toolTimeout, "mount", files.loop, files.work(t))
	t.Cleanup(func() { system(t, toolTimeout, "umount", files.work(t)) })
	config := filepath.Join(under.work(t), "config")
	if err := os.WriteFile(config, []byte(blktestsConfig+under.loop+")\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./check", "-c", config, "-o", filepath.Join(files.work(t), "results"), "block", "loop")
	cmd.Dir = path
	r := runCommand(t, blktestsTimeout, cmd)
	return blktestsOutcome(r.Stdout + r.Stderr)
}

// blktestsLine is the last line of a test, and further lines about it begin with spaces.
var blktestsLine = regexp.MustCompile(`^(\S+/\d+)(?: => \S+)? .*\[(passed|failed|not run)\]\s*$`)

func blktestsOutcome(said string) outcome {
	o := newOutcome()
	last := ""
	for line := range strings.Lines(said) {
		if part := blktestsLine.FindStringSubmatch(line); part != nil {
			last = part[1]
			o.verdicts[last] = map[string]verdict{"passed": suitePassed, "failed": suiteFailed, "not run": suiteNotRun}[part[2]]
		} else if last != "" && strings.HasPrefix(line, " ") {
			o.reasons[last] += line
		} else {
			last = ""
		}
	}
	return o
}
