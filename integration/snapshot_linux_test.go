// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/require"
)

// An inspected is what snapshot inspect --json prints.
type inspected struct {
	Inspect struct {
		Pages     uint64 `json:"pages"`
		Disksize  uint64 `json:"disksize"`
		OneMoment bool   `json:"one_moment"`
		SHA256    string `json:"sha256"`
		Damage    *struct {
			Offset int64  `json:"offset"`
			Page   uint64 `json:"page"`
			What   string `json:"what"`
		} `json:"damage"`
	} `json:"inspect"`
}

// inspect runs snapshot inspect and wants its exit code to agree with what it says.
func inspect(t *testing.T, file string) inspected {
	t.Helper()
	r := run(t, commandTimeout, "snapshot", "inspect", "--json", file)
	var i inspected
	if err := json.Unmarshal([]byte(r.Stdout), &i); err != nil {
		t.Fatalf("inspect: exit code %d: %v: %s%s", r.Code, err, r.Stdout, r.Stderr)
	}
	if damaged := i.Inspect.Damage != nil; damaged != (r.Code == 1) || damaged == (i.Inspect.SHA256 != "") {
		t.Errorf("inspect: exit code %d: %s", r.Code, r.Stdout)
	}
	return i
}

// contentFile writes what a device of some size holds to a file, zeros behind it.
func contentFile(t *testing.T, content []byte, size int64) string {
	t.Helper()
	name := filepath.Join(tempDir(t), "content")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	return name
}

// fillDevice writes a file's beginning to a device.
func fillDevice(t *testing.T, file, dir string, pages int) {
	t.Helper()
	system(t, commandTimeout, "dd", "if="+file, "of="+data(dir), "bs=4096", fmt.Sprintf("count=%d", pages), "conv=notrunc,fsync", "status=none")
}

// weightsAndMore are weights of a model, pages of all other kinds, and holes.
func weightsAndMore() []byte {
	content := bytes.Join(pages.Generate(pages.BF16, 3000, 91), nil)
	content = append(content, make([]byte, 2000*pageSize)...)
	content = append(content, bytes.Join(pages.Mix(3000, 92), nil)...)
	for i := range 50 {
		content = append(content, bytes.Repeat([]byte{byte(i), 1, 2, 3, 4, 5, 6, byte(i)}, pageSize/8)...)
	}
	return content
}

// saveAndRestore brings the contents of one device to another, larger one, and wants every byte.
func saveAndRestore(t *testing.T, content []byte, from, to string) (file string) {
	t.Helper()
	want := contentFile(t, content, int64(statusOf(t, to).Disksize))
	fillDevice(t, want, from, len(content)/pageSize)
	file = filepath.Join(tempDir(t), "saved")
	if r := mustRun(t, commandTimeout, "snapshot", "save", from, file); !strings.Contains(r.Stdout, "all of one moment") {
		t.Errorf("it says %q", r.Stdout)
	}
	onlyFile(t, file)
	if i := inspect(t, file).Inspect; i.Damage != nil || !i.OneMoment || i.Disksize != statusOf(t, from).Disksize || i.Pages == 0 {
		t.Errorf("inspect says %+v", i)
	}
	if r := mustRun(t, commandTimeout, "snapshot", "restore", file, to); !strings.Contains(r.Stdout, " restored to "+to) {
		t.Errorf("it says %q", r.Stdout)
	}
	system(t, commandTimeout, "cmp", want, data(to))
	if v := scrub(t, to).Verify; v.Wrong != 0 {
		t.Errorf("verify says %+v", v)
	}
	return file
}

