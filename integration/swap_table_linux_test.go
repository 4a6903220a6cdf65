// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// tables are what a container may have in place of the kernel's table of swap areas: shell
// commands that put it there, in a mount namespace. $table is a file with such a text.
var tables = map[string]struct{ text, put string }{
	"an empty file":   {"", "mount --bind $table /proc/swaps"},
	"a heading":       {swapsHeading, "mount --bind $table /proc/swaps"},
	"that of lxcfs":   {swapsHeading + "none                                    virtual\t\t65532\t0\t0\n", "mount --bind $table /proc/swaps"},
	"another machine": {swapsHeading + "/dev/vdz9                               partition\t65532\t\t0\t\t-2\n", "mount --bind $table /proc/swaps"},
	"ProcSubset=pid":  {"", "mount -t proc -o subset=pid proc /proc"},
}

const swapsHeading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

// runTable runs a script in a mount namespace. Its first argument is the command that puts one of
// these tables there, which it has to run.
func runTable(t *testing.T, name, script string, args ...string) result {
	t.Helper()
	require.Command(t, "unshare")
	file := filepath.Join(tempDir(t), "swaps")
	if err := os.WriteFile(file, []byte(tables[name].text), 0o644); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-m", "--propagation", "private", "sh", "-c", script, "sh", tables[name].put}, args...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "table="+file)
	return runCommand(t, downTimeout, cmd)
}

// withTable runs a command with one of these tables.
func withTable(t *testing.T, name string, command ...string) result {
	t.Helper()
	return runTable(t, name, `eval "$1" && shift && exec "$@"`, command...)
}

// Swap is seen and turned off whatever /proc/swaps says. All commands run in one mount namespace:
// a copy of the mount elsewhere would have down wait.
func TestSwapBehindAnotherTable(t *testing.T) {
	const script = `$1 up -q --size 64M --devices 2 -p 7 $2 && eval "$put" || exit 9
		$1 status $2; echo "status $?"
		$1 list -n --raw -o MOUNTPOINT $2; echo "list $?"
		$1 umount $2; echo "umount $?"
		$1 down -v $2; echo "down $?"`
	for name := range tables {
		t.Run(name, func(t *testing.T) {
			dir := swapDir(t)
			r := runTable(t, name, "put=$1; shift; "+script, binary(t), dir)
			var missing []string
			for _, want := range []string{
				"  on, at most ", " of 64M used in 2 areas: /proc/swaps here does not show it\n", "status 0\n[SWAP]\nlist 0\numount 1\n",
				" off, ", dir + " is down: ", "\ndown 0\n",
			} {
				if !strings.Contains(r.Stdout, want) {
					missing = append(missing, want)
				}
			}
			if len(missing) > 0 {
				t.Errorf("no %q in %+v", missing, r)
			}
			wantNothingLeft(t, dir)
		})
	}
}

// Without the right to find out whether a device is swap, status prints that it is unknown.
func TestSwapBehindAnotherTableForAnyUser(t *testing.T) {
	require.Command(t, "setpriv")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	r := withTable(t, "a heading", "setpriv", "--reuid", itoa(unprivileged), "--regid", itoa(unprivileged), "--clear-groups", binary(t), "status", dir)
	if r.Code != 1 || strings.Contains(r.Stdout, "not used") || !strings.Contains(r.Stdout, "it is unknown whether it is used as swap") {
		t.Errorf("status: %+v", r)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}

// A loop device that is no swap is none where the table hides the swap of others, unused or
// claimed.
func TestSwapOfOthersBehindAnotherTable(t *testing.T) {
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	for use, claim := range map[string]bool{"unused": false, "claimed": true} {
		other := mount(t, "--size", "16M")
		loop := attachments["loopsetup"](t, other)
		if claim {
			fd, err := unix.Open(loop, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Close(fd) }() // opened for its claim
		}
		if r := withTable(t, "a heading", binary(t), "status", other); r.Code != 0 || !strings.Contains(r.Stdout, "not used as swap") {
			t.Errorf("status of one that is %s: %+v", use, r)
		}
	}
	mustRun(t, downTimeout, "down", dir)
}

// Swap that was turned on by another name of its loop device is seen and turned off: by that of a
// node elsewhere, of one that was removed since, or in a mount namespace that has ended.
func TestSwapByAnotherName(t *testing.T) {
	require.Command(t, "swapon")
	for name, script := range map[string]string{
		"a node elsewhere":             `mknod -m 600 "$2/node" b $3 && swapon "$2/node"`,
		"a removed node":               `mknod -m 600 "$2/node" b $3 && swapon "$2/node" && rm "$2/node"`,
		"a node of an ended namespace": `unshare -m sh -c 'mount -t tmpfs none "$2" && mknod -m 600 "$2/zram0" b $3 && swapon "$2/zram0"' sh "$@"`,
		"a bind mount that has ended":  `touch "$2/node" && unshare -m sh -c 'mount --bind "$1" "$2/node" && swapon "$2/node"' sh "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := swapDir(t)
			mustRun(t, commandTimeout, "mount", "--size", "64M", dir)
			loop := attachments["losetup"](t, dir)
			system(t, toolTimeout, "mkswap", loop)
			var st unix.Stat_t
			if err := unix.Stat(loop, &st); err != nil {
				t.Fatal(err)
			}
			number := fmt.Sprintf("%d %d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
			system(t, toolTimeout, "sh", "-c", strings.ReplaceAll(script, "$3", number), "sh", loop, tempDir(t))
			if got := seen(t, dir); got == nil || got.Swap == nil || got.Swap.Size != 64<<20-memoryPage {
				t.Errorf("status: %+v", got)
			}
			if r := run(t, commandTimeout, "down", "-v", dir); r.Code != 0 || !strings.Contains(r.Stdout, loop+" off, ") {
				t.Errorf("down: %+v", r)
			}
			wantNothingLeft(t, dir)
		})
	}
}

// down makes the node of a loop device where it has none, as in a container's /dev, and turns
// nothing off by a node of another device.
func TestSwapWithoutNode(t *testing.T) {
	require.Command(t, "unshare")
	dir := swapDir(t)
	mustRun(t, commandTimeout, "up", "--size", "64M", dir)
	loop := statusOf(t, dir).Loops[0]
	down := func(nodes string) result {
		script := "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && " + nodes + ` && exec "$@"`
		return runCommand(t, downTimeout, exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", binary(t), "down", dir))
	}
	if r := down("mknod " + loop + " b 7 1048575"); r.Code != 1 || !strings.Contains(r.Stderr, "swap is still on") {
		t.Errorf("down with another device's node: %+v", r)
	}
	if area := oneSwap(t, dir); area.Path != loop {
		t.Errorf("%+v is on, not %s", area, loop)
	}
	if r := down("true"); r.Code != 0 {
		t.Errorf("down without a node: %+v", r)
	}
	wantNothingLeft(t, dir)
}
