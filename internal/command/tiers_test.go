// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/estimate"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/sample"
	"github.com/zramfs/zramfs/internal/term"
)

// A tier is a machine of the specification, or of ours, by what its /proc/meminfo has.
type tier struct {
	name  string
	kib   uint64 // MemTotal
	class string
	size  uint64 // of a device without --size, in bytes
}

// tiers are machines from a microVM up. The kernel keeps some of the memory for itself, the more
// the smaller the machine is.
var tiers = []tier{
	{"128 MiB, a microVM", 116_412, estimate.Small, 58_208 << 10}, // half, in whole pages
	{"1 GiB", 1_000_448, estimate.Small, 500_224 << 10},
	{"8 GiB of a laptop", 7_995_392, estimate.Small, 3_997_696 << 10},
	{"a page below 8 GiB", 8<<20 - 4, estimate.Small, 4 * gib},
	{"8 GiB", 8 << 20, estimate.Medium, 4 * gib},
	{"32 GB", 32_780_288, estimate.Medium, 4 * gib},
	{"64 GB, medium", 65_743_872, estimate.Medium, 4 * gib},
	{"a page below 96 GiB", 96<<20 - 4, estimate.Medium, 4 * gib},
	{"96 GiB", 96 << 20, estimate.Large, 12 * gib},
	{"128 GB, high", 131_899_392, estimate.Large, 131_899_392 << 10 / 8},
	{"256 GB, full", 263_847_936, estimate.Large, 263_847_936 << 10 / 8},
}

// ram returns the memory of a machine with the /proc/meminfo of the tier.
func (c tier) ram(t *testing.T) uint64 {
	t.Helper()
	m := host.Root(t.TempDir())
	file := m.Path("proc/meminfo")
	text := fmt.Sprintf("MemTotal:       %8d kB\nMemFree:         1000 kB\n", c.kib)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	ram, err := m.MemTotal()
	if err != nil {
		t.Fatal(err)
	}
	return ram
}

// F089: on machines of all tiers (full and high with 256 and 128 GB of memory, medium with 64,
// minimal with less) the device that up makes without --size is that of the machine's class. It
// takes half of memory at most, has room for a swap area, is no smaller than on a smaller machine
// and needs no warning; up and estimate name the same class and size. The code of the processor and
// the engines of GPUs are matters of F086 and F087.
func TestF089SizeFollowsTheClass(t *testing.T) {
	adaptive, err := codec.Parse("adaptive")
	if err != nil {
		t.Fatal(err)
	}
	pages, before := sample.Generate(16), uint64(0)
	for _, c := range tiers {
		ram := c.ram(t)
		size, err := parseSize("auto", ram)
		if err != nil || size != c.size || size < before || size > ram/2+pageSize || checkSwapSize("auto", size) != nil {
			t.Errorf("%s: the device has %d bytes, %v; want %d, and on a smaller machine it has %d", c.name, size, err, c.size, before)
		}
		if warnings := sizesBeyond(size, 0, ram); len(warnings) > 0 {
			t.Errorf("%s: up warns: %q", c.name, warnings)
		}
		s := summary{Size: size, Class: classOf(size, ram), Loops: []string{"/dev/loop0"}, Priority: new(int), Algorithm: "adaptive"}
		if want := "algorithm adaptive, size auto for a " + c.class + " machine\n"; !strings.HasSuffix(s.swapText(), want) {
			t.Errorf("%s: up prints %q, want %q", c.name, s.swapText(), want)
		}
		if other := classOf(size+pageSize, ram); other != "" {
			t.Errorf("%s: a size that was named is that of a %s machine", c.name, other)
		}
		e, err := estimate.New(pages, []codec.Algorithm{adaptive}, ram, term.NewSteps(io.Discard, "", 0))
		if err != nil {
			t.Fatal(err)
		}
		if bare := e.Advice.Bare; bare.Class != c.class || bare.Size != size || !strings.Contains(e.Text(), " for a "+c.class+" machine, without a limit: ") {
			t.Errorf("%s: estimate has %+v\n%s", c.name, bare, e.Text())
		}
		before = size
	}
}

// F089: a device that is made here without --size is that of this machine's class.
func TestF089MountNamesTheClass(t *testing.T) {
	needServing(t)
	ram, err := host.Local.MemTotal()
	if err != nil {
		t.Fatal(err)
	}
	want := estimate.ClassOf(ram)
	for _, c := range []struct{ flag, class string }{{"--size=auto", want.Name}, {"--size=16M", ""}} {
		dir := filepath.Join(t.TempDir(), "device")
		var got map[string]summary
		decodeJSON(t, runProgram(t, "mount", "--json", c.flag, dir).stdout, &got)
		if r := runProgram(t, "umount", dir); r.code != exitOK {
			t.Error(r)
		}
		if s := got["mount"]; s.Class != c.class || c.class != "" && s.Size != want.Size {
			t.Errorf("%s: %+v; want %+v", c.flag, s, want)
		}
	}
}
