// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
)

// lastOnes makes a device $2 with the program $1 in the mount namespace of the shell, with a file
// system on it that is mounted on $3 and dirty. It prints the loop device, the numbers of the
// connections and the processes, a line each, and leaves the processes as the last ones there.
const lastOnes = `set -e
"$1" mount --quiet --size 64M "$2"
loop=$(losetup --find --show --direct-io=on "$2/dev/zram0")
mkfs.ext4 -q -E lazy_itable_init=0 $loop
mount $loop "$3"
echo $loop
awk -v dir="$2" '$5 == dir || $5 == dir "/dev" { print $3 }' /proc/self/mountinfo | cut -d: -f2 | tr '\n' ' '
echo
sed -nE 's/.*"(keeper|worker)_pid": *([0-9]+).*/\2/p' "$2/control/status" | tr '\n' ' '
echo
dd if=/dev/urandom of="$3/x" bs=1M count=16 status=none
`

// The last process of a mount namespace writes back the file systems there. If it is a keeper or a
// worker that was killed, it does not wait for its own device.
func TestKilledAsLastOfTheirNamespace(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	for _, name := range []string{"unshare", "mkfs.ext4", "losetup"} {
		require.Command(t, name)
	}
	dir, on := tempDir(t), tempDir(t)
	made := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", lastOnes, "sh", binary(t), dir, on)
	r := runCommand(t, toolTimeout, made)
	lines := strings.Split(r.Stdout, "\n")
	if r.Code != 0 || len(lines) < 3 {
		t.Fatalf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	loop, connections, processes := lines[0], strings.Fields(lines[1]), strings.Fields(lines[2])
	t.Cleanup(func() {
		if err := endConnections(connections); err != nil {
			t.Error(err)
		}
		system(t, toolTimeout, "losetup", "-d", loop)
	})
	if len(connections) != 2 || len(processes) != 2 {
		t.Fatalf("connections %q, processes %q", connections, processes)
	}
	var ends []unix.PollFd
	for _, text := range processes {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			defer unix.Close(fd)
			ends = append(ends, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range ends {
		n, err := unix.Poll(ends[i:i+1], 60_000)
		for ; err == unix.EINTR; n, err = unix.Poll(ends[i:i+1], 60_000) {
		}
		if n != 1 {
			stack, _ := os.ReadFile("/proc/" + processes[i] + "/stack") // for the message
			t.Fatalf("process %s has not ended (%v):\n%s", processes[i], err, stack)
		}
	}
}

// endConnections aborts FUSE connections, as far as they are there.
func endConnections(numbers []string) error {
	root, err := openConnections()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, number := range numbers {
		fd, err := unix.Openat(root, number+"/abort", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err == nil {
			_, err = unix.Write(fd, []byte("1"))
			err = errors.Join(err, unix.Close(fd))
		}
		if err != nil {
			return fmt.Errorf("end connection %s: %w", number, err)
		}
	}
	return nil
}

// twoDevices mounts a file system of the device $2 on $4 before it makes the device $3, unmounts it
// again, and ends both.
const twoDevices = `set -e
"$1" mount --quiet --size 64M "$2"
loop=$(losetup --find --show --direct-io=on "$2/dev/zram0")
trap 'losetup -d $loop' EXIT
mkfs.ext4 -q $loop
mount $loop "$4"
"$1" mount --quiet --size 64M "$3"
umount "$4"
mkfs.ext4 -q -F $loop
"$1" umount "$3"
trap - EXIT
losetup -d $loop
"$1" umount "$2"
`

// The processes of a device keep no file system of another one in use.
func TestDeviceKeepsNoFileSystem(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	for _, name := range []string{"unshare", "mkfs.ext4", "losetup"} {
		require.Command(t, name)
	}
	made := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", twoDevices, "sh", binary(t), tempDir(t), tempDir(t), tempDir(t))
	if r := runCommand(t, toolTimeout, made); r.Code != 0 || r.Stderr != "" {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}
