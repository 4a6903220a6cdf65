// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// installedScript uses what lies in the directory $0 where it belongs, with a device at $1.
const installedScript = `mount --bind "$0/usr/local" /usr/local
/usr/local/bin/zramfs version
/usr/local/bin/zramfs mount --size 16M "$1" >/dev/null
trap '/usr/local/bin/zramfs umount "$1" >/dev/null' EXIT
echo zramfs | dd of="$1/dev/zram0" conv=notrunc status=none
for pid in $(/usr/local/bin/zramfs status -J "$1" | sed -nE 's/.*"(keeper|worker)_pid": *([0-9]+).*/\2/p'); do readlink /proc/$pid/exe; done
head -c 6 "$1/dev/zram0"
`

// make install puts two programs and their files below DESTDIR, where they serve a device, and make
// uninstall leaves none of them.
func TestInstall(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for _, program := range []string{"go", "install", "make", "unshare"} {
		require.Command(t, program)
	}
	dir, made := tempDir(t), tempDir(t)
	makes := func(target string) {
		t.Helper()
		system(t, makeTimeout, "make", "-C", "..", "-s", target, "BIN="+made, "DESTDIR="+dir)
	}
	makes("install")
	all := files(t, dir)
	for _, want := range []string{"-rwxr-xr-x bin/zramfs", "-rwxr-xr-x libexec/zramfsd", "-rw-r--r-- lib/systemd/system/zramfs@.service", "-rw-r--r-- lib/systemd/system/zramfs-sleep@.service",
		"Lrwxrwxrwx lib/systemd/system-generators/zramfs-generator", "-rw-r--r-- share/man/man8/zramfs.8", "-rw-r--r-- share/bash-completion/completions/zramfs"} {
		mode, name, _ := strings.Cut(want, " ")
		if !slices.Contains(all, mode+" usr/local/"+name) {
			t.Errorf("install makes no %s:\n%s", want, strings.Join(all, "\n"))
		}
	}
	programs := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return !strings.HasPrefix(f, "-rwx") })
	if len(programs) != 2 {
		t.Errorf("install makes the programs %q", programs)
	}

	r := runCommand(t, commandTimeout, exec.Command("unshare", "--mount", "sh", "-ec", installedScript, dir, filepath.Join(tempDir(t), "zram")))
	const server = "/usr/local/libexec/zramfsd"
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, "zramfs ") || !strings.HasSuffix(r.Stdout, " ("+server+")\n"+server+"\n"+server+"\nzramfs") {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}

	makes("uninstall")
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("uninstall leaves\n%s", strings.Join(left, "\n"))
	}
}

// files returns mode and path of all that lies below dir and is no directory.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		path, err = filepath.Rel(dir, path)
		all = append(all, info.Mode().String()+" "+path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
