// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
)

// accesses are writes to attributes, in their order, which the kernel and we answer alike. A kernel
// without CONFIG_ZRAM_MULTI_COMP refuses priority=1 and above, and one without
// CONFIG_ZRAM_TRACK_ENTRY_ACTIME an age, so these are not among them.
var accesses = map[string][][2]string{
	"without a size": {
		{"initstate", "1"}, {"mm_stat", "1"}, {"comp_algorithm", "lz4"}, {"comp_algorithm", "lz4\n"}, {"comp_algorithm", " lz4"},
		{"comp_algorithm", "lz4 "}, {"comp_algorithm", "842"}, {"comp_algorithm", "\n"}, {"comp_algorithm", strings.Repeat("a", 128)},
		{"comp_algorithm", strings.Repeat("a", 127)}, {"mem_limit", "1M"}, {"mem_limit", "xyz"}, {"mem_limit", ""}, {"mem_limit", "5000"},
		{"mem_limit", "1M junk"}, {"mem_limit", " 1M"}, {"mem_limit", "0x10000"}, {"mem_limit", "-1"}, {"mem_limit", "K"},
		{"mem_used_max", "1"}, {"mem_used_max", "x"}, {"mem_used_max", "0x"}, {"mem_used_max", "0\n"}, {"compact", "1"},
		{"reset", "0"}, {"reset", "x"}, {"reset", "1\n"}, {"reset", "65536"}, {"reset", " 1"}, {"reset", "0x1"}, {"reset", "-1"},
		{"comp_algorithm", "lz4"}, {"algorithm_params", "algo=lz4"}, {"algorithm_params", "algo="}, {"algorithm_params", "algo"},
		{"algorithm_params", "algo=lz4 level=3"}, {"algorithm_params", "level=x"}, {"algorithm_params", "priority=0"},
		{"algorithm_params", "priority=9"}, {"algorithm_params", "priority=-1"}, {"algorithm_params", "priority=x"},
		{"algorithm_params", "bogus=1"}, {"algorithm_params", "dict=/nonexistent"}, {"algorithm_params", "\n"},
		{"algorithm_params", "algo=nonsense level=1"}, {"algorithm_params", "algo=lz4 level"}, {"algorithm_params", "level=-5"},
		{"algorithm_params", "level=99999999999"}, {"algorithm_params", "algo=lz4,level=1"}, {"algorithm_params", "deflate.winbits=3"},
		{"algorithm_params", `"algo=lz4"`}, {"algorithm_params", " algo=lz4"}, {"disksize", "0"}, {"disksize", "x"}, {"disksize", ""},
		{"idle", "all"}, {"idle", "1"}, {"idle", ""}, {"idle", "x"},
		{"disksize", "5000"}, {"disksize", "1M"},
	},
	"with a size": {
		{"disksize", "1M"}, {"comp_algorithm", "nonsense"}, {"mem_limit", "16M"}, {"mem_used_max", "0"}, {"compact", "1"}, {"compact", ""},
		{"compact", "any text"}, {"algorithm_params", "level=2"}, {"algorithm_params", "level"}, {"reset", "0"}, {"reset", ""},
		{"idle", "all"}, {"idle", "ALL"}, {"idle", ""}, {"idle", "x"}, {"idle", "all\n"}, {"idle", "all "}, {"idle", "99999999999"}, {"idle", "-1"},
	},
}

