// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/loopsetup"
)

// inExecUntil starts a command in exec that ends with the returned function.
func inExecUntil(t *testing.T, dir string) (end func()) {
	t.Helper()
	cmd := command(t, "exec", dir, "--", "sh", "-c", "echo ready; read line; exit 0")
	in, out := startPiped(t, cmd)
	late := time.AfterFunc(commandTimeout, func() { _ = cmd.Process.Kill() }) // it may have ended
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	return func() {
		_ = in.Close() // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		late.Stop()
	}
}

// Two commands in exec share the loop device that the first has attached. It stays for the second:
// another file would get its number, and be zram0 there.
func TestExecOfTwo(t *testing.T) {
	dir := execDevice(t)
	first := inExecUntil(t, dir)
	loops, err := loopsetup.Find(data(dir))
	if err != nil || len(loops) != 1 {
		t.Errorf("%v, %v", loops, err)
	}
	second := inExecUntil(t, dir)
	first()
	if now, err := loopsetup.Find(data(dir)); err != nil || !slices.Equal(now, loops) {
		t.Errorf("%v instead of %v, %v", now, loops, err)
	}
	second()
	for now := loops; len(now) > 0; time.Sleep(time.Millisecond) { // with its last user
		if now, err = loopsetup.Find(data(dir)); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, commandTimeout, "umount", dir)
}

// A loop device that down would take away stays as long as a command in exec has it as zram0.
func TestDownDuringExec(t *testing.T) {
	dir := execDevice(t)
	loop := attachments["losetup"](t, dir)
	end := inExecUntil(t, dir)
	if r := run(t, downTimeout, "down", dir); r.Code != 1 || !strings.Contains(r.Stderr, "a loop device is still attached: "+loop) {
		t.Errorf("%+v", r)
	}
	if loops, err := loopsetup.Find(data(dir)); err != nil || !slices.Equal(loops, []string{loop}) {
		t.Errorf("%v, %v", loops, err)
	}
	end()
	mustRun(t, downTimeout, "down", dir)
}
