// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// made is a directory with everything for this machine's architecture.
var made string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "zramfs-release-test-")
	if err == nil {
		made = filepath.Join(dir, "out")
		err = run([]string{"make", "-tree", "../..", "-o", made, "-arch", runtime.GOARCH})
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// packageFile returns the package in a format.
func packageFile(t *testing.T, format string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(made, "*."+format))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages %s: %v, %v", format, found, err)
	}
	return found[0]
}

// ask runs a program and returns what it prints.
func ask(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// wantLines checks that the lines of text contain these, each as they are.
func wantLines(t *testing.T, text string, want ...string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, w := range want {
		if !slices.Contains(lines, w) {
			t.Errorf("no line %q in\n%s", w, text)
		}
	}
}

// A version of each kind, and the order in which package managers have to see them.
func TestVersions(t *testing.T) {
	o := order{epoch: 1790000000}
	want := []struct{ described, upstream, alpine string }{
		{"0123456789ab", "0.0.0~git20260921141320.0123456789ab", "0.0.0_git20260921141320"},
		{"0123456-dirty", "0.0.0~git20260921141320.0123456.dirty", "0.0.0_git20260921141320"},
		{"v1.2.3", "1.2.3", "1.2.3"},
		{"v1.2.3-4-g0123456789ab", "1.2.3+git20260921141320.0123456789ab", "1.2.3_git20260921141320"},
	}
	for _, w := range want {
		if v, err := parseVersion(w.described, o.time()); err != nil || v != (version{w.upstream, w.alpine}) {
			t.Errorf("%s: %+v, %v", w.described, v, err)
		}
	}
	for _, bad := range []string{"", "devel", "v1.2", "1.2.3-rc1", "v1.2.3-4-gxyz"} {
		if v, err := parseVersion(bad, o.time()); err == nil {
			t.Errorf("%q: %+v", bad, v)
		}
	}
	require.Command(t, "dpkg")
	for i, low := range []string{"0.0.0~git20260101000000.f-1", "0.0.0~git20260101000001.a-1", "0.0.0-1", "1.2.3-1", "1.2.3+git20260101000000.f-1"} {
		high := []string{"0.0.0~git20260101000001.a-1", "0.0.0-1", "1.2.3-1", "1.2.3+git20260101000000.f-1", "1.2.4-1"}[i]
		ask(t, "dpkg", "--compare-versions", low, "lt", high)
	}
}

// The deb has its files with their modes, its configuration marked, and no file of another owner.
func TestDebian(t *testing.T) {
	require.Command(t, "dpkg-deb")
	file := packageFile(t, deb)
	if got, want := ask(t, "dpkg-deb", "-I", file, "conffiles"), "/etc/needrestart/conf.d/zramfs.conf\n/etc/zramfs.conf\n"; got != want {
		t.Errorf("configuration is %q, want %q", got, want)
	}
	var modes strings.Builder
	for line := range strings.Lines(ask(t, "dpkg-deb", "-c", file)) {
		fields := strings.Fields(line)
		modes.WriteString(fields[0] + " " + strings.Join(fields[5:], " ") + "\n")
		if fields[1] != "root/root" && fields[1] != "0/0" {
			t.Errorf("owner of %s", line)
		}
	}
	wantLines(t, modes.String(), "-rwxr-xr-x ./usr/bin/zramfs", "-rwxr-xr-x ./usr/libexec/zramfsd", "-rw-r--r-- ./etc/zramfs.conf", "-rw-r--r-- ./usr/lib/systemd/system/zramfs@.service",
		"lrwxrwxrwx ./usr/sbin/mount.zramfs -> ../bin/zramfs",
		"lrwxrwxrwx ./usr/lib/systemd/system-generators/zramfs-generator -> ../../../bin/zramfs", "-rw-r--r-- ./usr/share/man/man8/zramfs.8.gz",
		"-rw-r--r-- ./usr/share/bash-completion/completions/zramfs", "-rw-r--r-- ./usr/share/zsh/site-functions/_zramfs",
		"-rw-r--r-- ./usr/share/fish/vendor_completions.d/zramfs.fish", "-rw-r--r-- ./usr/share/doc/zramfs/copyright",
		"-rw-r--r-- ./usr/share/doc/zramfs/docs/operations.md", "-rwxr-xr-x ./usr/share/zramfs/runit/zramfs/run")
	if n := strings.Count(modes.String(), "-rwxr-xr-x ./usr/bin/") + strings.Count(modes.String(), "-rwxr-xr-x ./usr/libexec/"); n != len(programs) {
		t.Errorf("the deb has %d programs", n)
	}
	if strings.Contains(modes.String(), "init.d") || strings.Contains(modes.String(), ".go\n") {
		t.Error("the deb has a script of OpenRC, or Go")
	}
}

// The links of the packaged documentation lead to files of the package, or to the project's.
func TestPackagedLinks(t *testing.T) {
	require.Command(t, "dpkg-deb")
	tree := t.TempDir()
	ask(t, "dpkg-deb", "-x", packageFile(t, deb), tree)
	pages, err := filepath.Glob(filepath.Join(tree, "usr/share/doc/zramfs/docs/*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, filepath.Join(tree, "usr/share/doc/zramfs/README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range pageLink.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(link[1]))); err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
			}
		}
	}
}

