// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	// makeTimeout bounds make build in the clone, whose packages the cache may lack.
	makeTimeout = 3 * time.Minute
	lineTimeout = 40 * time.Second
)

// TestSwapF096ReadmeCommands runs the commands of README.md, block by block, in a fresh clone.
// The clone takes the place of the published repository, and directories of the test that of
// /usr/local and /run/zram; everything else runs as it stands there. Each block has to leave
// swap off.
func TestSwapF096ReadmeCommands(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	for _, program := range []string{"bash", "git", "go", "install", "make"} {
		require.Command(t, program)
	}
	binary(t)
	tree := repository(t)
	work := tempDir(t)
	dir, bin := filepath.Join(work, "zram"), filepath.Join(work, "bin")
	t.Cleanup(func() { takeBack(t, dir) })

	clone := filepath.Join(work, "zramfs")
	system(t, makeTimeout, "git", "clone", "--quiet", tree, clone)
	system(t, makeTimeout, "make", "--directory", clone, "build") // not in the time that swap may be on
	system(t, lineTimeout, "rm", "-rf", clone)

	inClone := strings.NewReplacer("https://github.com/zramfs/zramfs", tree+" zramfs", "make install", "make install PREFIX="+work, "/run/zram", dir)
	at := work
	for _, block := range shellBlocks(t, filepath.Join(tree, "README.md")) {
		if slices.ContainsFunc(block, withoutDir.MatchString) {
			guardSwap(t, dir)
		}
		if slices.ContainsFunc(block, assignment.MatchString) { // later lines need the variable
			guardSwap(t, dir)
			block = []string{"set -e\n" + strings.Join(block, "\n")}
		}
		for _, line := range block {
			if to, ok := strings.CutPrefix(line, "cd "); ok {
				at = filepath.Join(at, to)
				continue
			}
			line = inClone.Replace(line)
			if withoutDir.MatchString(line) {
				line += " " + dir
			}
			cmd := exec.Command("bash", "-c", line)
			cmd.Dir, cmd.Env = at, append(os.Environ(), "DIR="+dir, "PATH="+bin+":"+os.Getenv("PATH"))
			if r := runCommand(t, timeoutOf(line), cmd); r.Code != 0 {
				t.Errorf("%s: exit code %d: %s%s", line, r.Code, r.Stdout, r.Stderr)
			}
			if strings.HasPrefix(line, "git clone") { // to collect pages takes long
				if err := os.Symlink(filepath.Join(tree, ".cache"), filepath.Join(clone, ".cache")); err != nil {
					t.Fatal(err)
				}
			}
		}
		if on, err := swapOn(dir); err != nil || len(on) > 0 {
			t.Fatalf("%q leave swap on: %+v, %v", block, on, err)
		}
	}
	wantNothingLeft(t, dir)
}

// timeoutOf is for a line of the README: what make builds takes longer on a busy machine.
func timeoutOf(line string) time.Duration {
	if strings.HasPrefix(line, "make") {
		return makeTimeout
	}
	return lineTimeout
}

// withoutDir matches a command that would use /run/zram.
var withoutDir = regexp.MustCompile(`^zramfs (up|status|down)\b`)

// assignment matches a line that sets a variable of the shell.
var assignment = regexp.MustCompile(`^[a-z]+=`)

// repository returns the root of the tree, or skips the test where it is no repository of git.
func repository(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("the tree is no repository that can be cloned: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// shellBlocks returns the commands in the blocks of a document that are fenced as sh.
func shellBlocks(t *testing.T, path string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, strings.Split(strings.TrimSpace(m[1]), "\n"))
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block of commands", path)
	}
	return blocks
}

// F096 for what stands inside of sentences and tables: each command and each of its flags exists.
func TestF096DocumentedCommandsExist(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	pages = append(pages, "../README.md")
	code := regexp.MustCompile("`zramfs ([^`\n]+)`|(?m)^    zramfs (.+)$")
	help := map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(m[1] + m[2])
			name := words[0]
			if name == "COMMAND" || name == "slots" && len(words) == 1 {
				continue
			}
			if _, ok := help[name]; !ok {
				r := run(t, commandTimeout, name, "--help")
				if help[name] = r.Stdout; r.Code != 0 || !strings.Contains(r.Stdout, "zramfs "+name) {
					t.Errorf("%s: %s --help: exit code %d: %s%s", page, name, r.Code, r.Stdout, r.Stderr)
				}
			}
			for _, flag := range slices.DeleteFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") }) {
				flag, _, _ = strings.Cut(flag, "=")
				if !regexp.MustCompile(`(?m)(^|[ ,])` + flag + `\b`).MatchString(help[name]) {
					t.Errorf("%s: zramfs %s has no flag %s", page, name, flag)
				}
			}
		}
	}
}

// F096 in the other direction: docs/commands.md has a heading for each command, and it or
// docs/gpu.md has each flag.
func TestF096EveryCommandIsDocumented(t *testing.T) {
	var text strings.Builder
	for _, page := range []string{"../docs/commands.md", "../docs/gpu.md"} {
		part, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(part)
	}
	commands := regexp.MustCompile(`(?m)^   ([a-z]+)(?:, [a-z]+)?  `)
	flags := regexp.MustCompile(`(?m)^   (--[a-z-]+)`)
	_, list, _ := strings.Cut(mustRun(t, commandTimeout, "--help").Stdout, "\nCOMMANDS:\n")
	list, _, _ = strings.Cut(list, "\nGLOBAL OPTIONS:\n")
	found := commands.FindAllStringSubmatch(list, -1)
	if len(found) < 10 {
		t.Fatalf("only %d commands are listed:\n%s", len(found), list)
	}
	for _, m := range found {
		if m[1] == "help" {
			continue
		}
		if !regexp.MustCompile(`(?m)^## (.*, )?` + m[1] + `\b`).MatchString(text.String()) {
			t.Errorf("%s has no heading", m[1])
		}
		for _, f := range flags.FindAllStringSubmatch(mustRun(t, commandTimeout, m[1], "--help").Stdout, -1) {
			if f[1] != "--help" && !strings.Contains(text.String(), f[1]) {
				t.Errorf("%s: %s is not documented", m[1], f[1])
			}
		}
	}
}
