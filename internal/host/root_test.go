// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// tree makes a Root with these files.
func tree(t *testing.T, files map[string]string) Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return Root(dir)
}

func TestFiles(t *testing.T) {
	r := tree(t, map[string]string{
		"proc/meminfo":              "MemFree: 7 kB\nMemTotal:     16384 kB\n",
		"proc/sys/vm/swappiness":    "60\n",
		"proc/sys/kernel/osrelease": "6.8.0-x\n",
	})
	if n, err := r.MemTotal(); n != 16<<20 || err != nil {
		t.Errorf("MemTotal: %d, %v", n, err)
	}
	if n, err := r.number("proc/sys/vm/swappiness"); n != 60 || err != nil {
		t.Errorf("number: %d, %v", n, err)
	}
	if n, err := r.number("proc/sys/kernel/osrelease"); err == nil {
		t.Errorf("number of a word: %d", n)
	}
	if text, err := r.Field("proc/meminfo", "Mem"); err == nil {
		t.Errorf("a missing field is %q", text)
	}
	if !r.exists("proc/meminfo") || r.exists("proc/swaps") {
		t.Error("exists")
	}
	if err := r.WriteSysctl("vm.swappiness", "133"); err != nil {
		t.Error(err)
	}
	if text, err := r.Sysctl("vm.swappiness"); text != "133" || err != nil {
		t.Errorf("Sysctl: %q, %v", text, err)
	}
	if err := r.WriteSysctl("vm.no-such", "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteSysctl of a parameter that is missing: %v", err)
	}
}

func TestCapabilities(t *testing.T) {
	r := tree(t, map[string]string{
		"proc/self/status":  "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000204000\n",
		"proc/self/uid_map": "         0          0 4294967295\n",
	})
	for c, want := range map[Capability]bool{CapIPCLock: true, CapSysAdmin: true, CapSysNice: false, CapSysResource: false} {
		if got, err := r.HasCapability(c); got != want || err != nil {
			t.Errorf("capability %d: %v, %v", c, got, err)
		}
	}
	if first, err := r.InFirstUserNamespace(); !first || err != nil {
		t.Errorf("first namespace: %v, %v", first, err)
	}
	inner := tree(t, map[string]string{"proc/self/uid_map": "0 100000 65536\n"})
	if first, err := inner.InFirstUserNamespace(); first || err != nil {
		t.Errorf("another namespace: %v, %v", first, err)
	}
	if _, err := inner.HasCapability(CapSysNice); err == nil {
		t.Error("a capability without proc/self/status")
	}
	if os.Geteuid() == 0 {
		if uid, ok := inner.OuterUser(); uid != 100000 || !ok {
			t.Errorf("outer user %d, %v", uid, ok)
		}
	}
}

func TestSeesMount(t *testing.T) {
	r := tree(t, map[string]string{"proc/7/mountinfo": "24 1 0:21 / /proc rw - proc proc rw\n36 24 0:42 / /mnt rw - fuse zramfs rw\n"})
	for _, c := range []struct {
		pid, minor int
		sees       bool
		err        error
	}{{7, 42, true, nil}, {7, 4, false, nil}, {7, 24, false, nil}, {0, 42, false, nil}, {8, 42, false, fs.ErrNotExist}} {
		if sees, err := r.SeesMount(c.pid, c.minor); sees != c.sees || !errors.Is(err, c.err) {
			t.Errorf("process %d, mount %d: %v, %v", c.pid, c.minor, sees, err)
		}
	}
}
