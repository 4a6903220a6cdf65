// SPDX-License-Identifier: Apache-2.0

package procpages

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// smaps has a mapping of every kind: with memory for us are the second and the last alone.
const smaps = `55d000000000-55d000001000 r-xp 00000000 08:01 131 /usr/bin/cat
Size:                  4 kB
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
7f0000000000-7f0000021000 rw-p 00000000 00:00 0
Rss:                  64 kB
Anonymous:            64 kB
Locked:                0 kB
VmFlags: rd wr mr mw me ac sd
7f0000100000-7f0000200000 rw-s 00000000 00:01 77 /dev/zero (deleted)
Anonymous:            64 kB
7f0000200000-7f0000300000 ---p 00000000 00:00 0
Anonymous:            64 kB
7f0000300000-7f0000400000 rw-p 00000000 00:00 0
Anonymous:            64 kB
Locked:               64 kB
VmFlags: rd wr mr
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
Anonymous:            64 kB
VmFlags: rd wr lo mr
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
Anonymous:             8 kB
VmFlags: rd wr gd
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
Anonymous:             0 kB
`

func TestMappingsWithPagesForUs(t *testing.T) {
	got, err := readMappings(strings.NewReader(smaps))
	if err != nil {
		t.Fatal(err)
	}
	want := []mapping{
		{first: 0x7f0000000000, end: 0x7f0000021000, usable: true, anonymous: 64 << 10},
		{first: 0x7ffc00000000, end: 0x7ffc00021000, usable: true, anonymous: 8 << 10},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The longest name that a file can have is no obstacle.
func TestMappingsOfALongName(t *testing.T) {
	name := strings.Repeat(`\012`, 4095)
	text := fmt.Sprintf("1000-2000 rw-p 00000000 08:01 131 /%s\nAnonymous: 4 kB\n", name)
	if got, err := readMappings(strings.NewReader(text)); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMappingsThatAreNone(t *testing.T) {
	for _, text := range []string{"banana\n", "1000-2000 rw\n", "x-2000 rw-p\n", "1000-y rw-p\n", "1000 rw-p\n", strings.Repeat("x", 100<<10)} {
		if got, err := readMappings(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q is taken for %+v", text, got)
		}
	}
	if got, err := readMappings(strings.NewReader("")); err != nil || got != nil {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}
