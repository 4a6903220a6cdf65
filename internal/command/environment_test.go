// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"
)

// An unknown word in ZRAMFS_DISABLE is a usage error of every command.
func TestEnvironmentIsChecked(t *testing.T) {
	for _, value := range []string{"avx3", "generic", "avx2,banana"} {
		t.Setenv("ZRAMFS_DISABLE", value)
		for _, args := range [][]string{{"list"}, {"status"}, {"doctor"}, {"bench", "codec"}, {"estimate", "--all"}, {"mount", "/nowhere"}, {"version"}} {
			got := runProgram(t, args...)
			if got.code != exitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "zramfs: ZRAMFS_DISABLE names ") {
				t.Errorf("ZRAMFS_DISABLE=%s %q: %+v", value, args, got)
			}
		}
	}
	t.Setenv("ZRAMFS_DISABLE", "avx512, neon")
	if got := runProgram(t, "version"); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}
