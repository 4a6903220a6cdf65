// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// refused runs a command that must fail with this exit code and one line that
// matches pattern, and leave nothing behind in and below where: no file, no
// mount, no process.
func refused(t *testing.T, where string, cmd *exec.Cmd, code int, pattern string) {
	t.Helper()
	before := traces(t, where)
	r := runCommand(t, commandTimeout, cmd)
	line, rest, ended := strings.Cut(r.Stderr, "\n")
	switch {
	case r.Code != code:
		t.Errorf("exit code %d, want %d: %s%s", r.Code, code, r.Stdout, r.Stderr)
	case r.Stdout != "" || !ended || rest != "":
		t.Errorf("not one line on standard error: %q, %q", r.Stdout, r.Stderr)
	case !regexp.MustCompile(`^zramfs: ` + pattern).MatchString(line):
		t.Errorf("it said %q, want something that matches %q", line, pattern)
	}
	if after := traces(t, where); !slices.Equal(after, before) {
		t.Errorf("left behind: %q, before there was %q", after, before)
	}
}

// traces lists what there is in and below a directory.
func traces(t *testing.T, where string) []string {
	t.Helper()
	all, err := leftovers(root)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestRefusedArguments gives mount what it cannot use.
func TestRefusedArguments(t *testing.T) {
	const size, help = `write bytes or K, M, G or T`, `[sS]ee zramfs mount --help`
	for name, c := range map[string]struct {
		args    []string
		pattern string
	}{
		"unknown algorithm":      {[]string{"-a", "lzo", "DIR"}, `.*algorithm.*"lzo".*adaptive.*lz4.*zstd`},
		"bad level":              {[]string{"-a", "zstd(level=99)", "DIR"}, `.*level`},
		"size of zero":           {[]string{"--size", "0", "DIR"}, `size "0": .*` + size},
		"no size":                {[]string{"--size", "", "DIR"}, `size "": .*` + size},
		"negative size":          {[]string{"--size=-1G", "DIR"}, `size "-1G": .*negative.*` + size},
		"words for a size":       {[]string{"--size", "big", "DIR"}, `size "big": .*` + size},
		"beyond 16 TiB":          {[]string{"--size", "17T", "DIR"}, `size "17T": it is beyond 16T`},
		"a page beyond":          {[]string{"--size", fmt.Sprint(16<<40 + 1), "DIR"}, `size .*beyond 16T`},
		"overflowing size":       {[]string{"--size", "99999999999999999999E", "DIR"}, `size .*beyond 16T`},
		"bad limit":              {[]string{"--mem-limit", "x", "DIR"}, `memory limit "x": .*` + size},
		"limit below the least":  {[]string{"--size", "64M", "--mem-limit", "64K", "DIR"}, `memory limit 64K is too small: a 64M device needs`},
		"unknown flag":           {[]string{"--sise", "1G", "DIR"}, `mount: .*--sise.*` + help},
		"flag without its value": {[]string{"DIR", "--size"}, `mount: .*--size.*` + help},
		"no DIR":                 {nil, `mount: name one DIR, as`},
		"empty DIR":              {[]string{""}, `mount: name one DIR, as`},
		"two DIRs":               {[]string{"DIR", "DIR2"}, `mount: name one DIR, as`},
	} {
		for _, way := range []string{"background", "foreground"} {
			t.Run(name+", "+way, func(t *testing.T) {
				where := tempDir(t)
				args := []string{"mount"}
				if way == "foreground" {
					args = append(args, "--foreground")
				}
				for _, a := range c.args {
					if a == "DIR" || a == "DIR2" {
						a = filepath.Join(where, a)
					}
					args = append(args, a)
				}
				refused(t, where, command(t, args...), 2, c.pattern)
			})
		}
	}
}

// TestRefusedCommands types what the program does not know.
func TestRefusedCommands(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		code    int
		pattern string
	}{
		"unknown command":        {[]string{"mont", "/run/zram"}, 2, `unknown command "mont"; did you mean mount\? See zramfs --help`},
		"umount of nothing":      {[]string{"umount"}, 2, `umount: name one DIR`},
		"umount of no mount":     {[]string{"umount", "/proc"}, 1, `no zramfs device at /proc(; there are: .*)?`},
		"list of no mount":       {[]string{"list", "/proc"}, 1, `no zramfs device at /proc(; there are: .*)?`},
		"list of no such column": {[]string{"list", "-o", "NAME,COLOUR"}, 1, `unknown column: COLOUR`},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, tempDir(t), command(t, c.args...), c.code, c.pattern)
		})
	}
}

