// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

// secret is in every file of the machine that the bundle must leave alone.
const secret = "hunter2"

// stat is the rest of a line of /proc/PID/stat.
const stat = " S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 77 0 0\n"

// tree makes a machine of files.
func tree(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	root := host.Root(t.TempDir())
	for name, text := range files {
		path := root.Path(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func machine(t *testing.T) host.Root {
	t.Helper()
	return tree(t, map[string]string{
		"proc/version": "Linux version 6.14.0 (" + secret + "@home) (gcc 14) #1 SMP\n", "proc/cmdline": "key=" + secret,
		"proc/sys/kernel/hostname": secret, "proc/meminfo": "MemTotal: 1 kB\n", "proc/sys/vm/swappiness": "60\n",
		"proc/pressure/memory": "some avg10=0.00\n",
		"proc/self/mountinfo": "22 1 0:40 / /run/zram rw - fuse.zramfs zramfs rw\n23 1 0:41 / /home/" + secret + " rw - ext4 /dev/sda rw\n" +
			"24 1 0:42 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"dev/kmsg": "6,1,1500000,-;loop0: detected capacity change\n SUBSYSTEM=" + secret + "\n30,2,2000000,-;login: loop " + secret +
			"\n30,3,3000001,-;zramfs: worker 7 died\n4,4,4000000,-;usb 1-1: " + secret + "\n",
		"proc/100/stat": "100 (zramfsd)" + stat, "proc/100/cmdline": "@zramfsd\x00keeper\x00--label\x00" + secret + "\x00",
		"proc/100/environ": "PASSWORD=" + secret, "proc/100/status": "Name:\tzramfsd\n", "proc/100/cgroup": "0::/system.slice\n",
		"proc/100/task/100/stack": "[<0>] fuse_dev_do_read\n", "sys/fs/cgroup/system.slice/memory.max": "1048576\n",
		"proc/101/stat": "101 (zramfsd)" + stat, "proc/101/cmdline": "@zramfsd\x00worker\x00", "proc/101/status": "Name:\tzramfsd\n",
		"proc/200/stat": "200 (bash)" + stat, "proc/200/cmdline": "bash\x00" + secret + "\x00", "proc/200/status": "Name:\t" + secret + "\n",
		"proc/300/stat": "300 (zramfs)" + stat, "proc/300/cmdline": "zramfs\x00top\x00", "proc/300/status": "Name:\t" + secret + "\n",
	})
}

// program writes a script that answers as zramfs does with one device.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zramfs")
	script := `#!/bin/sh
case $1 in
status) echo '{"zramfs": [{"dir": ""}, {"dir": "/run/zram"}]}'; exit 1 ;;
trace) echo "trace /run/zram: no answer" >&2; exit 1 ;;
*) echo "{\"arguments\": \"$*\"}" ;;
esac
`
	if err := errors.Join(os.WriteFile(path, []byte(script), 0o600), os.Chmod(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	return path
}

// unpack returns the files of an archive.
func unpack(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil || h.Mode != 0o600 || h.Uname != "" {
			t.Errorf("%+v: %v", h, err)
		}
		files[h.Name] = string(text)
	}
}

// The bundle has the files that are there, says what is missing, and has nothing else of the
// machine.
func TestCollect(t *testing.T) {
	b, err := Collect(t.Context(), Source{Machine: machine(t), Program: program(t)})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := b.Write(&packed, time.Now()); err != nil {
		t.Fatal(err)
	}
	got := unpack(t, &packed)
	for name, want := range map[string]string{
		"version.json": `"version -J"`, "status.json": "/run/zram", "list.json": "list -J --output-all", "doctor.json": "doctor -J",
		"devices/1/events.json": "events -J /run/zram", "errors.txt": "devices/1/trace.json: zramfs trace printed no JSON; trace /run/zram: no answer",
		"machine/version": "Linux version 6.14.0 (gcc 14) #1 SMP", "machine/meminfo": "MemTotal", "machine/pressure/memory": "avg10",
		"machine/sysctls": "vm.swappiness = 60\n", "machine/parameters": "vm.swappiness = 60 (recommended: 133)", "machine/mounts": "fuse.zramfs",
		"machine/kernel-log":          "[    1.500000] loop0: detected capacity change\n[    3.000001] zramfs: worker 7 died\n",
		"processes/keeper-100/status": "zramfs", "processes/keeper-100/cgroup": "system.slice",
		"processes/keeper-100/stacks": "thread 100\n[<0>] fuse_dev_do_read", "processes/worker-101/status": "zramfs",
		"processes/keeper-100/limits-of-groups": "/sys/fs/cgroup/system.slice/memory.max: 1048576\n", "README.txt": "no page contents",
	} {
		text, ok := got[Top+"/"+name]
		if !strings.Contains(text, want) || !ok {
			t.Errorf("%s: %q, want %q in it", name, text, want)
		}
	}
	for name, text := range got {
		if strings.Contains(name+text, secret) {
			t.Errorf("%s has the secret: %q", name, text)
		}
		if short := strings.TrimPrefix(name, Top+"/"); short != "README.txt" && !strings.Contains(got[Top+"/README.txt"], "\n"+short+" ") {
			t.Errorf("README.txt does not name %s", short)
		}
	}
	if names := slices.Sorted(maps.Keys(got)); strings.Contains(strings.Join(names, " "), "300") {
		t.Errorf("a process that serves nothing is in %v", names)
	}
}

// A read that hangs or is interrupted costs its own file.
func TestTakeHangs(t *testing.T) {
	c := &collector{ctx: t.Context()}
	release := make(chan struct{})
	defer close(release)
	hang := func(context.Context) ([]byte, error) { <-release; return []byte("late"), nil }
	if data := c.take("stuck", "", time.Millisecond, hang); data != nil || len(c.files) != 0 {
		t.Errorf("%q, %v", data, c.files)
	}
	c.take("next", "", time.Minute, func(context.Context) ([]byte, error) { return make([]byte, maxFile+1), nil })
	c.take("large", "", time.Minute, func(context.Context) ([]byte, error) { return bytes.Repeat([]byte("x"), maxFile+1), nil })
	if len(c.files) != 2 || c.files[1].Name != "large" || len(c.files[1].Data) != maxFile {
		t.Errorf("%d files", len(c.files))
	}
	if len(c.problems) != 3 || !strings.HasPrefix(c.problems[0], "stuck: no answer for ") || !strings.HasPrefix(c.problems[2], "large: the first 4M of ") {
		t.Errorf("%q", c.problems)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Collect(ended, Source{Machine: host.Root(t.TempDir()), Program: "/nowhere"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the interruption: %v", err)
	}
}

// Create makes a private file, replaces none and leaves none behind.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "bundle"), filepath.Join(dir, "link")
	full := errors.New("no space")
	if _, err := Create(name, func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	if err := Free(name); err != nil {
		t.Errorf("something is left: %v", err)
	}
	hello := func(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }
	if size, err := Create(name, hello); size != 5 || err != nil {
		t.Fatal(size, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{name, link} {
		_, err := Create(taken, hello)
		if !errors.Is(err, os.ErrExist) || !errors.Is(Free(taken), os.ErrExist) {
			t.Errorf("%s: %v, %v", taken, err, Free(taken))
		}
	}
}
