// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestServedTree(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	for dir, want := range map[string][]string{
		".":     {"block", "control", "dev", "devices"},
		"dev":   {"zram0"},
		"block": {"zram0"},
		"block/zram0": {"algorithm_params", "backing_dev", "bd_stat", "block_state", "comp_algorithm", "compact", "debug_stat", "disksize",
			"idle", "initstate", "io_stat", "max_comp_streams", "mem_limit", "mem_used_max", "mm_stat", "recomp_algorithm", "recompress", "reset", "size",
			"stat", "writeback", "writeback_limit", "writeback_limit_enable"},
		"control": {"loops", "pressure", "status"},
	} {
		entries, err := os.ReadDir(d.path(dir))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", dir, got, want)
		}
	}
	for path, want := range map[string]string{
		".":                   "drwxr-xr-x 6",
		"dev/zram0":           "-rw------- 1 16777216",
		"block":               "drwxr-xr-x 3",
		"block/zram0/mm_stat": "-r--r--r-- 1 4096",
		"control/status":      "-r--r--r-- 1 4096",
		"control/loops":       "-rw------- 1 4096",
	} {
		var st unix.Stat_t
		if err := unix.Stat(d.path(path), &st); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(d.path(path))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%v %d", info.Mode(), st.Nlink)
		if !info.IsDir() {
			got += fmt.Sprintf(" %d", st.Size)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
		if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
			t.Errorf("%s belongs to %d:%d", path, st.Uid, st.Gid)
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(d.path("dev", "zram0"), &fs); err != nil || fs.Bsize != 4096 || fs.Blocks != smallDisk/4096 || fs.Bfree != fs.Blocks {
		t.Errorf("statfs says %+v, %v", fs, err)
	}
}

// TestServedRefusals asks for what the tree does not do.
func TestServedRefusals(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	data, attribute := d.path("dev", "zram0"), d.path("block", "zram0", "mm_stat")
	open := func(path string, flags int) error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	f := d.open(os.O_RDWR)
	for name, c := range map[string]struct {
		got  error
		want error
	}{
		"make a file":            {open(d.path("new"), unix.O_CREAT|unix.O_RDWR), unix.EPERM},
		"make a nameless file":   {open(d.dir, unix.O_TMPFILE|unix.O_RDWR), unix.EPERM},
		"make a directory":       {unix.Mkdir(d.path("dev", "new"), 0o755), unix.EPERM},
		"make a fifo":            {unix.Mknod(d.path("new"), unix.S_IFIFO, 0), unix.EPERM},
		"link":                   {unix.Link(data, d.path("dev", "new")), unix.EPERM},
		"link symbolically":      {unix.Symlink("dev", d.path("new")), unix.EPERM},
		"rename":                 {unix.Rename(data, d.path("dev", "new")), unix.EPERM},
		"remove a file":          {unix.Unlink(data), unix.EPERM},
		"remove a directory":     {unix.Rmdir(d.path("control")), unix.EPERM},
		"change the mode":        {unix.Chmod(data, 0o666), unix.EPERM},
		"keep the mode":          {unix.Chmod(data, 0o600), nil},
		"keep the owner":         {unix.Chown(data, os.Geteuid(), os.Getegid()), nil},
		"change the owner":       {unix.Fchown(int(f.Fd()), 1, -1), notPermitted()},
		"change the group":       {unix.Fchown(int(f.Fd()), -1, 1), notPermitted()},
		"touch":                  {unix.Utime(data, nil), nil},
		"truncate to nothing":    {unix.Truncate(data, 0), nil}, // looks like opening to truncate
		"truncate to less":       {unix.Truncate(data, smallDisk-4096), unix.EINVAL},
		"truncate the handle":    {unix.Ftruncate(int(f.Fd()), 0), unix.EINVAL},
		"truncate to more":       {unix.Truncate(data, smallDisk+1), unix.EINVAL},
		"truncate to the size":   {unix.Truncate(data, smallDisk), nil},
		"open and truncate":      {open(data, unix.O_WRONLY|unix.O_TRUNC|unix.O_CREAT), nil},
		"open what is not there": {open(d.path("dev", "zram1"), unix.O_RDONLY), unix.ENOENT},
		"write an attribute":     {open(attribute, unix.O_WRONLY), unix.EACCES},
		"truncate an attribute":  {open(attribute, unix.O_WRONLY|unix.O_TRUNC), unix.EACCES},
		"list attributes":        {third(unix.Listxattr(data, nil)), unix.EOPNOTSUPP},
		"sync":                   {unix.Fsync(int(f.Fd())), nil},
		"ask for a block device": {third(unix.IoctlGetInt(int(f.Fd()), unix.BLKGETSIZE64)), unix.ENOTTY},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() != smallDisk || info.Mode() != 0o600 {
		t.Errorf("afterwards the data file is %v, %d bytes, %v", info.Mode(), info.Size(), err)
	}
}

func third(_ int, err error) error { return err }

// notPermitted is what the kernel answers to giving a file to user 1: EPERM, or
// EINVAL in a user namespace that has no such user.
func notPermitted() error {
	if text, err := os.ReadFile("/proc/self/uid_map"); err == nil && len(strings.Fields(string(text))) == 3 &&
		strings.Fields(string(text))[2] == "1" {
		return unix.EINVAL
	}
	return unix.EPERM
}

// TestServedTruncatingOpen opens as cp, dd and shells do: nothing is lost, as
// with a block device.
func TestServedTruncatingOpen(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	before := d.open(os.O_RDWR)
	if _, err := before.WriteAt([]byte("kept"), smallDisk-4); err != nil {
		t.Fatal(err)
	}
	after := d.open(os.O_RDWR | os.O_TRUNC | os.O_CREATE)
	for _, f := range []*os.File{before, after} {
		got := make([]byte, 4)
		if _, err := f.ReadAt(got, smallDisk-4); err != nil || string(got) != "kept" {
			t.Errorf("read %q, %v", got, err)
		}
	}
}

// TestServedAttributesUnderLoad reads attributes during writes, one of them in pieces: the contents
// are those of the time when it was opened.
func TestServedAttributesUnderLoad(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk, Algorithm: "zstd(level=1)"})
	f := d.open(os.O_RDWR)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		rng, p := rand.New(rand.NewPCG(9, 9)), make([]byte, 4*pageSize)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for i := range p {
				p[i] = byte(rng.Uint32N(16))
			}
			if _, err := f.WriteAt(p, rng.Int64N(smallDisk/pageSize-4)*pageSize); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	// A page that is being overwritten counts twice for a moment, and a new page may count in one
	// figure and not yet in the other.
	under := uint64(d.ask(commandState).Settings.Threads * pageSize)
	last := uint64(0)
	for range 200 {
		var s [9]uint64
		line := d.attribute("mm_stat")
		n, err := fmt.Sscan(line, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &s[7], &s[8])
		if err != nil || n != 9 || s[0]+under < last || s[0] > smallDisk+under || s[1] > s[0]+under {
			t.Errorf("mm_stat is %q after %d bytes, %v", line, last, err)
		}
		last = s[0]
	}
	close(stop)
	<-stopped
	var inPieces *os.File
	var before string
	first := make([]byte, 12)
	for range 100 { // until the store gives no memory back at that moment
		before, inPieces = d.attribute("mm_stat"), openAttribute(t, d)
		if _, err := io.ReadFull(inPieces, first); err != nil {
			t.Fatal(err)
		}
		if d.attribute("mm_stat") == before {
			break
		}
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, smallDisk); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(inPieces)
	if got := string(first) + string(rest); err != nil || got != before {
		t.Errorf("in pieces mm_stat is %q, as a whole it was %q, %v", got, before, err)
	}
	if after := d.attribute("mm_stat"); !strings.HasPrefix(after, "       0        0 ") {
		t.Errorf("with nothing stored mm_stat is %q", after)
	}
	for name, want := range map[string]string{
		"disksize":       "16777216\n",
		"initstate":      "1\n",
		"mem_limit":      "0\n",
		"comp_algorithm": "adaptive page page:dense lz4 lz4:fast [zstd(level=1)] raw \n",
	} {
		if got := d.attribute(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if status, err := os.ReadFile(d.path("control", "status")); err != nil || string(status) != "{}\n" {
		t.Errorf("status is %q, %v", status, err)
	}
}

func openAttribute(t *testing.T, d *device) *os.File {
	t.Helper()
	f, err := os.Open(d.path("block", "zram0", "mm_stat"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestServedOpenCount opens and closes the data file, and an attribute, which
// does not count.
func TestServedOpenCount(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	openAttribute(t, d)
	files := []*os.File{d.open(os.O_RDONLY), d.open(os.O_RDWR), d.open(os.O_RDWR | unix.O_DIRECT)}
	for n := len(files); n >= 0; n-- {
		waitFor(t, fmt.Sprintf("%d opens", n), func() bool { return d.ask(commandState).Opens == n })
		if n > 0 {
			if err := files[n-1].Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// waitFor asks until the answer is yes, for a while.
func waitFor(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !yes(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so after %v", what, patience)
		}
	}
}

// TestServedPanic lets a handler panic: EIO, a log line, and the device lives.
func TestServedPanic(t *testing.T) {
	d := newDevice(t, serveConfig{Disksize: smallDisk})
	d.ask(commandPanic)
	if _, err := os.ReadFile(d.path("control", "status")); !errors.Is(err, unix.EIO) {
		t.Errorf("reading what panics: %v, want EIO", err)
	}
	logs := strings.Join(d.ask(commandState).Logs, "\n")
	if !strings.Contains(logs, "as the test asked") || !strings.Contains(logs, "serve_test.go:") {
		t.Errorf("logged: %q", logs)
	}
	if _, err := d.open(os.O_RDWR).WriteAt([]byte("x"), 5); err != nil {
		t.Error(err)
	}
}
