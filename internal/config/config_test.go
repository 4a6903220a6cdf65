// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

var testFlags = []Flag{{Name: "size"}, {Name: "priority"}, {Name: "keep", Yes: true}}

// docs/commands.md, from which zramfs.conf(5) is made, has a row for each key that is no flag.
func TestKeysAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names(keysOf(nil)) {
		if !strings.Contains(string(text), "\n| `"+name+"` | ") {
			t.Errorf("no row for %s", name)
		}
	}
}

// writeFiles makes a root directory. A file of the text "null" is a link to /dev/null.
func writeFiles(t testing.TB, files map[string]string) host.Root {
	t.Helper()
	root := host.Root(t.TempDir())
	for name, text := range files {
		path := root.Path(name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		switch {
		case err != nil:
		case text == "null":
			err = os.Symlink(os.DevNull, path)
		default:
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The order of the files is zram-generator's.
func TestFiles(t *testing.T) {
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{nil, ""},
		{map[string]string{"usr/lib/zramfs.conf": "", "usr/local/lib/zramfs.conf": ""}, "/usr/local/lib/zramfs.conf"},
		{map[string]string{"usr/lib/zramfs.conf": "", "etc/zramfs.conf": "", "run/zramfs.conf": ""}, "/run/zramfs.conf"},
		{map[string]string{"usr/lib/zramfs.conf": "", "etc/zramfs.conf": "null"}, ""},
		{map[string]string{"etc/zramfs.conf": "", "etc/zramfs.conf.d/20.conf": "", "usr/lib/zramfs.conf.d/10.conf": ""},
			"/etc/zramfs.conf /usr/lib/zramfs.conf.d/10.conf /etc/zramfs.conf.d/20.conf"},
		{map[string]string{"usr/lib/zramfs.conf.d/10.conf": "", "etc/zramfs.conf.d/10.conf": ""}, "/etc/zramfs.conf.d/10.conf"},
		{map[string]string{"usr/lib/zramfs.conf.d/10.conf": "", "etc/zramfs.conf.d/10.conf": "null"}, ""},
		{map[string]string{"etc/zramfs.conf.d/10.conf": "", "run/zramfs.conf.d/10.conf": "null"}, ""},
		{map[string]string{"etc/zramfs.conf.d/10.conf~": "", "etc/zramfs.conf.d/.10.conf": "", "etc/zramfs.conf.d/README": ""}, ""},
	} {
		c, err := Load(writeFiles(t, test.files), 1<<30, testFlags)
		if err != nil || strings.Join(c.Files, " ") != test.want || len(c.Problems) > 0 {
			t.Errorf("%v: %v, %+v, want %s", test.files, err, c, test.want)
		}
	}
}

// A file that cannot be read is a problem of every device.
func TestUnreadableFile(t *testing.T) {
	root := writeFiles(t, map[string]string{"etc/zramfs.conf/x": "", "etc/zramfs.conf.d/10.conf": strings.Repeat("#", maxFile+1)})
	c, err := Load(root, 1<<30, testFlags)
	if err != nil || len(c.Problems) != 2 || len(c.Concerns("zram0")) != 2 || c.Problems[0].Line != 0 || !strings.HasPrefix(c.Problems[1].String(), "/etc/zramfs.conf.d/10.conf: ") {
		t.Errorf("%v, %+v", err, c)
	}
	root = writeFiles(t, map[string]string{"etc/zramfs.conf.d": "a file"})
	if _, err := Load(root, 1<<30, testFlags); err == nil {
		t.Error("a directory of drop-ins that is a file is passed over")
	}
}

// settings returns the settings of the only section as key=value@line.
func settings(c *Config) string {
	var all []string
	for _, s := range c.Sections {
		for _, at := range s.Settings {
			all = append(all, at.Key+"="+at.Value+"@"+string(rune('0'+at.Line)))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestGrammar(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[zram0]\nsize=1G", "size=1G@2"},
		{"\ufeff[zram0]\r\n  size  =  1G  \r\n", "size=1G@2"},
		{"# c\n; c\n\n[ zram0 ]\nsize = \"1G\"\npriority = '7'\n", "priority=7@6 size=1G@5"},
		{"[zram0]\nzram-size = 1 + \\\n# between\n 1 + \\\n  1\npriority = 2", "priority=2@6 zram-size=3M@2"},
		{"[zram0]\nsize = 1G\\", "size=1G@2"},
		{"[zram0]\nkeep = YES\n[zram0]\npriority = 3", "keep=true@2 priority=3@4"},
		{"[zram0]\nsize = a = b", "size=a = b@2"},
		{"[zram0]\noptions =\nsize =\nkeep =\nzram-resident-limit =\ncompression-algorithm =\nfs-type =\nhost-memory-limit = none", "options=none@2"},
		{"[zram0]\nzram-size = 0.1", "zram-size=103K@2"},
		{"[zram0]\nzram-size = -0 * 1", "zram-size=0M@2"},
	} {
		c, err := Load(writeFiles(t, map[string]string{"etc/zramfs.conf": test.text}), 1<<30, testFlags)
		if err != nil || len(c.Problems) > 0 || settings(c) != test.want {
			t.Errorf("%q: %q, %v, %v; want %q", test.text, settings(c), c.Problems, err, test.want)
		}
	}
}

// A line with an error sets nothing, and without the memory's size no expression is computed.
func TestLinesWithErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[zram0]\nzram-size = -1", "it is negative: -1 MiB"},
		{"[zram0]\nzram-size = 4G", "4e+09 MiB is beyond 16T"},
		{"[zram0]\nzram-size = ram", "the memory of this machine is not known"},
		{"[zram0]\nsize = 1G\nzram-size = 1", "zram-size sets again what size sets in line 2"},
		{"[zram1000]", "unknown section [zram1000]"},
		{"[zram-1]", "unknown section [zram-1]"},
		{"[zram+1]", "unknown section [zram+1]"},
		{"[zram0]\nhost-memory-limit = NaN", "neither a number of MiB nor none"},
		{"[zram0]\nfs-type = ext4", "makes swap and no file system"},
	} {
		ram := uint64(1 << 30)
		if strings.HasSuffix(test.text, "ram") {
			ram = 0
		}
		c, err := Load(writeFiles(t, map[string]string{"etc/zramfs.conf": test.text}), ram, testFlags)
		if err != nil || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].What, test.want) || strings.Contains(settings(c), " ") {
			t.Errorf("%q: %q, %v, %v; want %q", test.text, settings(c), c.Problems, err, test.want)
		}
	}
}

// Any text gives settings and problems with lines that it has.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"[zram0]\nzram-size = min(ram / 2, 4096)\ncompression-algorithm = zstd(level=3) lz4\n", "[zram1]\nkeep\n\\\n=\nset!a = b\n", "[", "[]", "x\\\n#\\\n",
		"[zram0]\noptions = discard,\nhost-memory-limit = 1e3\ndir = /\nsize = '\"\n", "[zram0]\nzram-size = ((((((\n", "[zram7]\ncompression-algorithm = ()(\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &Config{RAM: 1 << 32}
		l := &loader{Config: c, keys: keysOf(testFlags), file: "f"}
		l.parse(text)
		lines := strings.Count(text, "\n") + 1
		for _, s := range c.Sections {
			l.convert(s)
			c.finish(s)
			for _, at := range s.Settings {
				if at.Line < 1 || at.Line > lines || at.Value == "" {
					t.Errorf("%q: %+v", text, at)
				}
			}
		}
		for _, p := range c.Problems {
			if p.Line < 1 || p.Line > lines || p.What == "" {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}
