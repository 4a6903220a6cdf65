// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// asZramctl returns the program under the name of zramctl.
func asZramctl(t *testing.T) string {
	t.Helper()
	path := filepath.Join(tempDir(t), "zramctl")
	if err := os.Symlink(binary(t), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// ownRun runs a shell script with its own /run, so that /run/zram is the script's, and devices that
// other programs have mounted are out of sight. The devices that it leaves there are ended.
func ownRun(t *testing.T, script string, words ...string) result {
	t.Helper()
	const around = `LC_ALL=C grep fuse.zramfs /proc/self/mounts | while read -r _ dir _; do umount -l "$dir" 2>/dev/null; done
mount -t tmpfs none /run || exit 90
trap 'for d in /run/zram /run/zram[0-9]*; do mountpoint -q $d && "$zramfs" down --force -q $d; done' EXIT
`
	cmd := exec.Command("sh", append([]string{"-c", around + script, "sh"}, words...)...)
	cmd.Env = append(os.Environ(), "zramfs="+binary(t), "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return runCommand(t, toolTimeout, cmd)
}

// F069: under the name zramctl the program prints to the byte what zramctl of util-linux prints of
// the same device in exec.
func TestF069ZramctlPrints(t *testing.T) {
	require.Command(t, "zramctl")
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	const columns = "NAME,DISKSIZE,DATA,COMPR,ALGORITHM,STREAMS,ZERO-PAGES,TOTAL,MEM-LIMIT,MEM-USED,MIGRATED,MOUNTPOINT"
	lines := []string{"", "-b", "-n", "--raw", "-bn --raw", "/dev/zram0", "zram0", "-b zram0", "-o name,DATA", "-oMOUNTPOINT,NAME,TOTAL",
		"--output=COMPR,MEM-USED", "-bno DISKSIZE", "-o " + columns, "--noh -b --out=NAME", "-o NAME -o DATA", "-- zram0", "-bnx", "-o NAME,FOO"}
	script := `dev=$("$1" -f -s 64M -a lz4) && dd if="$zramfs" of=$dev bs=1M count=9 oflag=direct status=none || exit 91
shift
real() { "$zramfs" exec /run/zram -- zramctl $line 2>&1; echo "exit code $?"; }
for line; do
	for try in 1 2 3 4 5 6 7 8 9 10; do # the device may take or give back memory between two calls
		before=$(real)
		own=$(exec_zramctl $line 2>&1; echo "exit code $?")
		[ "$before" = "$(real)" ] && break
	done
	printf '%s\n%s\n====\n%s\n----\n' "$line" "$before" "$own"
done`
	ours := asZramctl(t)
	r := ownRun(t, `exec_zramctl() { `+ours+` "$@"; }`+"\n"+script, append([]string{ours}, lines...)...)
	if r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	parts := strings.Split(strings.TrimSuffix(r.Stdout, "----\n"), "----\n")
	if len(parts) != len(lines) {
		t.Fatalf("%d outputs of %d: %s", len(parts), len(lines), r.Stdout)
	}
	for i, part := range parts {
		real, own, _ := strings.Cut(strings.TrimPrefix(part, lines[i]+"\n"), "====\n")
		if own != real || !strings.Contains(real, "exit code ") {
			t.Errorf("zramctl %s:\n%s\nwant\n%s", lines[i], own, real)
		}
	}
}

// A set-up script for zramctl works: it names a free device, makes one, prints a path for mkswap
// and mkfs, refuses to reset what is mounted, sets another size and algorithm, and removes it.
func TestF069ZramctlSetsUp(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "mkfs.ext4")
	const script = `z=$1
say() { echo "$*"; }
say free $($z -f)
dev=$($z -f -s 64M -a lz4) || exit 91
test -b $dev && say made $($z -n --raw -o NAME,DISKSIZE,ALGORITHM)
say next $($z --find)
second=$($z --find --size 16M) && say second $($z -n --raw -o NAME,DISKSIZE | tr '\n' ' ')
mkswap -q $dev && say mkswap
mkfs.ext4 -q $dev && mkdir /run/m && mount $dev /run/m && say mounted $($z -n -o MOUNTPOINT zram0)
$z -r /dev/zram0 2>&1 || say code $?
$z -s 32M zram0 2>&1 || say code $?
umount /run/m
$z -s 32M -a zstd -p level=5 -t 2 zram0 && say again $($z -n --raw -o NAME,DISKSIZE,DATA,ALGORITHM zram0)
$z -s 32M -a lzo zram1 2>&1 || say code $?
$z -s 0 zram1 2>&1 || say code $?
say still $($z -n --raw -o NAME,DISKSIZE | tr '\n' ' ')
$z -s 8M $second && say by loop $($z -n --raw -o NAME,DISKSIZE $second | wc -l)
$z --reset zram0 zram0 /dev/zram1 zram2 2>&1 || say code $?
say left $($z -n | wc -l) $(ls /run | grep zram[0-9]*)
`
	const want = `free /dev/zram0
made /dev/zram0 64M lz4
next /dev/zram1
second /dev/zram0 64M /dev/zram1 16M
mkswap
mounted /run/m
zramctl: /dev/zram0: failed to reset: Device or resource busy
code 1
zramctl: /dev/zram0: failed to reset: Device or resource busy
code 1
again /dev/zram0 32M 0B zstd(level=5)
zramctl: /dev/zram1: failed to set algorithm: Invalid argument
code 1
zramctl: /dev/zram1: failed to set disksize (0 bytes): Invalid argument
code 1
still /dev/zram0 32M /dev/zram1 16M
by loop 1
zramctl: zram0: failed to reset: No such device
zramctl: zram2: failed to reset: No such device
code 1
left 0
`
	if r := ownRun(t, script, asZramctl(t)); r.Code != 0 || r.Stdout != want || r.Stderr != "" {
		t.Errorf("exit code %d:\n%s\nwant\n%s\n%s", r.Code, r.Stdout, want, r.Stderr)
	}
}

// A signal between the device and its loop device leaves neither: only what was printed stays.
func TestZramctlInterrupted(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	const script = `shown() { cat /sys/block/loop*/loop/backing_file 2>/dev/null | grep -q '^/run/zram/dev/zram0'; }
for try in 1 2 3 4 5; do
	rm -f /run/failed # of the try before, until the next one has begun
	while shown; do :; done
	"$1" -f -s 64M >/run/said 2>/run/failed &
	pid=$!
	until shown || [ -s /run/failed ]; do :; done
	kill -TERM $pid 2>/dev/null
	wait $pid
	code=$?
	echo "$code:$(cat /run/said | grep -c loop):$(grep -c ' /run/zram ' /proc/mounts)"
	[ $code = 1 ] || "$zramfs" down -q /run/zram
done`
	r := ownRun(t, script, asZramctl(t))
	for line := range strings.Lines(r.Stdout) {
		if line != "0:1:1\n" && line != "143:1:1\n" && line != "1:0:0\n" { // 143: at its very end
			t.Errorf("code, lines and mounts %q: %s", line, r.Stderr)
		}
	}
	if r.Code != 0 && r.Code != 1 || strings.Count(r.Stdout, "\n") != 5 {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
}
