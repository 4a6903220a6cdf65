// SPDX-License-Identifier: Apache-2.0

package term

import "testing"

func TestNearest(t *testing.T) {
	commands := []string{"up", "down", "list", "status", "umount", "mount", "verify"}
	for word, want := range map[string]string{
		"staus": "status", "mont": "mount", "unmount": "umount", "dwon": "down", "lsit": "list", "STATUS": "status",
		"frobnicate": "", "x": "", "ps": "", "verfiy": "verify",
	} {
		if got := Nearest(word, commands); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
