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
func Width() int { return WidthOf(os.Stdout) }

// WidthOf is Width for any writer, and for what [Raw] finds behind it.
func WidthOf(w io.Writer) int {
	f, ok := Raw(w).(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col > 0 {
		return int(size.Col)
	}
	return fromEnvironment("COLUMNS", 80)
}

// Screen returns the width and height of the terminal on standard output in characters. Elsewhere
// it is COLUMNS by LINES, else 80 by 24.
func Screen() (width, height int) {
	width, height = fromEnvironment("COLUMNS", 80), fromEnvironment("LINES", 24)
	if size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
		width, height = int(size.Col), int(size.Row)
	}
	return width, height
}

// mostCells is more than the rows or columns of any screen: memory is taken for each cell.
const mostCells = 2000

// fromEnvironment returns a number in the environment, otherwise the usual one.
func fromEnvironment(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return min(n, mostCells)
	}
	return usual
}
