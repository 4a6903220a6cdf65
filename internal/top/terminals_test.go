// SPDX-License-Identifier: Apache-2.0

package top

import (
	"testing"

	"github.com/gdamore/tcell/v2/terminfo"
)

func TestTerminals(t *testing.T) {
	for _, name := range []string{
		"xterm", "xterm-256color", "xterm-kitty", "linux", "screen", "screen-256color", "tmux", "tmux-256color", "vt100", "vt220",
		"rxvt-unicode-256color", "alacritty", "foot", "st-256color", "konsole-256color", "gnome-256color",
	} {
		if _, err := terminfo.LookupTerminfo(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