// TestAttributeWritesAsTheKernel makes the same writes to a zram device of the kernel and to ours,
// and compares the answers.
func TestAttributeWritesAsTheKernel(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	if !apart(t) {
		return
	}
	number := hotAdd(t, "lz4", "64M")
	dir := mount(t, "--size", "64M", "-a", "lz4")
	both := func(when, name, text string) {
		t.Helper()
		theirs, got := answerTo(zramAttribute(number, name), text), answerTo(filepath.Join(dir, "block/zram0", name), text)
		if theirs != got {
			t.Errorf("%s: %q to %s: %s, the kernel says %s", when, text, name, got, theirs)
		}
	}
	for _, when := range []string{"with a size", "without a size", "with a size"} {
		if when == "without a size" {
			both("reset", "reset", "1")
		}
		for _, a := range accesses[when] {
			both(when, a[0], a[1])
		}
		for _, name := range []string{"initstate", "disksize", "size", "io_stat", "debug_stat"} {
			if theirs, got := readKernel(t, number, name), attribute(t, dir, name); theirs != got {
				t.Errorf("%s: %s is %q, the kernel's %q", when, name, got, theirs)
			}
		}
		if theirs, got := field(t, readKernel(t, number, "mm_stat"), 3), statField(t, dir, 3); theirs != got {
			t.Errorf("%s: the limit is %d, the kernel's %d", when, got, theirs)
		}
	}
	f := []*os.File{openFile(t, "/dev/zram"+number, 0), openData(t, dir, 0)}
	both("open", "reset", "1")
	for _, f := range f {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	both("closed", "reset", "1")
	both("closed", "reset", "1")
}

// answerTo writes a text to an attribute and returns the bytes taken, or the error.
func answerTo(path, text string) string {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "open: " + err.Error()
	}
	n, err := unix.Write(fd, []byte(text))
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d bytes", n)
}

// setAttribute writes an attribute of our device.
func setAttribute(t testing.TB, dir, name, text string) {
	t.Helper()
	if got, want := answerTo(filepath.Join(dir, "block/zram0", name), text), fmt.Sprintf("%d bytes", len(text)); got != want {
		t.Fatalf("%q to %s: %s", text, name, got)
	}
}

// TestAttributesSetInUse changes a device that is in use, unlike the kernel's, and kills the
// worker.
func TestAttributesSetInUse(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "64M", "-a", "lz4", "--mem-limit", "60M")
	s := openShadow(t, dir)
	if err := s.churn(rand.New(rand.NewPCG(5, 6)), 0, len(s.want), 100); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"comp_algorithm", "zstd\n"}, {"algorithm_params", "algo=zstd level=7"}, {"mem_limit", "48M"}, {"mem_used_max", "0"}, {"compact", "1"},
		{"recomp_algorithm", "algo=zstd priority=2"}, {"algorithm_params", "priority=2 level=12"}, {"recomp_algorithm", "algo=page:dense"},
		{"writeback_limit", "77"}, {"writeback_limit_enable", "1"}, {"max_comp_streams", "9"},
	} {
		setAttribute(t, dir, c[0], c[1])
	}
	if err := unix.Kill(statusOf(t, dir).WorkerPID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"comp_algorithm": "adaptive page page:dense lz4 lz4:fast [zstd(level=7)] raw \n",
		"recomp_algorithm": "#1: adaptive page [page:dense] lz4 lz4:fast zstd raw \n" +
			"#2: adaptive page page:dense lz4 lz4:fast [zstd(level=12)] raw \n",
		"mem_limit": "50331648\n", "writeback_limit": "77\n", "writeback_limit_enable": "1\n",
	} {
		if got := attribute(t, dir, name); got != want {
			t.Errorf("after the worker's death %s is %q, want %q", name, got, want)
		}
	}
	if got := statusOf(t, dir); got.Restarts != 1 || got.Algorithm != "zstd(level=7)" || got.MemLimit != 48<<20 {
		t.Errorf("the status has %d restarts, %s, limit %d", got.Restarts, got.Algorithm, got.MemLimit)
	}
	if err := s.checkAll(); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]unix.Errno{
		"lzo": unix.EINVAL, "lzo-rle": unix.EINVAL, "zstd(dict=/etc/hostname)": unix.EINVAL, "zstd(level=99)": unix.EINVAL,
		"zstd(dict=" + strings.Repeat("a", 200) + ")": unix.E2BIG,
	} {
		if got := answerTo(filepath.Join(dir, "block/zram0/comp_algorithm"), text); got != want.Error() {
			t.Errorf("%q as algorithm: %s, want %v", text, got, want)
		}
	}
	if got := answerTo(filepath.Join(dir, "block/zram0/writeback"), "idle"); got != unix.ENODEV.Error() {
		t.Errorf("writeback: %s, want %v", got, unix.ENODEV)
	}
}

