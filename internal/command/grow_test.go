// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"testing"
)

// grow refuses what it cannot do before it looks for the device, and needs one.
func TestGrowRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "zram")
	for _, c := range []struct {
		code int
		word string
		args []string
	}{
		{exitUsage, "name the size", nil},
		{exitUsage, "auto", []string{"-s", "auto4"}},
		{exitUsage, "too small", []string{"-s", "32K"}},
		{exitUsage, `memory limit "x"`, []string{"-s", "1G", "-m", "x"}},
		{exitUsage, "needs", []string{"-s", "4G", "-m", "4K"}},
		{exitUsage, `"lzo"`, []string{"-s", "1G", "-a", "lzo"}},
		{exitUsage, "priority -1", []string{"-s", "1G", "-p", "-1"}},
		{exitUsage, "need 3 at least", []string{"-s", "1G", "-p", "2", "--devices", "4"}},
		{exitUsage, "devices 33", []string{"-s", "1G", "--devices", "33"}},
		{exitUsage, `"never"`, []string{"-s", "1G", "-d", "never"}},
		{exitUsage, "one DIR at most", []string{"-s", "1G", dir}},
		{exitUsage, "mutually exclusive", []string{"-s", "1G", "-q", "-J"}},
		{exitUsage, "exclude each other", []string{"-s", "1G", "--section", "zram0"}},
		{exitFailure, "no zramfs device at", []string{"-s", "1G"}},
	} {
		wantRefusal(t, dir, c.code, append([]string{"grow", dir}, c.args...), c.word)
	}
}
