// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// distributions have the keys and values of zram-generator's files as these ship them, below the
// directories that zramfs reads. The memory is 16 GiB.
var distributions = []struct {
	name  string
	files map[string]string
	// want has the settings of each section by flag, or why it is off, and notes below them.
	want string
}{
	{"Fedora", map[string]string{"usr/lib/zramfs.conf": "[zram0]\nzram-size = min(ram, 8192)\n"}, "zram0: size=8192M"},
	{"Debian", map[string]string{"etc/zramfs.conf": "# all defaults\n[zram0]\n"}, "zram0:"},
	{"zram-generator's example", map[string]string{"usr/lib/zramfs.conf": "[zram0]\nzram-size = min(ram / 2, 8192)\ncompression-algorithm = lzo-rle zstd(level=3) (type=idle)\n"},
		"zram0: size=8192M algorithm=lz4\n" +
			"/usr/lib/zramfs.conf:3: lzo-rle is kernel zram's: lz4 is the nearest; zstd(level=3) (type=idle) is for recompression and left out"},
	{"Arch and EndeavourOS", map[string]string{"etc/zramfs.conf": "[zram0]\nzram-size = ram / 2\ncompression-algorithm = zstd\nswap-priority = 90\nfs-type = swap\n"},
		"zram0: size=8192M algorithm=zstd priority=90"},
	{"CachyOS", map[string]string{"usr/lib/zramfs.conf": "[zram0] \ncompression-algorithm = zstd lz4 (type=huge)\nzram-size = ram\nswap-priority = 100\nfs-type = swap\n"},
		"zram0: algorithm=zstd size=16384M priority=100\n" +
			"/usr/lib/zramfs.conf:2: lz4 (type=huge) is for recompression and left out"},
	{"SteamOS", map[string]string{"usr/lib/zramfs.conf": "[zram0]\nzram-size = min(ram/2)\ncompression-algorithm = zstd\nswap-priority = 100\nfs-type = swap\n"},
		"zram0: size=8192M algorithm=zstd priority=100"},
	{"NixOS", map[string]string{"etc/zramfs.conf": "[zram0]\ncompression-algorithm=lzo\nswap-priority=5\nwriteback-device=/dev/zvol/pool/writeback\nzram-size=min(50 / 100 * ram, 4294967296 / 1024 / 1024)\n"},
		"zram0: algorithm=lz4 priority=5 spill=/dev/zvol/pool/writeback size=4096M\n" +
			"/etc/zramfs.conf:2: lzo is kernel zram's: lz4 is the nearest"},
	{"Universal Blue", map[string]string{"etc/zramfs.conf": "[zram0]\nzram-size = ram * 1.5\ncompression-algorithm = lz4\nswap-priority = -1\nwriteback-device = none\n"},
		"zram0: size=24576M algorithm=lz4 priority=0\n" +
			"/etc/zramfs.conf:4: the kernel would choose: 0 is the lowest that can be given"},
	{"Raspberry Pi OS without zram", map[string]string{
		"usr/lib/zramfs.conf":                               "[zram0]\n",
		"usr/lib/zramfs.conf.d/20-rpi-swap-zram0-ctrl.conf": "[zram0]\nhost-memory-limit=0\nfs-type=none\n",
	}, "zram0 is off: its fs-type is none (/usr/lib/zramfs.conf.d/20-rpi-swap-zram0-ctrl.conf:3)"},
	{"Raspberry Pi OS with zram and a file", map[string]string{
		"usr/lib/zramfs.conf":                               "[zram0]\n",
		"usr/lib/zramfs.conf.d/20-rpi-swap-zram0-ctrl.conf": "[zram0]\nhost-memory-limit=0\nfs-type=none\n",
		"run/zramfs.conf.d/20-rpi-swap-zram0-ctrl.conf":     "[zram0]\nhost-memory-limit=none\nfs-type=swap\nwriteback-device=/dev/disk/by-backingfile/var-swap\n",
	}, "zram0: spill=/dev/disk/by-backingfile/var-swap"},
	{"Raspberry Pi OS with a file of the administrator", map[string]string{
		"usr/lib/zramfs.conf":                               "[zram0]\n",
		"usr/lib/zramfs.conf.d/20-rpi-swap-zram0-ctrl.conf": "[zram0]\nhost-memory-limit=0\nfs-type=none\n",
		"etc/zramfs.conf.d/99-size.conf":                    "[zram0]\nhost-memory-limit=none\nfs-type=swap\nzram-size=min(ram / 2, 4096)\nswap-priority=-1\n",
	}, "zram0: size=4096M priority=0\n" +
		"/etc/zramfs.conf.d/99-size.conf:5: the kernel would choose: 0 is the lowest that can be given"},
}

