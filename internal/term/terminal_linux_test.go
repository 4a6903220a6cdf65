// SPDX-License-Identifier: Apache-2.0

package term

import "testing"

// COLUMNS and LINES may be anything, and what is drawn on such a screen fits into memory.
func TestScreenFromTheEnvironment(t *testing.T) {
	for text, want := range map[string]int{"": 80, "120": 120, "0": 80, "-1": 80, "wide": 80, "99999999999": mostCells, "99999999999999999999": 80} {
		t.Setenv("COLUMNS", text)
		if got := fromEnvironment("COLUMNS", 80); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}
