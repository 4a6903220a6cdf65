// SPDX-License-Identifier: Apache-2.0

package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

// TestDictRelative wants a name relative to the working directory of the command.
func TestDictRelative(t *testing.T) {
	all := pages.Generate(pages.Text, 200, 1)
	data, err := codec.TrainDictionary(all, 1, codec.MinDictionary)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	a, err := parseAlgorithm("zstd(level=1,dict=d)")
	if err != nil || a.DictionaryFile() != filepath.Join(dir, "d") {
		t.Errorf("%s, %v", a, err)
	}
}

// TestMountRefusesDictionaries wants each file that is no dictionary refused before a device is
// made.
func TestMountRefusesDictionaries(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "zram")
	write := func(name string, data []byte) string {
		path := filepath.Join(base, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for file, word := range map[string]string{
		filepath.Join(base, "none"): "no such file",
		base:                        "no regular file",
		write("empty", nil):         "bad dictionary",
		write("noise", pages.Generate(pages.Random, 1, 1)[0]): "not in the format of zstd --train",
		write("large", make([]byte, codec.MaxDictionary+1)):   "has more than 114688 bytes",
		"/dev/zero":   "no regular file",
		base + "/a b": "spaces",
	} {
		for _, command := range []string{"mount", "up"} {
			wantRefusal(t, dir, exitUsage, []string{command, dir, "-a", "zstd(level=1,dict=" + file + ")"}, word)
		}
	}
}
