// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInFirstPIDNamespace(t *testing.T) {
	for name, want := range map[string]bool{firstPIDNamespace: true, "pid:[4026532200]": false} {
		r := tree(t, nil)
		link := r.Path("proc/self/ns/pid")
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(name, link)); err != nil {
			t.Fatal(err)
		}
		if first, err := r.InFirstPIDNamespace(); first != want || err != nil {
			t.Errorf("%s: %v, %v", name, first, err)
		}
	}
}

// Before Linux 6.18 the mounts tell: each has a number of its own.
func TestInFirstMountNamespace(t *testing.T) {
	const own = "27 1 0:25 / / rw - ext4 /dev/vda rw\n36 27 0:33 / /run rw - tmpfs tmpfs rw\n"
	const inner = "1 1 0:2 / / rw - rootfs rootfs rw\n36 1 0:33 / /r rw - tmpfs tmpfs rw\n"
	const other = "127 1 0:25 / / rw - ext4 /dev/vda rw\n136 127 0:33 / /run rw - tmpfs tmpfs rw\n"
	for _, c := range []struct {
		mnt, pid, mounts string
		want             bool
	}{
		{firstMountNamespace, "pid:[4026532200]", other, true},
		{"mnt:[4026532201]", firstPIDNamespace, own, true},
		{"mnt:[4026532201]", firstPIDNamespace, inner, true}, // the root directory is another
		{"mnt:[4026532201]", firstPIDNamespace, other, false},
		{"mnt:[4026532201]", "pid:[4026532200]", own, false}, // process 1 is a container's
	} {
		r := tree(t, map[string]string{"proc/self/mountinfo": own, "proc/1/mountinfo": c.mounts, "proc/self/ns/x": ""})
		if err := errors.Join(os.Symlink(c.mnt, r.Path("proc/self/ns/mnt")), os.Symlink(c.pid, r.Path("proc/self/ns/pid"))); err != nil {
			t.Fatal(err)
		}
		if first, err := r.InFirstMountNamespace(); first != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, first, err)
		}
	}
}

func TestRealUser(t *testing.T) {
	for text, want := range map[string]int{"Uid:\t0\t1\t0\t0\n": 0, "Uid:\t1000\t0\t0\t0\n": 1000} {
		if uid, err := tree(t, map[string]string{"proc/self/status": text}).RealUser(); uid != want || err != nil {
			t.Errorf("%q: %d, %v", text, uid, err)
		}
	}
	if uid, err := Local.RealUser(); uid != os.Getuid() || err != nil {
		t.Errorf("this process runs as %d, %v", uid, err)
	}
}
