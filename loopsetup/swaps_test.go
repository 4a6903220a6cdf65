// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const swapsHeading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

func TestParseSwaps(t *testing.T) {
	text := swapsHeading +
		"/dev/loop0                              partition\t1048572\t\t0\t\t100\n" +
		"/swap\\040file\\011a\\134b\\012              file\t\t65532\t\t12\t\t-2\n" +
		"/dev/loop12\\040(deleted)                 partition\t4294967296\t1\t\t32767\n" +
		"/loop7                                  partition\t65532\t\t0\t\t99\n" + // its mount namespace has ended
		"/loop7                                  file\t\t65532\t\t0\t\t98\n"
	want := []Swap{
		{Path: "/dev/loop0", Type: "partition", Size: 1048572 << 10, Priority: 100},
		{Path: "/swap file\ta\\b\n", Type: "file", Size: 65532 << 10, Used: 12 << 10, Priority: -2},
		{Path: "/dev/loop12", Deleted: true, Type: "partition", Size: 4 << 40, Used: 1 << 10, Priority: 32767},
		{Path: "/dev/loop7", Type: "partition", Size: 65532 << 10, Priority: 99},
		{Path: "/loop7", Type: "file", Size: 65532 << 10, Priority: 98},
	}
	got, err := ParseSwaps([]byte(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestParseSwapsWithoutAreas(t *testing.T) {
	for _, text := range []string{"", swapsHeading} {
		if got, err := ParseSwaps([]byte(text)); len(got) != 0 || err != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestParseSwapsRefusesOtherText(t *testing.T) {
	for _, line := range []string{
		"", "/dev/loop0", "/dev/loop0 partition 1 2", "/dev/loop0 partition 1 2 3 4", "/dev/loop0 partition x 2 3",
		"/dev/loop0 partition 1 -2 3", "/dev/loop0 partition 1 2 high", "/dev/loop0 partition 18014398509481984 2 3",
	} {
		_, err := ParseSwaps([]byte(swapsHeading + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`plain`:         "plain",
		`a\040b`:        "a b",
		`\134040`:       `\040`,
		`end\04`:        `end\04`,
		`\`:             `\`,
		`\999`:          `\999`,
		`\400\377`:      `\400` + "\xff",
		`\040\040`:      "  ",
		"\xc3\xa9\\040": "é ",
	} {
		if got := unescape(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

// FuzzParseSwaps looks for text that makes the parser panic or accept an area without a path or
// type.
func FuzzParseSwaps(f *testing.F) {
	f.Add([]byte(swapsHeading + "/dev/loop0 partition 1048572 0 100\n"))
	f.Add([]byte(swapsHeading + "/a\\040b\\04 file 1 1 -2\n"))
	f.Add([]byte("\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		areas, err := ParseSwaps(text)
		if err != nil && areas != nil {
			t.Fatal("areas beside an error")
		}
		for _, a := range areas {
			if a.Type == "" || a.Size%1024 != 0 || a.Used%1024 != 0 {
				t.Fatalf("%+v from %q", a, text)
			}
		}
	})
}

// A kernelTable returns lines as swap_start and swap_next of the kernel's mm/swapfile.c do: each
// call begins at the number of lines that were returned. After the first call the first area is
// off.
type kernelTable struct {
	lines    []string
	returned int
}

func (k *kernelTable) Read(p []byte) (n int, err error) {
	for _, line := range k.lines[min(k.returned, len(k.lines)):] {
		if n+len(line) > min(len(p), 4096) {
			break
		}
		n += copy(p[n:], line)
		k.returned++
	}
	if n == 0 {
		return 0, io.EOF
	}
	if k.lines[1] == areaLine(0) {
		k.lines = slices.Delete(k.lines, 1, 2)
	}
	return n, nil
}

func areaLine(n int) string {
	return fmt.Sprintf("/dev/loop%-31dpartition\t1048572\t\t1048572\t\t%d\n", n, 100-n)
}

// An area that goes off while the table is read takes no other one with it.
func TestReadTable(t *testing.T) {
	k := &kernelTable{lines: []string{swapsHeading}}
	for n := range 32 {
		k.lines = append(k.lines, areaLine(n))
	}
	text, err := readTable(k)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseSwaps(text)
	for n := 1; n < 32; n++ {
		if path := devPath(n); err != nil || !slices.ContainsFunc(all, func(s Swap) bool { return s.Path == path }) {
			t.Errorf("%s is missing among %d areas, %v", path, len(all), err)
		}
	}
}
