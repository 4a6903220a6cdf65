// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// recompressing makes a device and has the program recompress its pages, which takes seconds. It
// returns once that is under way; ended has what the program left.
func recompressing(t *testing.T) (dir string, ended <-chan result) {
	t.Helper()
	require.Root(t)
	require.FUSE(t)
	dir = mount(t, "--size", "64M", "-a", "lz4")
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for text.Len() < 16<<20 {
		for range 3 + r.IntN(6) {
			text.WriteByte(byte('a' + r.IntN(8)))
		}
		text.WriteByte(' ')
	}
	if err := os.WriteFile(data(dir), text.Bytes(), 0); err != nil {
		t.Fatal(err)
	}
	mustRun(t, commandTimeout, "set", dir, "recomp-algorithm=zstd(level=19)")
	before := statusOf(t, dir).Memory.ComprDataSize
	var stdout, stderr bytes.Buffer
	cmd := command(t, "recompress", dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan result, 1)
	gone := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the result has the exit code
		done <- result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
		close(gone)
	}()
	t.Cleanup(func() {
		select {
		case <-gone:
		case <-time.After(2 * time.Minute):
			t.Error("recompress does not end")
			_ = cmd.Process.Kill() // it may have ended
		}
	})
	for end := time.Now().Add(time.Minute); statusOf(t, dir).Memory.ComprDataSize >= before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) || len(done) > 0 {
			t.Fatal("recompress does not begin")
		}
	}
	return dir, done
}

// While a device recompresses its pages, others who ask for that are refused at once, also those
// whose open truncates the file, as a shell's does, or who append to it.
func TestOtherRecompressionsAreRefusedAtOnce(t *testing.T) {
	dir, ended := recompressing(t)
	for _, how := range [][]string{nil, {"oflag=append", "conv=notrunc"}} {
		write := exec.Command("dd", append([]string{"status=none", "of=" + filepath.Join(dir, "block/zram0/recompress")}, how...)...)
		write.Env, write.Stdin = []string{"LC_ALL=C"}, strings.NewReader("type=huge")
		r := runCommand(t, time.Minute, write)
		if len(ended) > 0 || r.Code == 0 || !strings.Contains(r.Stderr, "temporarily unavailable") {
			t.Errorf("%q: exit code %d, %q; the first has ended: %v", write.Args, r.Code, r.Stderr, len(ended) > 0)
		}
	}
	r := run(t, time.Minute, "recompress", dir)
	if len(ended) > 0 {
		t.Errorf("recompress waited for the first one: exit code %d, %s", r.Code, r.Stderr)
	}
	wantRefusal(t, r, "at work for another command", "try again later")
	if r := <-ended; r.Code != 0 {
		t.Errorf("the first: exit code %d, %s", r.Code, r.Stderr)
	}
}

// A command ends though the device stops answering while it is at work for it.
func TestWorkOfASilentDeviceEnds(t *testing.T) {
	dir, ended := recompressing(t)
	_, goOn := freeze(t, dir)
	select {
	case r := <-ended:
		wantRefusal(t, r, "it does not answer")
	case <-time.After(2 * time.Minute):
		t.Error("recompress waits for a device that does not answer")
	}
	goOn()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) { // the device goes on
		if got := answerTo(filepath.Join(dir, "block/zram0/recompress"), "max_pages=1"); got == "11 bytes" {
			return
		} else if got != unix.EAGAIN.Error() || time.Now().After(end) {
			t.Fatal(got)
		}
	}
}
