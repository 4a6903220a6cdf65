// SPDX-License-Identifier: Apache-2.0

package term

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Width returns the width of the terminal on standard output in characters, or 0 where standard
// output is no terminal. For a terminal that does not know its width it is COLUMNS, else 80.
func Width() int {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col > 0 {
		return int(size.Col)
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 80
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
