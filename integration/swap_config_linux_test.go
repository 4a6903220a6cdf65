// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration file makes the device that its section describes, and up --all finds it up; a
// flag of the command line wins, and a section with an error turns nothing on.
func TestSwapFromConfiguration(t *testing.T) {
	dir := swapDir(t)
	system := tempDir(t)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(system, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/meminfo", "MemTotal:        1048576 kB\n")
	write("etc/zramfs.conf", fmt.Sprintf("[zram3]\ndir = %s\nzram-size = ram / 16\nswap-priority = 70\ncompression-algorithm = lz4\n"+
		"[zram4]\nzram-size = 0\n", dir))
	write("run/zramfs.conf.d/50-size.conf", "[zram3]\nmem-limit = 32M\nsise = 1G\n")
	from := "--config-root=" + system

	r := run(t, commandTimeout, "up", from, dir)
	if want := "zramfs: the configuration has an error: /run/zramfs.conf.d/50-size.conf:3: unknown key \"sise\"; did you mean size?\n"; r.Code != 1 || r.Stderr != want {
		t.Errorf("with an unknown key: %+v", r)
	}
	wantNothingLeft(t, dir)

	write("run/zramfs.conf.d/50-size.conf", "[zram3]\nmem-limit = 32M\n")
	mustRun(t, commandTimeout, "config", "check", from)
	out := mustRun(t, commandTimeout, "up", "--all", "--algorithm", "page", from).Stdout
	if !strings.Contains(out, "64M of compressed swap is on: ") || !strings.Contains(out, ", priority 70, algorithm page\n") ||
		!strings.Contains(out, "/run/zram4 is left out: its size is 0 (/etc/zramfs.conf:7)\n") {
		t.Errorf("up --all says\n%s", out)
	}
	if s := statusOf(t, dir); s.Disksize != 64<<20 || s.MemLimit != 32<<20 || s.Algorithm != "page" {
		t.Errorf("the device has %d bytes, a limit of %d, and algorithm %s", s.Disksize, s.MemLimit, s.Algorithm)
	}
	if r := run(t, commandTimeout, "up", from, dir); r.Code != 1 || !strings.Contains(r.Stderr, "is up with algorithm page; you asked for algorithm lz4") {
		t.Errorf("up with the algorithm of the file: %+v", r)
	}
	if again := mustRun(t, commandTimeout, "up", "-a", "page", from, dir).Stdout; !strings.HasPrefix(again, dir+" is up already: 64M of swap ") {
		t.Errorf("up again says %q", again)
	}
	mustRun(t, downTimeout, "down", dir)
	wantNothingLeft(t, dir)
}