// F091: weights of a model, and whatever else, come back byte for byte on a device of another
// algorithm and size.
func TestF091Snapshot(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	content := weightsAndMore()
	for _, c := range [][2]string{{"adaptive", "lz4"}, {"lz4", "zstd"}, {"zstd", "page:dense"}, {"raw", "page"}} {
		t.Run(c[0], func(t *testing.T) {
			from, to := mount(t, "--size", "64M", "-a", c[0]), mount(t, "--size", "96M", "-a", c[1])
			file := saveAndRestore(t, content, from, to)
			again := filepath.Join(tempDir(t), "again")
			mustRun(t, commandTimeout, "snapshot", "save", to, again) // the same objects, in another header
			if a, b := statusOf(t, from).Memory, statusOf(t, to).Memory; a.ComprDataSize != b.ComprDataSize {
				t.Errorf("%d bytes of objects were saved, %d restored", a.ComprDataSize, b.ComprDataSize)
			}
			if a, b := inspect(t, file).Inspect, inspect(t, again).Inspect; a.Pages != b.Pages || a.SHA256 == b.SHA256 {
				t.Errorf("%+v was saved, then %+v", a, b)
			}
		})
	}
}

// Real pages come back, and by --force over other data.
func TestF091SnapshotOfRealPages(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	real := pages.Real(t)
	from, to := mount(t, "--size", "128M"), mount(t, "--size", "128M", "-a", "lz4")
	file := saveAndRestore(t, bytes.Join(real, nil), from, to)
	other := contentFile(t, bytes.Join(pages.Generate(pages.Random, 2000, 4), nil), 128<<20)
	fillDevice(t, other, to, 128<<20/pageSize)
	mustRun(t, commandTimeout, "snapshot", "restore", "--force", file, to)
	system(t, commandTimeout, "cmp", data(from), data(to))
}

// TestUserNSSnapshot needs no privilege.
func TestUserNSSnapshot(t *testing.T) {
	if !inUserNS(t) {
		return
	}
	saveAndRestore(t, weightsAndMore(), mount(t, "--size", "64M"), mount(t, "--size", "64M"))
}