// writeRoot returns a root directory with these files and 16 GiB of memory.
func writeRoot(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	root := host.Root(t.TempDir())
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(root.Path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/meminfo", "MemTotal: 16777216 kB\n")
	for name, text := range files {
		write(name, text)
	}
	return root
}

// Up takes the files that distributions have for zram-generator; a value that differs has a note.
func TestDistributions(t *testing.T) {
	for _, d := range distributions {
		conf, err := loadRoot(newApp(io.Discard, io.Discard), writeRoot(t, d.files))
		if err != nil {
			t.Fatal(err)
		}
		var got, notes strings.Builder
		for _, s := range conf.Sections {
			fmt.Fprintf(&got, "%s:", s.Name)
			if s.Off != "" {
				got.Reset()
				fmt.Fprintf(&got, "%s is off: %s", s.Name, s.Off)
			}
			for _, at := range s.Settings {
				if at.Flag != "" && s.Off == "" {
					fmt.Fprintf(&got, " %s=%s", at.Flag, at.Value)
				}
				if at.Note != "" {
					fmt.Fprintf(&notes, "\n%s:%d: %s", at.File, at.Line, at.Note)
				}
			}
		}
		if text := got.String() + notes.String(); text != d.want || len(conf.Problems) > 0 {
			t.Errorf("%s: %s\nproblems %v\nwant %s", d.name, text, conf.Problems, d.want)
		}
	}
}

// Values that a later file overrides are not checked, and all others are: also in a section that
// this machine leaves out. A path of a file is absolute, since systemd has no directory that is its
// user's.
func TestConfigurationChecksWhatIsInEffect(t *testing.T) {
	for _, test := range []struct{ first, later, want string }{
		{"zram-size = half\nswap-priority = 99999\noptions = ro\nwriteback-device = x\nalgorithm = zst\n",
			"zram-size = ram\nswap-priority = 5\noptions =\nwriteback-device = none\nalgorithm = lz4\n", ""},
		{"zram-size = ram\n", "zram-size = half\n", `/run/zramfs.conf.d/later.conf:2: zram-size = half: unknown variable "half": ram, the memory in MiB, is the only one`},
		{"host-memory-limit = 1\nswap-priority = 99999\n", "", "/etc/zramfs.conf:3: swap-priority = 99999: must be from 0 to 32767"},
		{"zram-size = 0\nalgorithm = zst\n", "", `/etc/zramfs.conf:3: algorithm = zst: unknown algorithm "zst"`},
		{"zram-size = 0\nswap-priority = 5\n", "", ""},
		{"fs-type = none\nmem-limit = 7X\n", "", "/etc/zramfs.conf:3: mem-limit = 7X"},
		{"writeback-device = swap.img\n", "", "/etc/zramfs.conf:2: writeback-device = swap.img: no absolute path"},
		{"spill = swap.img\n", "", "/etc/zramfs.conf:2: spill = swap.img: no absolute path"},
		{"compression-algorithm = zstd(level=3,dict=words)\n", "", "/etc/zramfs.conf:2: compression-algorithm = zstd(level=3,dict=words): dict=words is no absolute path"},
		{"algorithm = zstd(dict=words)\n", "", "/etc/zramfs.conf:2: algorithm = zstd(dict=words): dict=words is no absolute path"},
	} {
		files := map[string]string{"etc/zramfs.conf": "[zram0]\n" + test.first, "run/zramfs.conf.d/later.conf": "[zram0]\n" + test.later}
		conf, err := loadRoot(newApp(io.Discard, io.Discard), writeRoot(t, files))
		if err != nil {
			t.Fatal(err)
		}
		if got := newConfigReport(conf).problemText(); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%q, then %q: %q, want %q", test.first, test.later, got, test.want)
		}
	}
}
