// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"os"
	"reflect"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

func TestExecutableRegions(t *testing.T) {
	const program = "/opt/a b/zramfs"
	all := []host.Region{
		{Start: 0x400000, End: 0x8ba000, Perms: "r-xp", Path: program},
		{Start: 0x8ba000, End: 0xde4000, Perms: "r--p", Path: program},
		{Start: 0xde4000, End: 0xe63000, Perms: "rw-p", Path: program},
		{Start: 0xe63000, End: 0x2eb8000, Perms: "rw-p"}, // 32 MiB
		{Start: 0x9b35c400000, End: 0x9b35f400000, Perms: "rw-p"},
		{Start: 0x7f1467d10000, End: 0x7f1467e66000, Perms: "r-xp", Path: "/usr/lib/libc.so.6"},
	}
	want := append([]host.Region{}, all[:4]...)
	want[3].End = want[3].Start + zeroDataLimit
	if got := executableRegions(all, program); !reflect.DeepEqual(got, want) {
		t.Errorf("regions %x, want %x", got, want)
	}
}

// The test populates its own program, which changes nothing else.
func TestPopulateExecutable(t *testing.T) {
	bytes, err := populateExecutable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// The file has debug information, which is not loaded.
	if bytes < uint64(info.Size())/4 || bytes > uint64(info.Size())+2*zeroDataLimit {
		t.Errorf("%d bytes populated of a program of %d", bytes, info.Size())
	}
}
