// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A listed is a device in the JSON of status.
type listed struct {
	Dir, Answer, Health string
	Problems            []struct{ What, Fix string }
}

// statusJSON returns the devices that status -J prints for these names.
func statusJSON(t *testing.T, code int, names ...string) []listed {
	t.Helper()
	r := run(t, commandTimeout, append([]string{"status", "-J"}, names...)...)
	var all struct{ Zramfs []listed }
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil || r.Code != code {
		t.Errorf("status -J %q: exit code %d, want %d, %v: %s%s", names, r.Code, code, err, r.Stdout, r.Stderr)
	}
	return all.Zramfs
}

// wantMatch wants a text to match a pattern.
func wantMatch(t *testing.T, what, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%s: %q does not match %q", what, text, pattern)
	}
}

// unshare runs the program in namespaces of its own.
func unshare(t *testing.T, flags string, args ...string) result {
	t.Helper()
	require.Command(t, "unshare")
	return runCommand(t, commandTimeout, exec.Command("unshare", append(append(strings.Fields(flags), binary(t)), withoutZswap(args)...)...))
}

// Swap that was turned on in another mount namespace is seen from here, is not turned on a second
// time, and is turned off.
func TestSwapInAnotherMountNamespace(t *testing.T) {
	require.Root(t)
	dir := swapDir(t)
	if r := unshare(t, "-m --propagation private", "up", "-p", "0", "--size", "64M", dir); r.Code != 0 {
		t.Fatalf("up: %s%s", r.Stdout, r.Stderr)
	}
	loop := oneSwap(t, dir).Path
	again := run(t, commandTimeout, "up", "--size", "64M", dir)
	if again.Code != 1 || again.Stdout != "" {
		t.Errorf("the second up: exit code %d: %s", again.Code, again.Stdout)
	}
	wantMatch(t, "the second up", again.Stderr, fmt.Sprintf(
		`^zramfs: %s: a device is up in another mount namespace \(keeper \d+, %s, \S+ in swap\); zramfs down %[1]s ends it\n$`, dir, loop))
	list := mustRun(t, commandTimeout, "list", "-n", "--raw", "-o", "NAME,ALGORITHM,MOUNTPOINT", dir)
	if want := loop + ` adaptive [SWAP]\x20elsewhere` + "\n"; list.Stdout != want {
		t.Errorf("list: %q, want %q", list.Stdout, want)
	}
	if all := statusJSON(t, 1, dir); len(all) != 1 || all[0].Answer != "elsewhere" || all[0].Dir != dir || len(all[0].Problems) != 1 {
		t.Errorf("status: %+v", all)
	}
	umount := run(t, commandTimeout, "umount", dir)
	wantMatch(t, "umount", umount.Stderr, "another mount namespace")
	down := mustRun(t, downTimeout, "down", "-v", dir)
	wantSteps(t, down.Stdout, "swap ok "+loop, "mount ok "+dir+" unmounted in another mount namespace")
	wantNothingLeft(t, dir)
	wantNoDevice(t, dir)
}

