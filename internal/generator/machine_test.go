// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// rootWith makes a root directory with one file.
func rootWith(t *testing.T, file, text string) host.Root {
	t.Helper()
	root := host.Root(t.TempDir())
	path := root.Path(file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestWantedBy(t *testing.T) {
	for line, want := range map[string]Answer{"": Silent, "systemd.zram": Yes, "systemd.zram=1": Yes, "systemd.zram=no": No, "systemd.zram= ": Silent,
		"systemd.zram=0 systemd.zram": Yes, "systemd.zramfs=1 zram=1 xsystemd.zram": Silent, "systemd.zram=x": Silent} {
		got, err := WantedBy(rootWith(t, "proc/cmdline", line+"\n"))
		if got != want || (err != nil) != (line == "systemd.zram=x" || line == "systemd.zram= ") {
			t.Errorf("%q: %d, %v; want %d", line, got, err, want)
		}
	}
}

func TestContainer(t *testing.T) {
	for _, test := range []struct{ env, file, text, want string }{
		{"", "", "", ""},
		{"container:systemd-nspawn", "", "", "systemd-nspawn"},
		{"container:wsl", "", "", ""},
		{"vm:kvm", "run/systemd/container", "docker", ""},
		{"", "run/systemd/container", "lxc\n", "lxc"},
		{"", "run/host/container-manager", "podman", "podman"},
		{"", "run/systemd/container", "wsl", ""},
	} {
		root := rootWith(t, "etc/none", "")
		if test.file != "" {
			root = rootWith(t, test.file, test.text)
		}
		if got := Container(root, func(string) string { return test.env }); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// The names are those that systemd-escape --path makes.
func TestUnitName(t *testing.T) {
	for path, want := range map[string]string{"/": "-", "/run/zram": "run-zram", "/srv/fast swap": `srv-fast\x20swap`, "/.a/.b": `\x2ea-.b`, "/a-b/é": `a\x2db-\xc3\xa9`, "/A_1:2": "A_1:2"} {
		if got := unitName(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
