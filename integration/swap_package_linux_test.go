// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"strings"
	"testing"
)

const (
	packagePages = 128 << 20 / memoryPage
	packageLimit = 64 << 20
)

// Packages of each format, in a system of their own. Installing turns nothing on. Upgrading hands a
// device over whose pages are in use, and so does going back; each page is as it was. A program
// that cannot take over leaves the old one at work. Removing is refused while the pages do not
// fit, and turns swap off once they do.
func TestSwapPackages(t *testing.T) {
	for _, m := range packageManagers {
		t.Run(m.name, func(t *testing.T) {
			wantPackages(t, m)
			s := newPackagedSystem(t, m)
			s.install(t, firstVersion)
			if r := s.run(t, "zramfs", "status"); r.Code != 3 {
				t.Errorf("after installing, status ends with %d: %s%s", r.Code, r.Stdout, r.Stderr)
			}
			s.must(t, "sh", "-c", "echo '# edited' >> /etc/zramfs.conf")
			group := memoryGroup(t, "package", packageLimit)
			client := startMemory(t, memoryOrder{Pages: packagePages, Source: sourceMix, Group: group})

			guardSystem(t, s)
			s.must(t, "zramfs", "up", "--size", "512M", "--devices", "1")
			if fill := client.do(t, "fill"); fill.Swapped < packageLimit/2 {
				t.Fatalf("only %d bytes are in swap", fill.Swapped)
			}
			for _, version := range []string{secondVersion, firstVersion, secondVersion} {
				wantHandedOver(t, s, version)
				client.do(t, "walk")
			}
			if m.name == "deb" {
				wantOldGoesOn(t, s)
				client.do(t, "walk")
			}
			wantNotRemoved(t, s)
			client.do(t, "walk")
			liftLimit(t, group)
			wantRemoved(t, s)
			client.do(t, "walk")
			client.end(t)
		})
	}
}

// wantHandedOver changes to another version, whose program has to serve then.
func wantHandedOver(t *testing.T, s *packagedSystem, version string) {
	t.Helper()
	before := s.worker(t)
	r := s.install(t, version)
	after := s.worker(t)
	if after == before || !strings.Contains(r.Stdout+r.Stderr, "process "+after+" serves in place of "+before) {
		t.Errorf("process %s served before %s and %s after it: %s%s", before, version, after, r.Stdout, r.Stderr)
	}
	if out := s.must(t, "sh", "-c", "cmp /proc/"+after+"/exe /usr/libexec/zramfsd && cat /etc/zramfs.conf").Stdout; !strings.HasSuffix(out, "# edited\n") {
		t.Errorf("the configuration was replaced: %s", out)
	}
}

// wantOldGoesOn installs a program that cannot take over: the package is installed all the same,
// says so, and the next one hands over again.
func wantOldGoesOn(t *testing.T, s *packagedSystem) {
	t.Helper()
	broken, before := s.breakProgram(t), s.worker(t)
	r := s.run(t, "dpkg", "-i", broken)
	t.Logf("a program that cannot take over:\n%s%s", r.Stdout, r.Stderr)
	if r.Code != 0 || !strings.Contains(r.Stderr, "zramfs: the old program goes on serving") {
		t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if after := s.worker(t); after != before {
		t.Errorf("process %s serves in place of %s", after, before)
	}
	if state := s.must(t, "dpkg-query", "-W", "-f", "${Status}", "zramfs").Stdout; state != "install ok installed" {
		t.Errorf("the package is %q", state)
	}
	wantHandedOver(t, s, secondVersion)
}

// wantNotRemoved removes the package while its pages do not fit below the limit of a group.
func wantNotRemoved(t *testing.T, s *packagedSystem) {
	t.Helper()
	before := s.worker(t)
	r := s.run(t, s.manager.remove...)
	t.Logf("remove while it does not fit: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	if s.manager.refuses {
		if r.Code == 0 || !strings.Contains(r.Stdout+r.Stderr, "so the package stays installed") || !strings.Contains(r.Stdout+r.Stderr, "memory limit of") {
			t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
	} else {
		if !strings.Contains(r.Stdout+r.Stderr, "a device stays in use without the package") {
			t.Errorf("exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
		s.install(t, secondVersion)
	}
	if after := s.worker(t); after != before || !s.exists(t, "/etc/zramfs.conf") {
		t.Errorf("process %s serves in place of %s", after, before)
	}
	wantSwapOn(t, true)
}

// wantRemoved removes the package, which ends the device and leaves the configuration to purge.
func wantRemoved(t *testing.T, s *packagedSystem) {
	t.Helper()
	const enabled = "/etc/systemd/system/swap.target.wants/zramfs@zram0.service"
	s.must(t, "sh", "-c", "mkdir -p /etc/systemd/system/swap.target.wants && ln -s /usr/lib/systemd/system/zramfs@.service "+enabled)
	s.must(t, s.manager.remove...)
	wantSwapOn(t, false)
	if s.exists(t, "/usr/bin/zramfs") || s.exists(t, "/usr/libexec/zramfsd") || s.exists(t, "/run/zram/dev") {
		t.Error("a program or the device is left")
	}
	if !s.exists(t, s.manager.kept) {
		t.Errorf("remove leaves no %s", s.manager.kept)
	}
	if s.manager.purge == nil {
		return
	}
	s.must(t, s.manager.purge...)
	for _, path := range []string{"/etc/zramfs.conf", enabled} {
		if r := s.run(t, "test", "-L", path, "-o", "-e", path); r.Code == 0 {
			t.Errorf("purge leaves %s", path)
		}
	}
}

// wantSwapOn checks whether the kernel has swap on a loop device.
func wantSwapOn(t *testing.T, want bool) {
	t.Helper()
	if text, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(text), "loop") != want {
		t.Errorf("swap on: want %t, /proc/swaps has %s, %v", want, text, err)
	}
}
