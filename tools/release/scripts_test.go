// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// Each script, with what its package manager calls it: what it has zramfs do, and whether a zramfs
// that fails makes it fail.
var scriptCalls = []struct {
	name, arguments string
	asks            string // of zramfs
	fails           bool   // where zramfs does
}{
	{"deb/postinst", "configure", "", false},
	{"deb/postinst", "configure 1.2.3-1", "upgrade --all", false},
	{"deb/postinst", "abort-remove", "", false},
	{"deb/prerm", "upgrade 1.2.4-1", "", false},
	{"deb/prerm", "remove", "down --all --quiet", true},
	{"deb/postrm", "remove", "", false},
	{"deb/postrm", "upgrade 1.2.4-1", "", false},
	{"rpm/post", "1", "", false},
	{"rpm/post", "2", "upgrade --all", false},
	{"rpm/preun", "1", "", false},
	{"rpm/preun", "0", "down --all --quiet", true},
	{"rpm/postun", "0", "", false},
	{"apk/post-upgrade", "1.2.4-r0 1.2.3-r0", "upgrade --all", false},
	{"apk/pre-deinstall", "1.2.3-r0", "down --all --quiet", true},
}

// Installing asks for nothing, upgrading hands over and succeeds whatever comes of it, and removing
// fails where a device stays.
func TestScripts(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"busybox", "sh"}} {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			require.Command(t, shell[0])
			for _, call := range scriptCalls {
				for _, code := range []string{"0", "1"} {
					asked, failed, said := runScript(t, shell, call.name, call.arguments, code)
					if asked != call.asks || failed != (call.fails && code == "1") {
						t.Errorf("%s %s, zramfs ends with %s: asks for %q, fails %t: %s", call.name, call.arguments, code, asked, failed, said)
					}
					if (said != "") != (call.asks != "" && code == "1") {
						t.Errorf("%s %s, zramfs ends with %s: says %q", call.name, call.arguments, code, said)
					}
				}
			}
		})
	}
}

// runScript runs a script where zramfs ends with code, and systemctl does not exist.
func runScript(t *testing.T, shell []string, name, arguments, code string) (asked string, failed bool, said string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for program, text := range map[string]string{"zramfs": "#!/bin/sh\necho \"$@\" >> " + log + "\nexit " + code + "\n", "systemctl": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	args := append(append(shell[1:], filepath.Join("../../dist/packages", name)), strings.Fields(arguments)...)
	cmd := exec.Command(shell[0], args...)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(log)
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	return strings.TrimSpace(string(text)), err != nil, string(out)
}

// Removing leaves no link of a unit that was enabled, of any instance: hibernation fails where it
// requires a unit that is not there. Upgrading leaves all.
func TestScriptsDisable(t *testing.T) {
	require.Command(t, "systemctl")
	for _, call := range []struct {
		name, arguments string
		stay            bool
	}{{"deb/postrm", "upgrade 1.2.4-1", true}, {"deb/postrm", "remove", false}, {"deb/postrm", "purge", false}, {"rpm/preun", "1", true}, {"rpm/preun", "0", false}} {
		root := t.TempDir()
		const units, links = "usr/lib/systemd/system", "etc/systemd/system"
		tool(t, "mkdir", "-p", filepath.Join(root, units), filepath.Join(root, links))
		for _, name := range []string{"zramfs@.service", "zramfs-sleep@.service"} {
			tool(t, "cp", filepath.Join("../../dist/systemd", name), filepath.Join(root, units))
		}
		tool(t, "systemctl", "--root="+root, "enable", "zramfs@zram0.service", "zramfs@zram1.service")
		before := tool(t, "find", filepath.Join(root, links), "-type", "l")
		if !strings.Contains(before, "systemd-hibernate.service.requires/zramfs-sleep@zram1.service") {
			t.Fatalf("enabled: %s", before)
		}
		text := tool(t, "cat", filepath.Join("../../dist/packages", call.name))
		// That of the machine reloads.
		text = strings.NewReplacer("/"+links, filepath.Join(root, links), "/run/systemd/system", "/nonexistent", "systemctl --", "systemctl --root="+root+" --").Replace(text)
		tool(t, "sh", append([]string{"-c", "zramfs() { :; }\n" + text, call.name}, strings.Fields(call.arguments)...)...)
		want := ""
		if call.stay {
			want = before
		}
		if left := tool(t, "find", filepath.Join(root, links), "-type", "l"); left != want {
			t.Errorf("%s %s leaves %s", call.name, call.arguments, left)
		}
	}
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = io.Discard
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}
