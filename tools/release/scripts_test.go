// SPDX-License-Identifier: Apache-2.0

package main

import (
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