// F075: after a reset nothing is left, not the memory that had it either. The next size is the one
// that stat(2) and loop devices see.
func TestF075ResetAndResize(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	dir := mount(t, "--size", "64M", "-a", "lz4", "--mem-limit", "60M")
	random := make([]byte, 64<<10) // so that its pages count as huge
	rng := rand.New(rand.NewPCG(7, 5))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	writeData := func() {
		f := openData(t, dir, 0)
		if _, err := f.WriteAt(random, 4096); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first := statusOf(t, dir)
	for restarts, size := range []string{"100M", "1M", "3G"} {
		writeData()
		loop := attachments["losetup"](t, dir)
		if got := answerTo(filepath.Join(dir, "block/zram0/reset"), "1"); got != unix.EBUSY.Error() {
			t.Fatalf("reset with a loop device: %s", got)
		}
		detachLoops(t, dir)
		before := imagesOf(t, statusOf(t, dir))
		setAttribute(t, dir, "reset", "1")
		if after := imagesOf(t, statusOf(t, dir)); len(before) != 1 || len(after) != 1 || after[0] == before[0] {
			t.Errorf("a reset goes from the images %v to %v", before, after)
		}
		if got := dataSize(t, dir); got != 0 {
			t.Errorf("%s: after a reset the file has %d bytes", loop, got)
		}
		if got := attribute(t, dir, "mm_stat"); strings.Trim(got, " 0\n") != "" {
			t.Errorf("after a reset mm_stat is %q", got)
		}
		if got := attribute(t, dir, "comp_algorithm"); !strings.HasPrefix(got, "[adaptive]") {
			t.Errorf("after a reset comp_algorithm is %q", got)
		}
		setAttribute(t, dir, "comp_algorithm", "zstd")
		setAttribute(t, dir, "disksize", size)
		if since, writes := statField(t, dir, 8), statusOf(t, dir).IO.Writes; since != 0 || writes != 0 {
			t.Errorf("after a reset %d huge pages and %d writes are counted", since, writes)
		}
		want := field(t, attribute(t, dir, "disksize"), 0)
		if got := dataSize(t, dir); got != want || got == 0 {
			t.Errorf("size %s: the file has %d bytes, want %d", size, got, want)
		}
		if got := statusOf(t, dir); got.Disksize != want || got.Algorithm != "zstd" || got.KeeperPID != first.KeeperPID || got.Restarts != restarts {
			t.Errorf("the status has %d bytes, %s, keeper %d, %d restarts", got.Disksize, got.Algorithm, got.KeeperPID, got.Restarts)
		}
		if text, err := os.ReadFile(data(dir)); size == "1M" && (err != nil || uint64(len(text)) != want || len(bytes.Trim(text, "\x00")) != 0) {
			t.Errorf("%d bytes are there, not all zeros, %v", len(text), err)
		}
		loop = attachments["losetup"](t, dir)
		if got := system(t, toolTimeout, "blockdev", "--getsize64", loop); strings.TrimSpace(got) != fmt.Sprint(want) {
			t.Errorf("%s has %q bytes, want %d", loop, got, want)
		}
		detachLoops(t, dir)
		if err := unix.Kill(statusOf(t, dir).WorkerPID, unix.SIGKILL); err != nil { // the next one opens the new image
			t.Fatal(err)
		}
		if got := statusOf(t, dir); got.Disksize != want || got.Restarts != restarts+1 {
			t.Errorf("after the worker's death: %d bytes, %d restarts", got.Disksize, got.Restarts)
		}
	}
}

// imagesOf returns the inodes of the images that keeper and worker have open or mapped.
func imagesOf(t *testing.T, s status.Status) (inodes []string) {
	t.Helper()
	for _, pid := range []int{s.KeeperPID, s.WorkerPID} {
		for _, dir := range []string{"fd", "map_files"} {
			names, err := filepath.Glob(fmt.Sprintf("/proc/%d/%s/*", pid, dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if target, err := os.Readlink(name); err != nil || target != "/memfd:zramfs (deleted)" && !strings.HasPrefix(target, "/image") {
					continue // closed since, or another file
				}
				var st unix.Stat_t
				if err := unix.Stat(name, &st); err != nil {
					t.Fatal(err)
				}
				inodes = append(inodes, fmt.Sprint(st.Dev, ":", st.Ino))
			}
		}
	}
	slices.Sort(inodes)
	return slices.Compact(inodes)
}

func dataSize(t *testing.T, dir string) uint64 {
	t.Helper()
	info, err := os.Stat(data(dir))
	if err != nil {
		t.Fatal(err)
	}
	return uint64(info.Size())
}