// TestRefusedDirectories mounts where nothing can be mounted.
func TestRefusedDirectories(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for name, c := range map[string]struct {
		prepare func(dir string) error
		pattern string
	}{
		"not empty": {
			func(dir string) error { return os.MkdirAll(filepath.Join(dir, "something"), 0o755) },
			`.*/zram cannot be mounted on: not empty; name an empty directory`},
		"a file":           {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, `.*/zram cannot be mounted on: not a directory`},
		"no parent":        {func(dir string) error { return os.Remove(filepath.Dir(dir)) }, `mount point .*: its parent must exist`},
		"parent is a file": {func(dir string) error { return replaceByFile(filepath.Dir(dir)) }, `make mount point: mkdir .*: not a directory`},
		"dead link":        {func(dir string) error { return os.Symlink("nowhere", dir) }, `mount point .*no such file`},
	} {
		for _, way := range [][]string{nil, {"--foreground"}} {
			t.Run(fmt.Sprint(name, way), func(t *testing.T) {
				where := tempDir(t)
				dir := filepath.Join(where, "parent", "zram")
				if err := os.Mkdir(filepath.Dir(dir), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := c.prepare(dir); err != nil {
					t.Fatal(err)
				}
				args := slices.Concat([]string{"mount"}, way, []string{"--size", "16M", dir})
				refused(t, where, command(t, args...), 1, c.pattern)
			})
		}
	}
}

func replaceByFile(dir string) error {
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.WriteFile(dir, nil, 0o600)
}

// TestRefusedSecondMount mounts on a device, directly, by a link, and on its own
// directories; the device itself is not touched.
func TestRefusedSecondMount(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	dir := mount(t, "--size", "16M")
	where := filepath.Dir(dir)
	link := filepath.Join(tempDir(t), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	pid := statusOf(t, dir).PID
	for name, c := range map[string]struct{ at, pattern string }{
		"on it":         {dir, `.*/zram cannot be mounted on: a zramfs is mounted there already; zramfs umount`},
		"by a link":     {link, `.*/zram cannot be mounted on: a zramfs is mounted there already; zramfs umount`},
		"inside":        {filepath.Join(dir, "dev"), `.*/dev cannot be mounted on: not empty`},
		"inside, new":   {filepath.Join(dir, "new"), `make mount point: .*operation not permitted`},
		"the data file": {data(dir), `.*/zram0 cannot be mounted on: not a directory`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, way := range [][]string{nil, {"--foreground"}} {
				refused(t, where, command(t, slices.Concat([]string{"mount"}, way, []string{"--size", "16M", c.at})...), 1, c.pattern)
			}
		})
	}
	if s := statusOf(t, dir); s.PID != pid || !running(pid) {
		t.Errorf("process %d serves instead of %d", s.PID, pid)
	}
}

// TestRefusedUmountInUse unmounts a device while a process uses it.
func TestRefusedUmountInUse(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	if !apart(t) {
		return
	}
	dir := mount(t, "--size", "16M")
	f := openData(t, dir, 0)
	umount := func() *exec.Cmd { return command(t, "umount", dir) }
	refused(t, filepath.Dir(dir), umount(), 1, `cannot unmount .*/zram: a process uses it: fuser -vm .*/zram .*/zram/dev names it`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	loop := attachments["loopsetup"](t, dir)
	refused(t, filepath.Dir(dir), umount(), 1, `cannot unmount .*/zram: `+loop+` is on it: losetup -d `+loop)
}

// TestRefusedWithoutFUSE hides /dev/fuse in a mount namespace, and covers it with
// a device that is none.
func TestRefusedWithoutFUSE(t *testing.T) {
	require.Root(t)
	for name, c := range map[string]struct{ hide, pattern string }{
		"absent": {`mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3`, `.*open /dev/fuse: no such file or directory.*modprobe fuse`},
		"other":  {`mount --bind /dev/null /dev/fuse`, `.*/dev/fuse.*(modprobe fuse|--device /dev/fuse)`},
	} {
		for _, way := range []string{"", " --foreground"} {
			t.Run(name+way, func(t *testing.T) {
				where := tempDir(t)
				cmd := exec.Command("sh", "-c", c.hide+` && exec "$1" mount`+way+` --size 16M "$2"`, "sh", binary(t), filepath.Join(where, "zram"))
				cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
				refused(t, where, cmd, 1, c.pattern)
			})
		}
	}
}

// TestRefusedWithoutPrivilege mounts as an ordinary user outside of namespaces,
// and where that user cannot make a directory.
func TestRefusedWithoutPrivilege(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	for name, c := range map[string]struct {
		mode    os.FileMode // of the parent
		pattern string
	}{
		"directory of others": {0o755, `make mount point: mkdir .*: permission denied`},
		"own directory":       {0o777, `mount .*: (operation not permitted|open /dev/fuse: permission denied): run as root`},
	} {
		t.Run(name, func(t *testing.T) {
			where := tempDir(t)
			if err := os.Chmod(where, c.mode); err != nil {
				t.Fatal(err)
			}
			for _, way := range [][]string{nil, {"--foreground"}} {
				cmd := command(t, slices.Concat([]string{"mount"}, way, []string{"--size", "16M", filepath.Join(where, "zram")})...)
				cmd.Dir = "/"
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
				refused(t, where, cmd, 1, c.pattern)
			}
		})
	}
}
