// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// zramDevice is a kernel zram described as one of our devices, from the kernel's attributes.
func zramDevice(name string, disksize uint64, algorithm string, mmStat []uint64, mountpoint string) swapdev.Device {
	return swapdev.Device{
		Loops:      []loopsetup.Info{{Path: name}},
		Mountpoint: mountpoint,
		Status: &status.Status{
			Disksize: disksize, Algorithm: algorithm, MemLimit: mmStat[3],
			Memory: status.Memory{
				OrigDataSize: mmStat[0], ComprDataSize: mmStat[1], MemUsedTotal: mmStat[2], MemUsedMax: mmStat[4],
				SamePages: mmStat[5], PagesCompacted: mmStat[6],
			},
		},
	}
}

// zramctlKnows lists the features of the installed zramctl.
type zramctlKnows struct {
	streams bool // kernels from 6.15 do not tell
	ratio   bool // COMP-RATIO came with util-linux 2.41
}

// print prints devices by our list command with these arguments on a terminal of that width, like
// such a zramctl.
func (z zramctlKnows) print(t *testing.T, found []swapdev.Device, width int, args ...string) string {
	t.Helper()
	var text string
	app := newApp(io.Discard, io.Discard)
	list := app.Command("list")
	list.Action = func(c *cli.Context) error {
		columns, err := listColumnsOf(c)
		if err != nil {
			return err
		}
		columns = slices.DeleteFunc(slices.Clone(columns), func(c listColumn) bool { return c.Name == "COMP-RATIO" && !z.ratio })
		for i := range columns {
			if columns[i].Name == "STREAMS" && !z.streams {
				columns[i].value = func(swapdev.Device) any { return nil }
			}
		}
		style := term.Style{Raw: c.Bool("raw"), NoHeadings: c.Bool("noheadings"), UTF8: true, Width: width}
		text = listTable(found, columns, c.Bool("bytes")).Render(style)
		return nil
	}
	if err := runApp(app, append([]string{"zramfs", "list"}, args...)); err != nil {
		t.Fatalf("list %q: %v", args, err)
	}
	return text
}

// TestListRecorded compares list with what the real zramctl printed for the same values;
// testdata/record.sh recorded it.
func TestListRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/zramctl.txt")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	var found []swapdev.Device
	_, sections, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "# devices\n")
	for section := range strings.SplitSeq(sections, "\n# ") {
		head, want, _ := strings.Cut(strings.TrimPrefix(section, "# "), "\n")
		fields := strings.Fields(head)
		switch fields[0] {
		case "devices":
			found = nil
			continue
		case "device":
			found = append(found, parseDevice(t, strings.TrimPrefix(head, "device ")))
			continue
		}
		width, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatalf("%q: %v", head, err)
		}
		if got := (zramctlKnows{}).print(t, found, width, fields[1:]...); got != want+"\n" {
			t.Errorf("%s, %d devices:\n%s\nwant\n%s", head, len(found), got, want)
		}
		compared++
	}
	if compared < 100 {
		t.Errorf("compared %d outputs, want 100 at least", compared)
	}
}

// parseDevice reads "name disksize algorithm", the nine fields of mm_stat, and a mount point, which
// may hold blanks.
func parseDevice(t *testing.T, line string) swapdev.Device {
	t.Helper()
	fields := strings.SplitN(line, " ", 13)
	if len(fields) != 13 {
		t.Fatalf("%q: %d fields", line, len(fields))
	}
	numbers := make([]uint64, 0, 10)
	for _, field := range append([]string{fields[1]}, fields[3:12]...) {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		numbers = append(numbers, n)
	}
	return zramDevice(fields[0], numbers[0], fields[2], numbers[1:], fields[12])
}

