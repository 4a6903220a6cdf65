// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// TestUserNSRandomIO works on a device at any offset and length, with and
// without O_DIRECT, and compares it with a copy in memory.
func TestUserNSRandomIO(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	for _, algorithm := range []string{"adaptive", "page", "lz4", "zstd(level=3)", "raw"} {
		t.Run(algorithm, func(t *testing.T) {
			s := openShadow(t, mount(t, "--size", "8M", "-a", algorithm))
			if err := s.churn(rand.New(rand.NewPCG(1, 2)), 0, len(s.want), 5000); err != nil {
				t.Fatal(err)
			}
			if err := s.checkAll(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUserNSParallelJobs lets jobs work at the same time on ranges whose borders
// lie inside pages: an update of part of a page must not undo that of another.
func TestUserNSParallelJobs(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	for _, c := range []struct {
		jobs, bytes, operations int
	}{
		{jobs: 8, bytes: 1<<20 + 123, operations: 1000},
		{jobs: 8, bytes: 509, operations: 2000}, // all in one page
	} {
		t.Run(fmt.Sprintf("%d x %d bytes", c.jobs, c.bytes), func(t *testing.T) {
			s := openShadow(t, mount(t, "--size", "9M"))
			var wg sync.WaitGroup
			for job := range c.jobs {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(3, uint64(job)))
					if err := s.churn(rng, job*c.bytes, (job+1)*c.bytes, c.operations); err != nil {
						t.Errorf("job %d: %v", job, err)
					}
				})
			}
			wg.Wait()
			if err := s.checkAll(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUserNSEnd reads and writes at the end of the device and behind it: a file
// of fixed size, as a block device is.
func TestUserNSEnd(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	const size = 1 << 20
	dir := mount(t, "--size", fmt.Sprint(size))
	fd := int(openData(t, dir, 0).Fd())
	buf := make([]byte, 8192)
	if n, err := unix.Pread(fd, buf, size-100); n != 100 || err != nil {
		t.Errorf("read across the end: %d, %v", n, err)
	}
	if n, err := unix.Pread(fd, buf, size); n != 0 || err != nil {
		t.Errorf("read at the end: %d, %v", n, err)
	}
	if n, err := unix.Pwrite(fd, buf, size-100); n != 100 || err != nil {
		t.Errorf("write across the end: %d, %v", n, err)
	}
	for name, c := range map[string]struct {
		err, want error
	}{
		"write at the end":        {second(unix.Pwrite(fd, buf, size)), unix.ENOSPC},
		"punch behind the end":    {unix.Fallocate(fd, punchHole, size, 4096), unix.EINVAL},
		"shorten":                 {unix.Ftruncate(fd, size/2), unix.EINVAL},
		"lengthen":                {unix.Ftruncate(fd, size*2), unix.EINVAL},
		"keep the size":           {unix.Ftruncate(fd, size), nil},
		"flush":                   {unix.Fsync(fd), nil},
		"remove the data file":    {unix.Unlink(data(dir)), unix.EPERM},
		"make a directory":        {unix.Mkdir(dir+"/new", 0o700), unix.EPERM},
		"extended attribute":      {second(unix.Getxattr(data(dir), "user.x", buf)), unix.ENOTSUP},
		"write to an attribute":   {second(unix.Open(dir+"/block/zram0/mm_stat", unix.O_WRONLY, 0)), unix.EACCES},
		"make an absent file":     {second(unix.Open(dir+"/dev/zram1", unix.O_CREAT|unix.O_RDWR, 0o600)), unix.EPERM},
		"look for an absent file": {unix.Access(dir+"/dev/zram1", unix.F_OK), unix.ENOENT},
	} {
		if c.err != c.want {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
}

func second(_ int, err error) error { return err }

// TestUserNSFio lets fio write blocks of mixed sizes, not aligned to anything,
// and verify them.
func TestUserNSFio(t *testing.T) {
	require.Command(t, "fio")
	if !inUserNS(t) {
		return
	}
	dir := mount(t, "--size", "96M")
	verify(t, data(dir), "96M", "--rw=randrw", "--bsrange=512-96k", "--bs_unaligned=1", "--direct=0")
	verify(t, data(dir), "96M", "--rw=randwrite", "--bsrange=4k-128k", "--direct=1", "--ioengine=libaio", "--iodepth=16")
	if s := statusOf(t, dir); s.IO.FailedReads+s.IO.FailedWrites+s.IO.ChecksumErrors != 0 || s.IO.Writes == 0 {
		t.Errorf("counters %+v", s.IO)
	}
}

// TestUserNSCommands asks for the device in the ways that the program offers.
func TestUserNSCommands(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	dir := mount(t, "--size", "16M", "-a", "lz4")
	if r := mustRun(t, commandTimeout, "list", "--raw", "-n", "-b", "-o", "NAME,ALGORITHM,DISKSIZE", dir); r.Stdout != data(dir)+" lz4 16777216\n" {
		t.Errorf("list: %q", r.Stdout)
	}
	if s := statusOf(t, dir); s.Dir != dir || s.Algorithm != "lz4" || s.Disksize != 16<<20 || s.Name != "zram0" {
		t.Errorf("status %+v", s)
	}
	if r := run(t, commandTimeout, "status", dir); r.Code != 0 || !strings.HasPrefix(r.Stdout, dir+": healthy") {
		t.Errorf("status: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	mustRun(t, commandTimeout, "umount", dir)
	if r := run(t, commandTimeout, "status", dir); r.Code != 3 {
		t.Errorf("status after umount: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := run(t, commandTimeout, "umount", dir); r.Code != 1 {
		t.Errorf("umount twice: exit code %d: %s", r.Code, r.Stderr)
	}
}

// TestUserNSTools uses the data file with common programs, which open it to be truncated, and write
// in blocks of their own choice.
func TestUserNSTools(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	const size = 6<<20 + 4711
	dir := mount(t, "--size", "8M")
	source := filepath.Join(tempDir(t), "source")
	if err := os.WriteFile(source, bytes.Join(pages.Mix(size/pageSize+1, 41), nil)[:size], 0o600); err != nil {
		t.Fatal(err)
	}
	compare := func() { t.Helper(); system(t, toolTimeout, "cmp", "-n", itoa(size), source, data(dir)) }
	system(t, toolTimeout, "cp", source, data(dir))
	compare()
	system(t, toolTimeout, "dd", "if=/dev/zero", "of="+data(dir), "bs=1000", "count=5000", "conv=notrunc", "status=none")
	system(t, toolTimeout, "cmp", "-n", "5000000", data(dir), "/dev/zero")
	system(t, toolTimeout, "dd", "if="+source, "of="+data(dir), "bs=12345", "status=none")
	compare()
	system(t, toolTimeout, "sh", "-c", `cat "$1" >"$2"`, "sh", source, data(dir))
	compare()
	system(t, toolTimeout, "fallocate", "--punch-hole", "--offset", "0", "--length", "8M", data(dir))
	system(t, toolTimeout, "cmp", "-n", itoa(8<<20), data(dir), "/dev/zero")
	if m := statusOf(t, dir).Memory; m.OrigDataSize != 0 {
		t.Errorf("after punching all of it %+v", m)
	}
}
