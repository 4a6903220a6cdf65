// SPDX-License-Identifier: Apache-2.0

package top

// Terminals that the program knows in addition to tcell's smallest set of xterm, tmux, ansi and the
// vt family: it is built with the tag tcell_minimal.
import (
	_ "github.com/gdamore/tcell/v2/terminfo/a/alacritty"
	_ "github.com/gdamore/tcell/v2/terminfo/f/foot"
	_ "github.com/gdamore/tcell/v2/terminfo/g/gnome"
	_ "github.com/gdamore/tcell/v2/terminfo/k/konsole"
	_ "github.com/gdamore/tcell/v2/terminfo/l/linux"
	_ "github.com/gdamore/tcell/v2/terminfo/r/rxvt"
	_ "github.com/gdamore/tcell/v2/terminfo/s/screen"
	_ "github.com/gdamore/tcell/v2/terminfo/s/simpleterm"
	_ "github.com/gdamore/tcell/v2/terminfo/x/xterm_kitty"
)
