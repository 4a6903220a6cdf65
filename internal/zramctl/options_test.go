// SPDX-License-Identifier: Apache-2.0

package zramctl

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// TestMessagesAreZramctls compares the messages of wrong command lines with those of the zramctl of
// this machine. None of them reaches a device.
func TestMessagesAreZramctls(t *testing.T) {
	require.Command(t, Name)
	for _, line := range []string{
		"-x", "-bnx", "-f foo", "-f -o NAME", "-r", "-a lz4", "-s 1G", "-s x d", "-f -r", "-o", "a b", "-t x", "-o NAME -s 1G d",
		"-o NAME -r d", "-f -t 3", "--raw=3", "--out", "--fi x", "-s 1G -r d", "-r -s 1G d", "-t -1 -s 1M d", "-s -1 d", "-s 1Q d",
		"-s 1Gi d", "-s 1b d", "-s 5% d", "-t 99999999999999999999999 -s 1M d", "-s 4M d d2", "-bns", "-bns x", "--si 1G", "--size",
		"--output", "--z", "--help=1", "--z=3", "--out=NAME", "-f -f -x", "-o name -f", "-s 1G -o NAME",
	} {
		words := strings.Fields(line)
		cmd := exec.CommandContext(t.Context(), Name, words...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		want, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("zramctl %s does not fail", line)
		}
		if _, err := Parse(words); err == nil || Name+": "+err.Error()+"\n" != string(want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string]Options{
		"":                        {},
		"-bn --raw zram0":         {Bytes: true, NoHeadings: true, Raw: true, Devices: []string{"zram0"}},
		"zram0 -b":                {Bytes: true, Devices: []string{"zram0"}},
		"-- -b":                   {Devices: []string{"-b"}},
		"-f":                      {Action: Find, Find: true},
		"-fs1G -azstd -p level=3": {Action: Create, Find: true, Size: 1 << 30, Algorithm: "zstd", Params: "level=3"},
		"--size=10KB d -t 2":      {Action: Create, Size: 12288, Streams: 2, Devices: []string{"d"}},
		"-r a b":                  {Action: Reset, Devices: []string{"a", "b"}},
		"-oNAME --output-all":     {Columns: "NAME", AllColumns: true},
		"-bh -x":                  {Action: Help, Bytes: true},
		"-V -x":                   {Action: Version},
	} {
		if got, err := Parse(strings.Fields(line)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", line, got, err, want)
		}
	}
}

// Only a device of a section, or at /run/zram or /run/zramN, has a number: no name of a zram means
// another program's.
func TestNumber(t *testing.T) {
	found := []swapdev.Device{{Dir: "/mnt/x"}, {Dir: "/run/zram2"}, {Dir: "/srv/archive"}, {Dir: "/run/zram5"}, {Dir: "/run/zram0"}, {Dir: "/run/zram"}, {Dir: "/run/zram-1"}, {Dir: "/run/zram02"}, {Dir: "/run/zram1", Elsewhere: true}}
	conf := &config.Config{Sections: []*config.Section{{Name: "zram5", Dir: "/srv/archive"}}}
	all := Number(conf, found)
	var got []string
	for _, z := range all {
		got = append(got, z.Name())
	}
	want := []string{"/dev/zram0", "/dev/zram2", "/dev/zram5", "/mnt/x/dev/zram0", "/run/zram5/dev/zram0", "/run/zram0/dev/zram0", "/run/zram-1/dev/zram0", "/run/zram02/dev/zram0", "/run/zram1/dev/zram0"}
	if !reflect.DeepEqual(got, want) || Free(all) != 1 {
		t.Errorf("%q, free %d; want %q", got, Free(all), want)
	}
	for name, dir := range map[string]string{"zram0": "/run/zram", "/dev/zram2": "/run/zram2", "zram5": "/srv/archive", "/mnt/x": "/mnt/x"} {
		if z, ok := Pick(all, name); !ok || z.Device == nil || z.Device.Dir != dir {
			t.Errorf("%s: %+v, %t", name, z, ok)
		}
	}
	for n, dir := range []string{"/run/zram", "/run/zram1", "/run/zram2", "/run/zram3", "/run/zram4", "/srv/archive"} {
		if got := Dir(conf, n); got != dir {
			t.Errorf("the DIR of zram%d is %s, want %s", n, got, dir)
		}
	}
	if z, ok := Pick(all, "/dev/zram1"); !ok || z.Device != nil || z.Number != 1 {
		t.Errorf("zram1: %+v, %t", z, ok)
	}
	for _, name := range []string{"zram-1", "/dev/zram02", "/dev/null", ""} {
		if z, ok := Pick(all, name); ok {
			t.Errorf("%q: %+v", name, z)
		}
	}
}
