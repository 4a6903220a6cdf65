// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/command"
	"github.com/zramfs/zramfs/internal/require"
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

// Every command has a page with all its flags and exit codes, and the overview names it. Both
// formatters of manual pages read all pages without a warning.
func TestPages(t *testing.T) {
	dir := written(t)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, "share/man", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := map[string][]string{
		"man8/zramfs.8":      {`.TH ZRAMFS 8 2026-01-02 "zramfs 1.2.3"`, ".TP\n\\fBZRAMFS_DISABLE", "/run/zramfs/", "zramfs doctor", `\-\-version, \-V`},
		"man5/zramfs.conf.5": {".TP\n\\fBzram\\-size\\fR", "/usr/local/lib", `zram\-size = min(ram / 2, 4096)`, `\fBhost\-memory\-limit\fR`},
	}
	for _, c := range command.Tree().VisibleCommands() {
		name := "man8/zramfs-" + c.Name + ".8"
		want["man8/zramfs.8"] = append(want["man8/zramfs.8"], hyphens.Replace("zramfs-"+c.Name+"(8)"))
		want[name] = append(want[name], c.Names()...)
		want[name] = append(want[name], ".SH OPTIONS", "wrong call")
		for _, f := range append(c.VisibleFlags(), cli.HelpFlag) {
			names, _, _ := strings.Cut(f.String(), "\t")
			want[name] = append(want[name], ".TP\n\\fB"+hyphens.Replace(names)+`\fP`)
		}
	}
	for name, texts := range want {
		page := read(name)
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s has no %q", name, text)
			}
		}
		clean(t, filepath.Join(dir, "share/man", name))
	}
	if len(want) < 30 {
		t.Errorf("%d pages", len(want))
	}
}

func clean(t *testing.T, path string) {
	t.Helper()
	for _, args := range [][]string{{"mandoc", "-T", "lint", "-W", "warning"}, {"man", "--warnings", "--encoding=UTF-8", "--troff-device=utf8", "--ditroff", "--local-file"}} {
		require.Command(t, args[0])
		run := exec.Command(args[0], append(args[1:], path)...)
		run.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80")
		var said strings.Builder
		run.Stderr = &said
		out, err := run.Output()
		if args[0] == "mandoc" {
			said.Write(out) // lint writes to standard output
		}
		if err != nil || said.Len() > 0 {
			t.Errorf("%v\n%s", err, said.String())
		}
	}
}

// completions are lines and all that may complete their last word, where there are a directory
// "devices" and a file "pages".
var completions = []struct{ line, want string }{
	{"zramfs sta", "status"},
	{"zramfs unm", "unmount"},
	{"zramfs --ver", "--version"},
	{"zramfs up --disc", "--discard"},
	{"zramfs unmount --js", "--json"},
	{"zramfs up --keep de", "devices/"},
	{"zramfs up --spill pa", "pages"},
}

// shell runs a shell in a directory with these, and returns what it prints.
func shell(t *testing.T, args ...string) string {
	t.Helper()
	require.Command(t, args[0])
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "devices"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pages"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(args[0], args[1:]...)
	run.WaitDelay = time.Minute
	run.Dir = dir
	run.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "TERM=dumb", "LC_ALL=C.UTF-8")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// wantWords compares the words in text with those that complete a line.
func wantWords(t *testing.T, line, text, want string) {
	t.Helper()
	words := strings.Fields(text)
	slices.Sort(words)
	if got := strings.Join(slices.Compact(words), " "); got != want {
		t.Errorf("%s: %q, want %q", line, got, want)
	}
}

// Bash completes files by itself where the function has no words.
func TestBashCompletes(t *testing.T) {
	path := filepath.Join(written(t), "share/bash-completion/completions/zramfs")
	const script = `
source "$1"
COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
complete -p zramfs | grep -q -- '-o default -F _zramfs' || exit 1
_zramfs
printf '%s\n' "${COMPREPLY[@]}"`
	for _, c := range completions {
		if strings.HasPrefix(c.want, "devices") || c.want == "pages" {
			c.want = ""
		}
		wantWords(t, c.line, shell(t, "bash", "--norc", "-c", script, "bash", path, c.line), c.want)
	}
}

func TestFishCompletes(t *testing.T) {
	path := filepath.Join(written(t), "share/fish/vendor_completions.d/zramfs.fish")
	for _, c := range completions {
		var all []string
		for line := range strings.Lines(shell(t, "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", path, c.line)) {
			word, _, _ := strings.Cut(line, "\t")
			all = append(all, word)
		}
		wantWords(t, c.line, strings.Join(all, " "), c.want)
	}
}

// Zsh completes on a terminal alone: it has one of its own, and writes the line to a file at ^X^D.
func TestZshCompletes(t *testing.T) {
	const script = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000; setopt no_list_ambiguous no_beep"
zpty -w shell 'dump() { print -r -- "$BUFFER" >line.new; mv line.new line; BUFFER= }; zle -N dump; bindkey "^X^D" dump'
zpty -w shell 'print ready >ready'
until [[ -e ready ]]; do sleep 0.01; zpty -r -t shell said '*' || true; done
shift
for line; do
	rm -f line
	zpty -n -w shell "$line"$'\t\x18\x04'
	until [[ -e line ]]; do sleep 0.01; zpty -r -t shell said '*' || true; done
	cat line
done
zpty -d shell`
	args := []string{"zsh", "-f", "-c", script, "zsh", filepath.Join(written(t), "share/zsh/site-functions")}
	for _, c := range completions {
		args = append(args, c.line)
	}
	got := strings.Split(shell(t, args...), "\n")
	for i, c := range completions {
		before := c.line[:strings.LastIndexByte(c.line, ' ')+1]
		if strings.TrimSpace(got[i]) != before+c.want {
			t.Errorf("%s: %q, want %q", c.line, got[i], before+c.want)
		}
	}
}
