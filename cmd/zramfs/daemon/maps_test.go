// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"reflect"
	"testing"
)

const someMaps = `00400000-008ba000 r-xp 00000000 fe:00 9996497                            /opt/a b/zramfs
008ba000-00de4000 r--p 004ba000 fe:00 9996497                            /opt/a b/zramfs
00de4000-00e63000 rw-p 009e4000 fe:00 9996497                            /opt/a b/zramfs
00e63000-02eb8000 rw-p 00000000 00:00 0 
9b35c400000-9b35f400000 rw-p 00000000 00:00 0 
7f1467d10000-7f1467e66000 r-xp 00026000 fe:00 326269                     /usr/lib/libc.so.6
7f1467e66000-7f1467e67000 ---p 00000000 00:00 0 
7ffd2a000000-7ffd2a021000 rw-p 00000000 00:00 0                          [stack]
`

func TestExecutableRegions(t *testing.T) {
	all, err := parseMaps(someMaps)
	if err != nil || len(all) != 8 {
		t.Fatalf("parsed %d regions, %v", len(all), err)
	}
	const program = "/opt/a b/zramfs"
	want := []region{
		{0x400000, 0x8ba000, "r-xp", program},
		{0x8ba000, 0xde4000, "r--p", program},
		{0xde4000, 0xe63000, "rw-p", program},
		{0xe63000, 0xe63000 + zeroDataLimit, "rw-p", ""}, // of 32 MiB
	}
	if got := executableRegions(all, program); !reflect.DeepEqual(got, want) {
		t.Errorf("regions %x, want %x", got, want)
	}
}

func TestParseMapsRejects(t *testing.T) {
	for _, text := range []string{"x\n", "1-2 rwxp\n", "2-1 r--p 0 00:00 0\n"} {
		if all, err := parseMaps(text); err == nil {
			t.Errorf("%q parsed as %v", text, all)
		}
	}
}

// TestPopulateExecutable takes the running test program; populating changes nothing else.
func TestPopulateExecutable(t *testing.T) {
	bytes, err := populateExecutable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// The file has debug information beside what is loaded.
	if bytes < uint64(info.Size())/4 || bytes > uint64(info.Size())+2*zeroDataLimit {
		t.Errorf("%d bytes populated of a program of %d", bytes, info.Size())
	}
}