// Two devices on one DIR, in two mount namespaces, are told apart: each is there
// until it is ended.
func TestSwapTwiceOnOneDir(t *testing.T) {
	require.Root(t)
	dir := swapDir(t)
	first := unshare(t, "-m --propagation private", "up", "-p", "0", "--size", "64M", dir)
	mustRun(t, commandTimeout, "mount", "--size", "16M", dir)
	if first.Code != 0 {
		t.Fatalf("up: %s%s", first.Stdout, first.Stderr)
	}
	all := statusJSON(t, 1, dir)
	if len(all) != 2 || all[0].Answer != "ok" || all[1].Answer != "elsewhere" {
		t.Errorf("status: %+v", all)
	}
	mustRun(t, downTimeout, "down", dir)
	if all := statusJSON(t, 1, dir); len(all) != 1 || all[0].Answer != "elsewhere" {
		t.Errorf("status after one down: %+v", all)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}

// Swap that would end with a PID namespace is refused, by up, by mount(8) and by doctor, with a fix
// that works in any container; with --force it is on, and status says what is wrong.
func TestSwapInAPIDNamespace(t *testing.T) {
	require.Root(t)
	require.Command(t, "unshare")
	dir := swapDir(t)
	const alone = "-p -f --mount-proc"
	words := []string{"this is a PID namespace", "swapped pages are lost", "run zramfs on the machine itself, outside of the container"}
	wantRefusal(t, unshare(t, alone, "up", "--size", "64M", dir), append(words, "--force", "Nothing was changed")...)
	helper := filepath.Join(tempDir(t), "mount.zramfs")
	if err := os.Symlink(binary(t), helper); err != nil {
		t.Fatal(err)
	}
	r := runCommand(t, commandTimeout, exec.Command("unshare", append(strings.Fields(alone), helper, "none", dir, "-o", "swap,size=64M")...))
	if r.Code != 32 || !strings.Contains(r.Stderr, words[0]) {
		t.Errorf("mount -o swap: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	wantNothingLeft(t, dir)
	if r := unshare(t, alone, "doctor"); r.Code != 1 || !strings.Contains(r.Stdout, "\nResult: zramfs up would not work here: "+words[0]) ||
		!strings.Contains(r.Stdout, words[2]) {
		t.Errorf("doctor: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	const script = `"$0" up --force --quiet -p 0 --size 64M "$1"; "$0" status "$1"; "$0" down --quiet "$1"`
	r = runCommand(t, commandTimeout, exec.Command("unshare", append(strings.Fields(alone), "sh", "-c", script, binary(t), dir)...))
	if r.Code != 0 || !strings.Contains(r.Stdout, "degraded") || !strings.Contains(r.Stdout, "not safe as swap: pid-namespace: "+words[0]) {
		t.Errorf("with --force: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	wantNothingLeft(t, dir)
}

// A device in a mount namespace of its own is made with a warning.
func TestMountNamespaceIsSaid(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Command(t, "unshare")
	const script = `"$0" mount --size 16M "$1"; "$0" umount "$1"; "$0" doctor`
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", script, binary(t), filepath.Join(tempDir(t), "zram"))
	r := runCommand(t, commandTimeout, cmd)
	const words = "this is a mount namespace of its own"
	if r.Code != 0 || !strings.Contains(r.Stderr, words) || !strings.Contains(r.Stdout, "warn  mount-view: "+words) {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := run(t, commandTimeout, "doctor"); !strings.Contains(r.Stdout, "ok    mount-view: ") {
		t.Errorf("doctor outside: %s%s", r.Stdout, r.Stderr)
	}
}

// Swap whose processes have ended with their PID namespace, as those of a pod do,
// is seen, is not turned on a second time, and is turned off.
func TestSwapOfAnEndedNamespace(t *testing.T) {
	require.Root(t)
	dir := swapDir(t)
	if r := unshare(t, "-p -f --mount-proc", "up", "--force", "-p", "0", "--size", "64M", dir); r.Code != 0 {
		t.Fatalf("up: %s%s", r.Stdout, r.Stderr)
	}
	loop := oneSwap(t, dir).Path
	if all := statusJSON(t, 1, dir); len(all) != 1 || all[0].Answer != "dead" || len(all[0].Problems) != 1 {
		t.Errorf("status: %+v", all)
	}
	again := run(t, commandTimeout, "up", "--size", "64M", dir)
	if again.Code != 1 || again.Stdout != "" {
		t.Errorf("the second up: exit code %d: %s", again.Code, again.Stdout)
	}
	wantMatch(t, "the second up", again.Stderr,
		fmt.Sprintf(`^zramfs: %s: %s is still swap and no process serves it: \S+ are lost: zramfs down --force %[1]s\n$`, dir, loop))
	list := run(t, commandTimeout, "list", "-n", "--raw", "-o", "NAME,MOUNTPOINT", dir)
	if want := loop + ` [SWAP]\x20dead` + "\n"; list.Stdout != want || list.Code != 1 {
		t.Errorf("list: exit code %d, %q, want %q", list.Code, list.Stdout, want)
	}
	down := mustRun(t, downTimeout, "down", "-v", "--force", dir)
	wantSteps(t, down.Stdout, "swap ok "+loop)
	if on, err := swapOn(dir); err != nil || len(on) > 0 {
		t.Errorf("swap is still on: %+v, %v", on, err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // its keeper would have
		t.Error(err)
	}
}

// An area that was turned off by hand while others are on is missed.
func TestSwapAreaGone(t *testing.T) {
	require.Command(t, "swapoff")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "-p", "1", "--size", "64M", "--devices", "2", dir)
	on, err := swapOn(dir)
	if err != nil || len(on) != 2 {
		t.Fatalf("%+v, %v", on, err)
	}
	system(t, toolTimeout, "swapoff", on[1].Path)
	all := statusJSON(t, 1, dir)
	if len(all) != 1 || len(all[0].Problems) != 1 || all[0].Problems[0].What != "1 of 2 swap areas off: "+on[1].Path {
		t.Errorf("status: %+v", all)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}

// Without /sys, as in some containers, it is unknown which loop devices are on a device: status
// prints that, and umount ends a device that nothing uses, and no other.
func TestUmountWithoutSys(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Command(t, "unshare")
	dir := filepath.Join(tempDir(t), "zram")
	t.Cleanup(func() { takeBack(t, dir) })
	const script = `umount -l /sys && $1 mount --size 16M $2 >&2 || exit 9
		$1 status $2; echo "status $?"
		exec 3<>$2/dev/zram0; $1 umount $2; echo "umount $?"
		exec 3>&-; $1 umount $2; echo "umount $?"`
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", binary(t), dir)
	r := runCommand(t, 2*commandTimeout, cmd)
	for _, want := range []string{"it is unknown whether it is used as swap: /sys is not mounted", "status 1\numount 1\numount 0\n"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("no %q in %+v", want, r)
		}
	}
}