// TestListIsZramctls compares list with the zramctl of this machine on a kernel zram of its own.
func TestListIsZramctls(t *testing.T) {
	require.Root(t)
	require.Command(t, "zramctl")
	name := hotAdd(t)
	attribute(t, name, "comp_algorithm", "lz4")
	attribute(t, name, "disksize", "64M")
	attribute(t, name, "mem_limit", "33333333")
	content := []byte(strings.Repeat("A page of text, which is easy to compress. ", 77777))
	if err := os.WriteFile("/dev/"+name, content[:len(content)/4096*4096], 0); err != nil {
		t.Fatal(err)
	}
	d := readZram(t, name)
	help, err := exec.CommandContext(t.Context(), "zramctl", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	knows := zramctlKnows{ratio: strings.Contains(string(help), "COMP-RATIO")}
	if streams, err := os.ReadFile(filepath.Join("/sys/block", name, "max_comp_streams")); err == nil {
		knows.streams = true
		if d.Status.Streams, err = strconv.Atoi(strings.TrimSpace(string(streams))); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{}, {"-b"}, {"-n"}, {"--raw"}, {"--output-all"}, {"--output-all", "-b"}, {"-bn", "--raw"}, {"-o", "name,DATA"},
		{"-oMOUNTPOINT,NAME,TOTAL"}, {"--output=COMPR,MEM-USED,MEM-LIMIT,ZERO-PAGES,MIGRATED"}, {"-bno", "DISKSIZE"},
	} {
		want, err := exec.CommandContext(t.Context(), "zramctl", append(args, "/dev/"+name)...).Output()
		if err != nil {
			t.Fatalf("zramctl %q: %v", args, err)
		}
		if got := knows.print(t, []swapdev.Device{d}, 0, args...); got != string(want) {
			t.Errorf("%q:\n%s\nwant\n%s", args, got, want)
		}
	}
}

// TestUnknownColumnIsZramctls wants zramctl's words and its exit code.
func TestUnknownColumnIsZramctls(t *testing.T) {
	require.Command(t, "zramctl")
	for _, list := range []string{"FOO", "NAME,FOO"} {
		cmd := exec.CommandContext(t.Context(), "zramctl", "-o", list)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		want := runCommand(t, cmd)
		got := runProgram(t, "list", "-o", list)
		wantText, isZramctls := strings.CutPrefix(want.stderr, "zramctl: ")
		if got.code != want.code || !isZramctls || got.stderr != "zramfs: "+wantText {
			t.Errorf("-o %s: %d %q, want %d %q", list, got.code, got.stderr, want.code, want.stderr)
		}
	}
}

// hotAdd makes a kernel zram for this test and returns its name.
func hotAdd(t *testing.T) string {
	t.Helper()
	const control = "/sys/class/zram-control/"
	text, err := os.ReadFile(control + "hot_add")
	if err != nil {
		t.Skipf("needs the zram module: %v (to run this test: modprobe zram num_devices=0)", err)
	}
	number := strings.TrimSpace(string(text))
	t.Cleanup(func() {
		attribute(t, "zram"+number, "reset", "1")
		var err error
		for range 50 { // busy while another program, such as udev, has the device open
			if err = os.WriteFile(control+"hot_remove", []byte(number), 0); !errors.Is(err, syscall.EBUSY) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("remove zram%s: %v", number, err)
		}
	})
	return "zram" + number
}

func attribute(t *testing.T, name, attr, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("/sys/block", name, attr), []byte(value), 0); err != nil {
		t.Fatalf("set %s of %s: %v", attr, name, err)
	}
}

// readZram describes a kernel zram.
func readZram(t *testing.T, name string) swapdev.Device {
	t.Helper()
	read := func(attr string) string {
		text, err := os.ReadFile(filepath.Join("/sys/block", name, attr))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	_, algorithm, _ := strings.Cut(read("comp_algorithm"), "[")
	algorithm, _, _ = strings.Cut(algorithm, "]")
	line := fmt.Sprintf("/dev/%s %s %s %s ", name, read("disksize"), algorithm, strings.Join(strings.Fields(read("mm_stat")), " "))
	return parseDevice(t, line)
}
