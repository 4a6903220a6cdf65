// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// completions are lines and all that may complete their last word. The directory has the
// directories "devices" and "a b", and the file "pages".
var completions = []struct{ line, want string }{
	{"zramfs sta", "stats status"},
	{"zramfs unm", "unmount"},
	{"zramfs --ver", "--version"},
	{"zramfs up --disc", "--discard"},
	{"zramfs up --discard=p", "pages"},
	{"zramfs up -d o", "once"},
	{"zramfs up --size 1G de", "devices/"},
	{"zramfs up --algorithm page:", "page:dense"},
	{"zramfs unmount de", "devices/"},
	{"zramfs up --spill pa", "pages"},
	{"zramfs dict tr", "train"},
	{"zramfs dict --level 2 train de", "devices/"},
	{"zramfs export devices pa", "pages"},
	{"zramfs bench --gpu off b", "bulk"},
	{"zramfs set devices mem", "mem-limit="},
	{"zramfs help compa", "compact"},
	{"zramfs exec devices -- zramfs-test-comm", "zramfs-test-command"},
}

// completed makes a directory with the files, and one in PATH with a command, and runs a shell
// there.
func completed(t *testing.T, shell ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"devices", "a b", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"pages": 0o600, "bin/zramfs-test-command": 0o700} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command(shell[0], shell[1:]...)
	run.WaitDelay = time.Minute
	run.Dir = dir
	run.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "TERM=dumb", "LC_ALL=C.UTF-8",
		"PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// words splits lines into sorted words.
func words(text string) string {
	all := strings.Fields(text)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

func TestBashCompletes(t *testing.T) {
	require.Command(t, "bash")
	const script = `
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
complete -p zramfs | grep -q -- '-F _zramfs' || exit 1
_zramfs
printf '%s\n' "${COMPREPLY[@]}"`
	path := filepath.Join(written(t), bashPath)
	for _, c := range completions {
		want := strings.TrimSuffix(c.want, "/") // readline adds it
		if c.want == "page:dense" {
			want = "dense" // readline has the word before the colon already
		}
		if got := words(completed(t, "bash", "--norc", "-c", script, "bash", path, c.line)); got != want {
			t.Errorf("%s: %q, want %q", c.line, got, want)
		}
	}
	if got := completed(t, "bash", "--norc", "-c", script, "bash", path, `zramfs up a\ `); got != "a b\n" {
		t.Errorf("a directory with a blank: %q", got)
	}
	pid := strconv.Itoa(os.Getpid())
	if got := strings.Fields(completed(t, "bash", "--norc", "-c", script, "bash", path, "zramfs prefetch --pid "+pid)); !slices.Contains(got, pid) {
		t.Errorf("a process: %q", got)
	}
}

func TestFishCompletes(t *testing.T) {
	require.Command(t, "fish")
	path := filepath.Join(written(t), fishPath)
	for _, c := range completions {
		var all []string
		for line := range strings.Lines(completed(t, "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", path, c.line)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			all = append(all, strings.TrimPrefix(word, "--discard="))
		}
		if got := words(strings.Join(all, "\n")); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

// Zsh completes on a terminal alone: it has one of its own, and writes the line to a file at ^X^D.
func TestZshCompletes(t *testing.T) {
	require.Command(t, "zsh")
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
	dir := filepath.Join(written(t), filepath.Dir(zshPath))
	args := []string{"zsh", "-f", "-c", script, "zsh", dir}
	for _, c := range completions {
		args = append(args, c.line)
	}
	got := strings.Split(strings.TrimSuffix(completed(t, args...), "\n"), "\n")
	if len(got) != len(completions) {
		t.Fatalf("%d lines, want %d: %q", len(got), len(completions), got)
	}
	for i, c := range completions {
		before := c.line[:strings.LastIndexAny(c.line, " =")+1]
		want := before + c.want
		if c.want == "stats status" {
			want = before + "stat"
		}
		if strings.TrimSpace(strings.TrimSuffix(got[i], "=")) != strings.TrimSuffix(want, "=") {
			t.Errorf("%s: %q, want %q", c.line, got[i], want)
		}
	}
}