// A file system comes back as it was on a larger device.
func TestSnapshotOfFileSystem(t *testing.T) {
	for _, program := range []string{"mkfs.ext4", "fsck.ext4", "fsfreeze", "mount", "umount"} {
		require.Command(t, program)
	}
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	from, to, where := mount(t, "--size", "64M"), mount(t, "--size", "80M"), tempDir(t)
	file, frozen := filepath.Join(tempDir(t), "saved"), filepath.Join(tempDir(t), "frozen")
	files := filesOf(bytes.Join(pages.Mix(6000, 5), nil))
	loop := attachments["losetup"](t, from)
	system(t, toolTimeout, "mkfs.ext4", "-q", loop)
	withMount(t, loop, where, func() {
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(where, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r := run(t, commandTimeout, "snapshot", "save", from, file); r.Code != 1 || !strings.Contains(r.Stderr, loop+" has a file system on "+where) {
			t.Errorf("exit code %d: %s", r.Code, r.Stderr)
		}
		system(t, toolTimeout, "fsfreeze", "-f", where)
		r := run(t, commandTimeout, "snapshot", "save", "--live", from, frozen)
		system(t, toolTimeout, "fsfreeze", "-u", where)
		if r.Code != 0 || !strings.Contains(r.Stdout, "all of one moment") {
			t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
	})
	detachLoops(t, from)
	mustRun(t, commandTimeout, "snapshot", "save", from, file)
	mustRun(t, commandTimeout, "snapshot", "restore", file, to)
	system(t, commandTimeout, "cmp", "-n", fmt.Sprint(64<<20), data(from), data(to))
	wantFiles(t, to, where, files)
	mustRun(t, commandTimeout, "snapshot", "restore", "--force", frozen, to)
	wantFiles(t, to, where, files)
}

// wantFiles mounts the file system of a device and wants it to have some files.
func wantFiles(t *testing.T, dir, where string, files map[string][]byte) {
	t.Helper()
	loop := attachments["losetup"](t, dir)
	withMount(t, loop, where, func() {
		for name, content := range files {
			if got, err := os.ReadFile(filepath.Join(where, name)); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s came back as %d bytes that differ, %v", name, len(got), err)
			}
		}
	})
	system(t, toolTimeout, "fsck.ext4", "-f", "-n", loop)
	detachLoops(t, dir)
}

// Pages that need a dictionary are kept where the device has it, and compressed again elsewhere.
func TestSnapshotWithDictionary(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	content := bytes.Join(pages.Generate(pages.Text, 1024, 15), nil)
	dict := filepath.Join(tempDir(t), "dict")
	writeDictionary(t, dict, pages.Text)
	algorithm := "zstd(level=1,dict=" + dict + ")"
	from, same := mount(t, "--size", "32M", "-a", algorithm), mount(t, "--size", "32M", "-a", algorithm)
	file := saveAndRestore(t, content, from, same)
	if a, b := statusOf(t, from).Memory, statusOf(t, same).Memory; a.ComprDataSize != b.ComprDataSize {
		t.Errorf("%d bytes of objects were saved, %d restored", a.ComprDataSize, b.ComprDataSize)
	}
	other := mount(t, "--size", "32M", "-a", "lz4")
	if r := mustRun(t, commandTimeout, "snapshot", "restore", file, other); !strings.Contains(r.Stdout, " compressed again") {
		t.Errorf("it says %q", r.Stdout)
	}
	system(t, commandTimeout, "cmp", data(from), data(other))
}

// The program refuses an impossible save or restore, and changes neither file nor device.
func TestSnapshotRefused(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	from, small, in := mount(t, "--size", "32M"), mount(t, "--size", "16M"), tempDir(t)
	want := contentFile(t, bytes.Join(pages.Mix(5000, 6), nil), 32<<20)
	fillDevice(t, want, from, 5000)
	file := filepath.Join(in, "saved")
	mustRun(t, commandTimeout, "snapshot", "save", from, file)
	refused := func(want string, code int, args ...string) {
		t.Helper()
		r := run(t, commandTimeout, append([]string{"snapshot"}, args...)...)
		if r.Code != code || !strings.Contains(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("snapshot %q: exit code %d: %q, want %d and %q", args, r.Code, r.Stderr, code, want)
		}
	}
	refused("say what to do", 2, "save", from)
	refused("--live is for zramfs snapshot save", 2, "restore", "--live", file, small)
	refused("inspect has the flag --json only", 2, "inspect", "--force", file)
	refused("--force replaces it", 1, "save", from, file)
	refused("there is no "+file+"2.partial to go on with", 1, "save", "--resume", from, file+"2")
	refused("no zramfs device at ", 1, "restore", file, in)
	refused("not a snapshot of zramfs", 1, "restore", want, small)
	refused("nothing was changed: page 4999 of "+file+" has data, and the device has 4096 pages: it needs a device of 20000K", 1, "restore", file, small)
	refused("the device holds data", 1, "restore", file, from)
	f := openData(t, from, unix.O_DIRECT)
	refused("it is in use", 1, "restore", "--force", file, from)
	refused("it is in use", 1, "save", from, file+"2")
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	loop := attachments["losetup"](t, small)
	refused("it is in use: "+loop, 1, "restore", "--force", file, small)
	detachLoops(t, small)
	if s := statusOf(t, small); s.IO.Writes+s.IO.Discards != 0 {
		t.Errorf("%d pages of a device were written, %d discarded", s.IO.Writes, s.IO.Discards)
	}
	onlyFile(t, file)
	system(t, commandTimeout, "cmp", want, data(from))
	fillDevice(t, contentFile(t, make([]byte, 32<<20), 32<<20), from, 5000) // the pages beyond 16M hold zeros: nothing is lost
	fillDevice(t, want, from, 4096)
	mustRun(t, commandTimeout, "snapshot", "save", "--force", from, file)
	mustRun(t, commandTimeout, "snapshot", "restore", file, small)
	system(t, commandTimeout, "cmp", "-n", fmt.Sprint(16<<20), data(from), data(small))
}
