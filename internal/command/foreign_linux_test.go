// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/status"
)

// foreign is a name that would clear a terminal, set its title, write another line and turn text
// around.
const foreign = "x\x1b[2J\x1b]0;t\a\nzram: healthy\r\u009b31m\u202e\xff"

// obeyed returns what of a text a terminal would obey: all but printable characters, ends of lines
// and tabs.
func obeyed(text string) (all []string) {
	for _, r := range strings.ToValidUTF8(text, "\x00") {
		if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
			all = append(all, fmt.Sprintf("%U", r))
		}
	}
	return all
}

// No text of a name, a status, a snapshot or a configuration is obeyed by a terminal, nor writes a
// line of its own.
func TestForeignTextIsNotObeyed(t *testing.T) {
	needServing(t)
	dir := filepath.Join(t.TempDir(), foreign)
	file := dir + ".snapshot"
	conf := filepath.Join(t.TempDir(), "etc", "zramfs.conf")
	if err := os.Mkdir(filepath.Dir(conf), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte("[zram0]\n\x1b[2J = 1\nalgorithm = \x1b[2J\u202e\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if got := runProgram(t, "umount", dir); got.code != exitOK {
			t.Errorf("%+v", got)
		}
	}()
	if said := onTerminal(t, "mount", "-v", "--size", "16M", dir); len(obeyed(said)) > 0 || !strings.Contains(said, `\x1b[2J`) || strings.Contains(said, "\nzram: h") {
		t.Errorf("mount says %q", said)
	}
	if got := runProgram(t, "snapshot", "save", dir, file); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	root := filepath.Dir(filepath.Dir(conf))
	for _, args := range [][]string{
		{"status", dir}, {"status", "-q", dir}, {"status", filepath.Join(dir, "none")}, {"list", dir}, {"mount", dir}, {"up", dir}, {"down", "/none/" + foreign}, {"set", dir},
		{"set", dir, "mem-limit=" + foreign}, {"set", dir, foreign + "=1"}, {"set", dir, "spill=" + foreign}, {"idle", dir}, {"compact", dir}, {"verify", dir},
		{"recompress", dir}, {"events", dir}, {"top", "-b", "-d", "0.1", "-n", "1", dir}, {"upgrade", dir}, {"export", dir, file}, {"import", file, dir},
		{"snapshot", "inspect", file}, {"snapshot", "save", dir, file}, {"config", "check", "--config-root", root}, {"config", "show", "--config-root", root},
		{"up", "--all", "--config-root", root}, {"--" + foreign}, {foreign}, {"up", "--size", foreign}, {"mount", "--algorithm", foreign, dir},
	} {
		got := runProgram(t, args...)
		said := got.stdout + got.stderr
		if bad := obeyed(said); len(bad) > 0 || said == "" && args[1] != "-q" || strings.Contains(said, "\nzram: h") || !utf8.ValidString(said) {
			t.Errorf("%q says %q, with %s", args, said, bad)
		}
	}
	var out strings.Builder
	r := newReport(wellDevice(), time.Now())
	r.Status.Algorithm, r.Status.Backing.Path, r.title = foreign, foreign, foreign
	r.Status.Protections = append(r.Status.Protections, status.Protection{Name: foreign, Detail: foreign})
	if err := r.print(&out); err != nil || len(obeyed(out.String())) > 0 || strings.Contains(out.String(), "\nzram: h") {
		t.Errorf("status says %q, %v", out.String(), err)
	}
}

// onTerminal runs the program with a pseudo-terminal as its output, and returns what that gets.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }() // only read from
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), asProgram+"=1"), slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Run()
	if serr := slave.Close(); err != nil || serr != nil {
		t.Fatalf("%q: %v, %v", args, err, serr)
	}
	text, _ := io.ReadAll(master) // it ends with EIO once nothing has the other side
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
