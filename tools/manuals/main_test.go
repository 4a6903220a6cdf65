// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/command"
	"github.com/zramfs/zramfs/internal/require"
)

const (
	manPath  = "share/man/man8/zramfs.8"
	confPath = "share/man/man5/zramfs.conf.5"
	bashPath = "share/bash-completion/completions/zramfs"
	zshPath  = "share/zsh/site-functions/_zramfs"
	fishPath = "share/fish/vendor_completions.d/zramfs.fish"
)

// written writes all files to a new directory.
func written(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := write(dir, "../..", "2026-01-02", "1.2.3"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readFile(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// part returns what stands in text between two strings.
func part(t *testing.T, text, after, before string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, after)
	if !ok {
		t.Fatalf("no %q", after)
	}
	rest, _, _ = strings.Cut(rest, before)
	return rest
}

// Every command and every flag is in the manual and in each completion, at its command.
func TestEverythingIsEverywhere(t *testing.T) {
	dir := written(t)
	man, bash, zsh, fish := readFile(t, dir, manPath), readFile(t, dir, bashPath), readFile(t, dir, zshPath), readFile(t, dir, fishPath)
	flags := part(t, bash, "_zramfs_flags() {", "esac")
	zshCommands := part(t, zsh, "named=(", "\n\t)\n")
	b, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.commands {
		names := strings.Join(c.Names, "|")
		manPart := part(t, man, "\n.SS "+escape(strings.TrimSpace(strings.Join(c.Names, ", ")+" "+c.Arguments))+"\n", "\n.S")
		bashPart := part(t, flags, "\t"+names+") echo '", "' ;;")
		zshPart := part(t, zsh, "\n\t"+names+")\n", ";;")
		if c.Usage != "" && !strings.Contains(zshCommands, quote(c.Names[0]+":"+c.Usage)) {
			t.Errorf("zsh: no command %s", c.Names[0])
		}
		part(t, fish, fmt.Sprintf("-n __zramfs_using -a %s -d %s\n", fishQuote(strings.Join(c.Names, " ")), fishQuote(c.Usage)), "\n")
		var fishPart strings.Builder
		for line := range strings.Lines(fish) {
			if rest, ok := strings.CutPrefix(line, "complete -c zramfs -n "+fishQuote("__zramfs_using "+strings.Join(c.Names, " "))); ok {
				fishPart.WriteString(rest)
			}
		}
		for _, f := range c.Flags {
			for _, name := range f.Names {
				text := map[string]string{"man": bold(dashed(name)), "fish": " -l " + name + " "}
				if len(name) == 1 {
					text["fish"] = " -s " + name + " "
				}
				if f.Names[0] != "help" && !strings.Contains(manPart, text["man"]) {
					t.Errorf("man: %s has no %s", c.Names[0], dashed(name))
				}
				if !slices.Contains(strings.Fields(bashPart), dashed(name)) {
					t.Errorf("bash: %s has no %s", c.Names[0], dashed(name))
				}
				if !strings.Contains(zshPart, dashed(name)+"=[") && !strings.Contains(zshPart, dashed(name)+"+[") && !strings.Contains(zshPart, dashed(name)+"[") {
					t.Errorf("zsh: %s has no %s", c.Names[0], dashed(name))
				}
				if !strings.Contains(fishPart.String(), text["fish"]) {
					t.Errorf("fish: %s has no %s", c.Names[0], dashed(name))
				}
			}
		}
	}
}

// The manual has its sections, in the usual order, and says what it was made of.
func TestManualHasItsSections(t *testing.T) {
	man := readFile(t, written(t), manPath)
	var got []string
	for line := range strings.Lines(man) {
		if title, ok := strings.CutPrefix(line, ".SH "); ok {
			got = append(got, strings.TrimSpace(title))
		}
	}
	want := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"}
	if !slices.Equal(got, want) {
		t.Errorf("sections %q, want %q", got, want)
	}
	for _, text := range []string{`.TH ZRAMFS 8 2026-01-02 "zramfs 1.2.3"`, `\fBZRAMFS_DISABLE\fR`, `\fB/run/zramfs/\fR`, `\fBzramfs doctor\fR`, `no device is running`} {
		if !strings.Contains(man, text) {
			t.Errorf("no %q", text)
		}
	}
}

// The manual of the configuration has every key, as a heading of an entry, and every file.
func TestConfigurationManual(t *testing.T) {
	man := readFile(t, written(t), confPath)
	keys := command.ConfigKeys()
	for _, key := range keys {
		if !strings.Contains(part(t, man, "\n.SH KEYS\n", "\n.SH "), "\n.TP\n"+bold(key)) && !strings.HasPrefix(part(t, man, "\n.SH KEYS\n", "\n.SH "), ".TP\n"+bold(key)) {
			t.Errorf("no entry for the key %s", key)
		}
	}
	for _, text := range append(command.ConfigPlaces(), "spill", "host\\-memory\\-limit", "zram\\-size = min(ram / 2, 4096)", "ram < 4096") {
		if !strings.Contains(man, text) {
			t.Errorf("no %s", text)
		}
	}
	if len(keys) < 20 {
		t.Errorf("%d keys: %q", len(keys), keys)
	}
}

// Both formatters of manual pages read them without a warning.
func TestManualIsClean(t *testing.T) {
	dir := written(t)
	for _, path := range []string{filepath.Join(dir, manPath), filepath.Join(dir, confPath)} {
		readsClean(t, path)
	}
}

func readsClean(t *testing.T, path string) {
	for _, args := range [][]string{{"mandoc", "-T", "lint", "-W", "style"}, {"man", "--warnings", "--encoding=UTF-8", "--troff-device=utf8", "--ditroff", "--local-file"}} {
		t.Run(filepath.Base(path)+" "+args[0], func(t *testing.T) {
			require.Command(t, args[0])
			run := exec.Command(args[0], append(args[1:], path)...)
			run.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
			var said strings.Builder
			run.Stderr = &said
			out, err := run.Output()
			if args[0] == "mandoc" {
				said.Write(out) // lint speaks on standard output
			}
			if err != nil || said.Len() > 0 {
				t.Errorf("%v\n%s", err, said.String())
			}
		})
	}
}

func TestTableWantsRows(t *testing.T) {
	for _, page := range []string{"", "\n## Files\n\n| | |\n|---|---|\n\n## Other\n\n| a | b |\n"} {
		if rows, err := table(page, "Files", 2); err == nil {
			t.Errorf("%q: %q", page, rows)
		}
	}
}

func TestOperands(t *testing.T) {
	b, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"up": "DIR", "top": "DIR...", "stats": "DIR...", "export": "DIR,FILE", "import": "FILE,DIR", "dict": "train,DIR", "bench": "codec bulk", "generate": "alerts grafana", "version": "", "exec": "DIR"}
	got := map[string]string{}
	for _, c := range b.commands {
		places, more := operands(b, c)
		var all []string
		for _, o := range places {
			all = append(all, o.text())
		}
		got[c.Names[0]] = strings.Join(all, ",")
		if more {
			got[c.Names[0]] += "..."
		}
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q, want %q", name, got[name], text)
		}
	}
	if !strings.HasPrefix(got["help"], "up grow ") || !strings.Contains(got["set"], "mem-limit= ") || !strings.HasSuffix(got["set"], " DIR...") {
		t.Errorf("help: %q, set: %q", got["help"], got["set"])
	}
	if !takesCommand(command.Description{Arguments: "[DIR] -- COMMAND [ARG...]"}) {
		t.Error("exec takes no command")
	}
}
