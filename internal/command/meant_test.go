// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"strings"
	"testing"
)

// A call that zram's users, or a slip, may bring is answered with what happens or what was meant.
func TestSaysWhatHappensOrWasMeant(t *testing.T) {
	dir := served(t)
	other := filepath.Join(t.TempDir(), "other")
	for _, test := range []struct {
		line string
		code int
		want string
	}{
		{"idle all", exitUsage, "leave it out for all pages"},
		{"idle DIR all", exitUsage, "leave it out for all pages"},
		{"idle DIR 3600", exitUsage, "did you mean --age 3600s?"},
		{"writeback", exitUsage, "it is an attribute, the file /run/zram/block/zram0/writeback"},
		{"mem_limit 1G", exitUsage, "did you mean zramfs set mem_limit=VALUE?"},
		{"set DIR foo=1", exitUsage, `there is no "foo". Available: algorithm, `},
		{"set --mem-limit 1G DIR", exitUsage, "a setting has no dashes: zramfs set mem-limit=VALUE; see zramfs set --help"},
		{"status --quite DIR", exitUsage, "unknown flag --quite; did you mean --quiet? See zramfs status --help"},
		{"set DIR algorithm=lz4 mem-limit=4K", exitUsage, "memory limit 4K is too small: a 16M device needs "},
		{"set DIR mem-limit=1M", exitOK, "DIR: the store takes "},
		{"set DIR mem-limit=2GB", exitOK, "mem-limit=2GB is 1.9G: KB, MB and GB count by 1000"},
		{"mount --size 0.5 OTHER", exitUsage, "0.5 bytes is too small; at least 4K is needed. Did you mean 0.5G?"},
		{"mount --size 4GB OTHER", exitOK, "--size 4GB is 3.7G: KB, MB and GB count by 1000, K, M and G by 1024"},
		{"umount OTHER", exitOK, ""},
	} {
		args := strings.Fields(strings.NewReplacer("DIR", dir, "OTHER", other).Replace(test.line))
		got := runProgram(t, args...)
		if said := strings.ReplaceAll(got.stdout+got.stderr, dir, "DIR"); got.code != test.code || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %s", test.line, got.code, said, test.code, test.want)
		}
	}
	if got := runProgram(t, "set", dir); !strings.Contains(got.stdout, "algorithm  adaptive ") {
		t.Errorf("a refused call has changed the algorithm: %s", got.stdout)
	}
}

// estimate says what up makes without its advice, as the README calls it.
func TestEstimateNamesBareUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	fill(t, file)
	if got := runProgram(t, "estimate", "-f", file); !strings.Contains(got.stdout, "\nWithout flags, zramfs up makes ") || !strings.Contains(got.stdout, " at worst.\n") {
		t.Errorf("%+v", got)
	}
}
