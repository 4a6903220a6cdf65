// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

// docStart matches the beginning of a command in a block of a document.
var docStart = regexp.MustCompile(`^(zramfs|zramctl|kubectl|helm|losetup|mkswap|swapon|swapoff|mount|umount|echo|cat|go|git|make|apt|dnf|apk|` +
	`systemctl|ln|head|stat|curl|modprobe|sh|cp|install|nsenter|fsfreeze|docker|podman|tools/\S+|gpu/\S+|/tmp/\S+|dev=\S+|[A-Z_]+=\S+|\(umask|\* \* \* \* \*)( |$)`)

// docLines returns the commands in the blocks of a document, fenced or indented, without comments
// that follow them. It leaves out scripts, which belong to another machine.
func docLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fenced := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && fenced == "":
			fenced = fence + "."
		case strings.HasPrefix(line, "#!"):
			fenced = "script"
		case isFence:
			fenced = ""
		case fenced == "." || fenced == "sh.", fenced == "" && strings.HasPrefix(line, "    "):
			line = strings.TrimSpace(regexp.MustCompile(` {3,}#.*`).ReplaceAllString(line, ""))
			if docStart.MatchString(line) {
				lines = append(lines, line)
			} else if fenced == "sh." && line != "" {
				t.Errorf("%s: is %q a command?", path, line)
			}
		}
	}
	return lines
}

// TestF096DocsCommandsAreListed wants docCommands to have each command of docs, and no other.
func TestF096DocsCommandsAreListed(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	listed := map[string]bool{}
	for _, c := range docCommands {
		listed[c.page+": "+c.line] = true
		if (c.on == "") == (c.why == "") {
			t.Errorf("%s: %s: it runs on %q, and does not since %q", c.page, c.line, c.on, c.why)
		}
	}
	for _, page := range pages {
		for _, line := range docLines(t, page) {
			key := filepath.Base(page) + ": " + line
			if !listed[key] {
				t.Errorf("no test runs, and none says why not: %s", key)
			}
			delete(listed, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		t.Errorf("no document has %s", key)
	}
}

// A docPlace has the values of what is in capitals in docCommands.
type docPlace struct {
	work   string // working directory, with the program and its monitor in bin
	values []string
}

func newDocPlace(t *testing.T, values ...string) *docPlace {
	t.Helper()
	work := tempDir(t)
	return &docPlace{work, append([]string{"WORK", work, "FILE", filepath.Join(work, "file")}, values...)}
}

// run runs the commands that run on something, and returns what the last one printed. After each
// command it calls then.
func (p *docPlace) run(t *testing.T, on string, then func(line, out string)) {
	t.Helper()
	for _, c := range docCommands {
		if c.on != on {
			continue
		}
		line := strings.NewReplacer(p.values...).Replace(strings.NewReplacer(c.with...).Replace(c.line))
		cmd := exec.Command("bash", "-c", "set -e -o pipefail; "+line)
		cmd.Dir, cmd.Env = p.work, append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"))
		r := runCommand(t, lineTimeout, cmd)
		if r.Code != 0 {
			t.Errorf("%s: %s: exit code %d: %s%s", c.page, line, r.Code, r.Stdout, r.Stderr)
		}
		if then != nil {
			then(c.line, strings.TrimSpace(r.Stdout))
		}
	}
}

// TestSwapF096DocsCommands runs the commands in the blocks of docs, as they stand there but for
// directories, devices and durations.
func TestSwapF096DocsCommands(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	require.Loop(t)
	require.Command(t, "bash")
	binary(t)
	t.Run(onData, func(t *testing.T) {
		backing := filepath.Join(tempDir(t), "backing")
		if err := os.WriteFile(backing, make([]byte, 4<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := mount(t, "--size", heldSize, "--spill", backing)
		client(t, heldPart, "write", dir)
		newDocPlace(t, "DIR", dir).run(t, onData, nil)
	})
	t.Run(onFiles, func(t *testing.T) {
		p := newDocPlace(t)
		system(t, toolTimeout, "cp", "../internal/podswap/testdata/pods.json", filepath.Join(p.work, "pods"))
		configz := []byte(`{"kubeletconfig":{"failSwapOn":false,"memorySwap":{"swapBehavior":"LimitedSwap"}}}`)
		err := errors.Join(os.WriteFile(filepath.Join(p.work, "configz"), configz, 0o600),
			os.WriteFile(filepath.Join(p.work, "file"), heldContent(heldSeed), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		p.run(t, onFiles, nil)
	})
	t.Run(onSwap, runDocsOnSwap)
	t.Run(onDying, runDocsOnDying)
}

// runDocsOnSwap runs what turns swap on and off.
func runDocsOnSwap(t *testing.T) {
	for _, program := range []string{"losetup", "mkswap", "swapon", "zramctl"} {
		require.Command(t, program)
	}
	dir := swapDir(t)
	p := newDocPlace(t, "DIR", dir)
	p.run(t, onSwap, func(line, out string) {
		if strings.HasPrefix(line, "losetup ") {
			p.values = append(p.values, "LOOP", out)
		}
		on, err := swapOn(dir)
		if want := strings.Contains(line, "swapon --discard"); err != nil || (len(on) > 0) != want {
			t.Errorf("after %s swap is on: %+v, %v", line, on, err)
		}
	})
	loops, err := loopsOn(dir)
	if err != nil {
		t.Error(err)
	}
	for _, loop := range loops {
		if err := loopsetup.Detach(loop); err != nil {
			t.Error(err)
		}
	}
	mustRun(t, commandTimeout, "umount", dir)
}

// runDocsOnDying ends a device as one that hangs.
func runDocsOnDying(t *testing.T) {
	dir := filepath.Join(tempDir(t), "zram")
	mustRun(t, commandTimeout, "mount", "--size", heldSize, dir)
	pid := serverOf(t, dir)
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(data(dir)), &st); err != nil {
		t.Fatal(err)
	}
	p := newDocPlace(t, "NUMBER", strconv.Itoa(int(unix.Minor(st.Dev))))
	p.run(t, onDying, func(line, _ string) {
		if strings.HasPrefix(line, "echo ") {
			system(t, toolTimeout, "umount", p.work)
		}
	})
	if !waitEnd(pid, answerTimeout) {
		t.Error("the device lives on")
		takeBack(t, dir)
	}
}