// The rpm has the same files, and marks what is configuration and documentation.
func TestRPM(t *testing.T) {
	require.Command(t, "rpm")
	file := packageFile(t, rpm)
	if got := ask(t, "rpm", "-qpc", file); got != "/etc/zramfs.conf\n" {
		t.Errorf("configuration is %q", got)
	}
	wantLines(t, ask(t, "rpm", "-qpl", file), "/usr/bin/zramfs", "/usr/libexec/zramfsd", "/usr/lib/systemd/system/zramfs@.service", "/usr/share/licenses/zramfs/THIRD-PARTY")
	wantLines(t, ask(t, "rpm", "-qpd", file), "/usr/share/man/man8/zramfs.8.gz", "/usr/share/doc/zramfs/docs/operations.md")
	if got := ask(t, "rpm", "-qp", "--qf", "%{BUILDHOST} %{LICENSE} %{SUMMARY}", file); got != "zramfs Apache-2.0 Compressed swap in memory without the kernel's zram" {
		t.Errorf("the header has %q", got)
	}
}

// The apk has the service of OpenRC in place of systemd's.
func TestAPK(t *testing.T) {
	require.Command(t, "tar")
	out := ask(t, "tar", "-tzf", packageFile(t, apk), "--ignore-zeros")
	wantLines(t, out, ".PKGINFO", ".post-upgrade", ".pre-deinstall", "etc/init.d/zramfs", "etc/zramfs.conf", "sbin/mount.zramfs", "usr/bin/zramfs", "usr/libexec/zramfsd")
	if strings.Contains(out, "systemd") {
		t.Errorf("the apk has units of systemd:\n%s", out)
	}
}

// The checkers of Debian and of rpm find nothing but what is so on purpose.
func TestCheckers(t *testing.T) {
	t.Run("lintian", func(t *testing.T) {
		require.Command(t, "lintian")
		if out := ask(t, "lintian", "--allow-root", "--fail-on", "error,warning", packageFile(t, deb)); out != "" {
			t.Error(out)
		}
	})
	t.Run("rpmlint", func(t *testing.T) {
		require.Command(t, "rpmlint")
		if out := ask(t, "rpmlint", "-c", "rpmlint.toml", packageFile(t, rpm)); !strings.Contains(out, "; 0 errors, 0 warnings, ") {
			t.Error(out)
		}
	})
}

// Packages and image of the same programs are the same under another user mask and time zone.
// `make release` compares all that is made, the programs too.
func TestSameAgain(t *testing.T) {
	again := filepath.Join(t.TempDir(), "out")
	defer syscall.Umask(syscall.Umask(0o077))
	t.Setenv("TZ", "Pacific/Chatham")
	t.Setenv("LC_ALL", "C.UTF-8")
	if err := run([]string{"make", "-tree", "../..", "-o", again, "-arch", runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	if err := same(made, again); err != nil {
		t.Error(err)
	}
}
