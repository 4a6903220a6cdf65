// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

var packagesIn = flag.String("packages", "", "directory with packages of two versions and a system to install them in, as make test-packages makes it")

const (
	firstVersion  = "1.0.0"
	secondVersion = "1.0.1"
	packageTime   = 30 * time.Second
)

// A packageManager is how packages of one format are handled in the system of the test.
type packageManager struct {
	name, file string   // file is the pattern of the package
	install    []string // and upgrade, before the names of files
	remove     []string
	refuses    bool   // to remove what a script wants to stay
	kept       string // the edited configuration after remove
	purge      []string
}

var packageManagers = []packageManager{
	{name: "deb", file: "zramfs_*.deb", install: []string{"apt-get", "-o", "APT::Sandbox::User=root", "install", "-y", "-qq"},
		remove: []string{"apt-get", "remove", "-y", "-qq", "zramfs"}, refuses: true, kept: "/etc/zramfs.conf", purge: []string{"dpkg", "--purge", "zramfs"}},
	{name: "rpm", file: "zramfs-[0-9]*.rpm", install: []string{"rpm", "-U", "--nodeps"},
		remove: []string{"rpm", "-e", "--nodeps", "zramfs"}, refuses: true, kept: "/etc/zramfs.conf.rpmsave"},
	{name: "apk", file: "zramfs_*.apk", install: []string{"apk", "add", "--initdb", "--no-network", "--allow-untrusted", "-q"},
		remove: []string{"apk", "del", "-q", "zramfs"}, kept: "/etc/zramfs.conf"},
}

// A packagedSystem is a small Linux that shares the kernel with this one, in a mount namespace of
// its own. It has the tree of make test-packages below it, and keeps what changes in a tmpfs.
type packagedSystem struct {
	manager packageManager
	anchor  *exec.Cmd // keeps the namespace
}

// systemScript makes the system from the tree $0 with the packages $1; $2 is an empty directory.
const systemScript = `set -e
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$0,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
cd "$2/root"
mkdir -p packages
mount --bind "$1" packages
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
[ -z "$3" ] || cp "$3" sbin/apk
exec chroot . sh -c 'echo made; exec sleep 600'`

// newPackagedSystem starts a system, which ends with the test.
func newPackagedSystem(t *testing.T, m packageManager) *packagedSystem {
	t.Helper()
	in, err := filepath.Abs(*packagesIn)
	if err != nil {
		t.Fatal(err)
	}
	apk, err := exec.LookPath("apk")
	if err != nil {
		apk = ""
	}
	s := &packagedSystem{manager: m}
	s.anchor = exec.Command("sh", "-c", systemScript, filepath.Join(in, "tree"), in, tempDir(t), apk)
	s.anchor.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	s.anchor.Stderr = os.Stderr
	out, err := s.anchor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.anchor.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.anchor.Process.Kill()
		_ = s.anchor.Wait()
	})
	made := make([]byte, len("made\n"))
	if n, err := out.Read(made); err != nil || string(made[:n]) != "made\n" {
		t.Fatalf("the system was not made: %q, %v", made[:n], err)
	}
	return s
}

// run runs a command in the system.
func (s *packagedSystem) run(t testing.TB, args ...string) result {
	t.Helper()
	enter := []string{"-t", strconv.Itoa(s.anchor.Process.Pid), "-m", "-r", "-w", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"}
	return runCommand(t, packageTime, exec.Command("nsenter", append(enter, args...)...))
}

// must is run for a command that has to succeed.
func (s *packagedSystem) must(t testing.TB, args ...string) result {
	t.Helper()
	r := s.run(t, args...)
	if r.Code != 0 {
		t.Fatalf("%s: exit code %d: %s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r
}

// install installs the package of a version, or upgrades or downgrades to it.
func (s *packagedSystem) install(t testing.TB, version string) result {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(*packagesIn, version, s.manager.file))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages %s of version %s: %v, %v", s.manager.file, version, found, err)
	}
	args := s.manager.install
	if s.manager.name == "deb" {
		args = append(args[:len(args):len(args)], "--allow-downgrades", "--reinstall")
	}
	if s.manager.name == "rpm" {
		args = append(args[:len(args):len(args)], "--oldpackage")
	}
	r := s.must(t, append(args[:len(args):len(args)], "/packages/"+version+"/"+filepath.Base(found[0]))...)
	t.Logf("%s:\n%s%s", version, r.Stdout, r.Stderr)
	if v := s.must(t, "zramfs", "version").Stdout; !strings.Contains(v, version) {
		t.Errorf("version %s is installed as %q", version, v)
	}
	return r
}

// exists reports whether there is a file in the system.
func (s *packagedSystem) exists(t testing.TB, path string) bool {
	return s.run(t, "test", "-e", path).Code == 0
}

// worker returns the process that serves the device.
func (s *packagedSystem) worker(t testing.TB) string {
	t.Helper()
	r := s.must(t, "sh", "-c", `zramfs status -J | sed -n 's/.*"worker_pid": *\([0-9]*\).*/\1/p'`)
	return strings.TrimSpace(r.Stdout)
}

// breakProgram makes a package whose server does not serve, as one would that cannot read what the
// old one stores, and returns its path in the system.
func (s *packagedSystem) breakProgram(t testing.TB) string {
	t.Helper()
	script := fmt.Sprintf(`set -e
cd /tmp
dpkg-deb -R /packages/%s/zramfs_*.deb broken
cp /bin/true broken/usr/libexec/zramfsd
dpkg-deb -Znone -b broken broken.deb`, secondVersion)
	s.must(t, "sh", "-c", script)
	return "/tmp/broken.deb"
}

// wantPackages skips the test unless packages were made for it.
func wantPackages(t *testing.T, m packageManager) {
	t.Helper()
	if *packagesIn == "" {
		t.Skip("make test-packages makes packages and installs them")
	}
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "nsenter")
	if m.name == "apk" {
		require.Command(t, "apk") // a static one
	}
	require.Swap(t)
}

// guardSystem ends the swap of the system in time, whatever the test does.
func guardSystem(t *testing.T, s *packagedSystem) {
	t.Helper()
	g := startGuard(t, hiddenData, bootTime)
	opened := time.Now()
	t.Cleanup(func() {
		defer g.dismiss(t)
		unpack := "tar -C /tmp --strip-components=1 -xzf /packages/" + secondVersion + "/zramfs-*-linux-*.tar.gz"
		if r := s.run(t, "sh", "-c", unpack+" && /tmp/zramfs down --force /run/zram"); r.Code != 0 {
			t.Errorf("down: %s%s", r.Stdout, r.Stderr)
		}
		if took := time.Since(opened); took > swapLimit {
			t.Errorf("swap may have been on for %s, more than %s", took, swapLimit)
		}
	})
}
