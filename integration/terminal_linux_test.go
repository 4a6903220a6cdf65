// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// A terminal is a pseudo-terminal that a program draws on, and what it has drawn: as much of xterm
// as a full-screen program needs (ECMA-48).
type terminal struct {
	user   *os.File // what the program writes is read from it, keys are written to it
	before unix.Termios

	lock          sync.Mutex
	width, height int
	cells         [][]glyph
	x, y          int
	style         string // parameters of the last SGR, as in 1;32
	modes         map[string]bool
	pending       []byte // an unfinished sequence or character
	all           bytes.Buffer
}

// A glyph is a character on the screen with its style.
type glyph struct {
	r     rune
	style string
}

// onTerminal starts a command that has the terminal, of this size, for its own.
func onTerminal(t *testing.T, cmd *exec.Cmd, width, height int) *terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = user.Close() }) // nothing is left to write
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Close() }() // the command has its own
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{user: user, before: *before, modes: map[string]bool{}}
	term.resize(t, width, height)
	cmd.Stdin, cmd.Stdout = program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test has not seen its end
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	})
	go term.follow()
	return term
}

// resize changes the size; the kernel tells the program by SIGWINCH.
func (s *terminal) resize(t *testing.T, width, height int) {
	t.Helper()
	s.lock.Lock()
	s.width, s.height, s.x, s.y = width, height, 0, 0
	s.clear()
	s.lock.Unlock()
	size := unix.Winsize{Col: uint16(width), Row: uint16(height)}
	if err := unix.IoctlSetWinsize(int(s.user.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
}

func (s *terminal) clear() {
	s.cells = make([][]glyph, s.height)
	for y := range s.cells {
		s.cells[y] = make([]glyph, s.width)
		for x := range s.cells[y] {
			s.cells[y][x].r = ' '
		}
	}
}

// follow reads what the program writes until it has ended.
func (s *terminal) follow() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.user.Read(buffer)
		s.lock.Lock()
		s.all.Write(buffer[:n])
		s.pending = append(s.pending, buffer[:n]...)
		for len(s.pending) > 0 {
			used := s.obey(s.pending)
			if used == 0 {
				break
			}
			s.pending = s.pending[used:]
		}
		s.lock.Unlock()
		if err != nil {
			return
		}
	}
}

// obey carries out the first character or sequence of text and returns its length; 0 if it has not
// come completely.
func (s *terminal) obey(text []byte) int {
	switch {
	case text[0] == 0x1b:
		return s.sequence(text)
	case text[0] == '\r':
		s.x = 0
		return 1
	case text[0] == '\n':
		s.y++
		return 1
	case text[0] < ' ':
		return 1
	case !utf8.FullRune(text):
		return 0
	}
	r, n := utf8.DecodeRune(text)
	if s.y < s.height && s.x < s.width {
		s.cells[s.y][s.x] = glyph{r, s.style}
	}
	s.x++
	return n
}

// sequence carries out a sequence that begins with ESC.
func (s *terminal) sequence(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '(', ')': // character sets
		if len(text) < 3 {
			return 0
		}
		return 3
	case ']': // a command of the window system
		if at := bytes.IndexAny(text, "\a\\"); at >= 0 {
			return at + 1
		}
		return 0
	case '[':
	default:
		return 2
	}
	for i := 2; i < len(text); i++ {
		if text[i] >= 0x40 {
			s.control(string(text[2:i]), text[i])
			return i + 1
		}
	}
	return 0
}

// control carries out a control sequence.
func (s *terminal) control(parameters string, what byte) {
	switch what {
	case 'H':
		row, column, _ := strings.Cut(parameters, ";")
		s.y, s.x = at(row), at(column)
	case 'J':
		s.clear()
	case 'm':
		s.style = parameters
	case 'h', 'l':
		s.modes[parameters] = what == 'h'
	}
}

// at is a coordinate from 0.
func at(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n - 1
}

// text is what is on the screen.
func (s *terminal) text() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	var out strings.Builder
	for _, row := range s.cells {
		line := make([]rune, len(row))
		for x, g := range row {
			line[x] = g.r
		}
		out.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return out.String()
}

// press sends keys to the program.
func (s *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.user.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// until waits until the screen is as wanted, and returns its text.
func (s *terminal) until(t *testing.T, what string, holds func(text string) bool) string {
	t.Helper()
	for end := time.Now().Add(answerTimeout); ; time.Sleep(20 * time.Millisecond) {
		text := s.text()
		if holds(text) {
			return text
		}
		if time.Now().After(end) {
			t.Fatalf("the screen does not show %s in %s:\n%s", what, answerTimeout, text)
		}
	}
}

// wantGivenBack waits for the end of the command and wants its exit code to be 0 and the terminal
// to be as it was: its settings, the first screen, and the cursor.
func (s *terminal) wantGivenBack(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	kill := time.AfterFunc(answerTimeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%q: %v", cmd.Args, err)
	}
	after, err := unix.IoctlGetTermios(int(s.user.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *after != s.before {
		t.Errorf("the terminal was %+v and is %+v", s.before, *after)
	}
	for end := time.Now().Add(answerTimeout); ; time.Sleep(10 * time.Millisecond) {
		s.lock.Lock()
		alternate, cursor := s.modes["?1049"], s.modes["?25"]
		_, hidden := s.modes["?25"]
		s.lock.Unlock()
		if !alternate && (cursor || !hidden) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the alternate screen is on: %v; the cursor is shown: %v", alternate, cursor)
		}
	}
}
