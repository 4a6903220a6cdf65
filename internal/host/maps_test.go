// SPDX-License-Identifier: Apache-2.0

package host

import (
	"reflect"
	"testing"
)

const someMaps = `00400000-008ba000 r-xp 00000000 fe:00 9996497                            /opt/a b/zramfs
00e63000-02eb8000 rw-p 00000000 00:00 0 
7f1467e66000-7f1467e67000 ---p 00000000 00:00 0 
7ffd2a000000-7ffd2a021000 rw-p 00000000 00:00 0                          [stack]
`

func TestMaps(t *testing.T) {
	got, err := tree(t, map[string]string{"proc/self/maps": someMaps}).Maps()
	want := []Region{
		{0x400000, 0x8ba000, "r-xp", "/opt/a b/zramfs"},
		{0xe63000, 0x2eb8000, "rw-p", ""},
		{0x7f1467e66000, 0x7f1467e67000, "---p", ""},
		{0x7ffd2a000000, 0x7ffd2a021000, "rw-p", ""},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%x, %v", got, err)
	}
	if got[0].Writable() || !got[0].Accessible() || !got[1].Writable() || got[2].Accessible() {
		t.Error("what may be done with a region")
	}
	for _, text := range []string{"x\n", "1-2 rwxp\n", "2-1 r--p 0 00:00 0\n"} {
		if all, err := parseMaps(text); err == nil {
			t.Errorf("%q parsed as %v", text, all)
		}
	}
}
