// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/zramctl"
	"github.com/zramfs/zramfs/loopsetup"
)

// config prints what each root directory in testdata/config has next to its files. With -update
// these texts are written anew.
func TestConfigRoots(t *testing.T) {
	for _, test := range []struct {
		root string
		code int
	}{{"generator", exitOK}, {"dropins", exitOK}, {"errors", exitFailure}, {"none", exitOK}} {
		root := filepath.Join("testdata", "config", test.root)
		for _, what := range []string{configShow, configCheck} {
			var out, errs strings.Builder
			code := run([]string{"zramfs", configName, what, "--" + flagConfigRoot, root}, &out, &errs)
			if code != test.code || errs.String() != "" {
				t.Errorf("config %s of %s: exit code %d, %q", what, test.root, code, errs.String())
			}
			golden := filepath.Join(root, what+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != string(want) {
				t.Errorf("config %s of %s prints\n%s\nwant\n%s", what, test.root, out.String(), want)
			}
		}
	}
}

// The JSON has what the text has.
func TestConfigJSON(t *testing.T) {
	for root, want := range map[string]int{"dropins": exitOK, "errors": exitFailure} {
		var out strings.Builder
		code := run([]string{"zramfs", configName, configCheck, "-J", "--" + flagConfigRoot, "testdata/config/" + root}, &out, io.Discard)
		var got map[string]json.RawMessage
		var report configReport
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got[configName], &report); err != nil {
			t.Fatal(err)
		}
		if code != want || (len(report.Problems) > 0) != (want == exitFailure) || len(report.Sections) < 2 || report.MemTotal != 4<<30 {
			t.Errorf("%s: exit code %d, %+v", root, code, report)
		}
	}
}

// Each flag of up is a key, but those that say which configuration to read, and a value of it
// reaches the flag.
func TestEveryFlagIsAKey(t *testing.T) {
	keys := configFlags()
	for _, f := range upCommand().Flags {
		name := f.Names()[0]
		exempt := !isVisible(name) || slices.Contains(choosing, name)
		at := slices.IndexFunc(keys, func(k config.Flag) bool { return k.Name == name })
		if (at >= 0) == exempt {
			t.Errorf("--%s is a key: %v", name, at >= 0)
		}
		if at < 0 {
			continue
		}
		value := map[string]string{"size": "64M", "algorithm": "lz4", "mem-limit": "1G", "latency": "off", "cold": "10%", "scrub": "12h0m0s", "spill-daily": "2G", "on-full": "stall", "spill": "/x",
			"priority": "7", "discard": "once", "devices": "2", "slots": "free", "tune": "recommended", "zswap": "20%"}[name]
		if keys[at].Yes {
			value = "true"
		}
		if value == "" {
			t.Errorf("a new flag --%s: name a value of it here, and describe its key in docs/commands.md", name)
			continue
		}
		root := writeConfig(t, "[zram0]\n"+name+" = "+value+"\n")
		c := parsedUp(t, "--"+flagConfigRoot, root)
		conf, err := loadConfig(c)
		if err != nil || len(conf.Problems) > 0 {
			t.Errorf("%s = %s: %v, %v", name, value, err, conf.Problems)
			continue
		}
		if err := configure(c, conf, defaultDir); err != nil || c.Value(name) == nil || !c.IsSet(name) || flagText(c, name) != value {
			t.Errorf("%s = %s: the flag is %q, %v", name, value, flagText(c, name), err)
		}
	}
}

func isVisible(name string) bool {
	return slices.ContainsFunc(upCommand().VisibleFlags(), func(f cli.Flag) bool { return f.Names()[0] == name })
}

// writeConfig returns a root directory with this configuration.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/zramfs.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// parsedUp returns the context of up with these flags, which cli has read.
func parsedUp(t *testing.T, args ...string) *cli.Context {
	t.Helper()
	app := newApp(io.Discard, io.Discard)
	var got *cli.Context
	app.Command("up").Action = func(c *cli.Context) error {
		got = c
		return nil
	}
	if err := runApp(app, append([]string{"zramfs", "up"}, args...)); err != nil {
		t.Fatal(err)
	}
	return got
}

// flagText returns the value of a flag as text.
func flagText(c *cli.Context, name string) string { return fmt.Sprint(c.Value(name)) }

// A flag of the command line wins over its key, and over that of a flag that excludes it.
func TestCommandLineWins(t *testing.T) {
	root := writeConfig(t, "[zram0]\nsize = 1G\npriority = 7\nquiet = yes\ntune = recommended\nkeep = yes\n[zram1]\nsize = 3G\n")
	c := parsedUp(t, "--"+flagConfigRoot, root, "-s", "2G", "-v", "--tune", "keep", "--keep=false")
	conf, err := loadConfig(c)
	if err != nil || len(conf.Problems) > 0 {
		t.Fatal(err, conf.Problems)
	}
	if err := configure(c, conf, defaultDir); err != nil {
		t.Fatal(err)
	}
	var o upOrder
	if err := readUp(c, defaultDir, &o); err != nil {
		t.Fatal(err)
	}
	if o.cfg.Disksize != 2<<30 || o.swap.Priority != 7 || o.said.How != flagVerbose || o.swap.Tune != tune.Keep || o.swap.Keep {
		t.Errorf("%+v %+v %q", o.cfg, o.swap, o.said.How)
	}
	if c.IsSet(flagQuiet) || !c.IsSet(flagPriority) {
		t.Error("the wrong flags are set")
	}
}

// The least and the greatest priority of an area are those of the kernel.
func TestPriorities(t *testing.T) {
	c := parsedUp(t)
	for priority, ok := range map[int]bool{-1: false, 0: true, loopsetup.MaxPriority: true, loopsetup.MaxPriority + 1: false} {
		if s, err := readAreas(c, 1<<30, priority, false); (err == nil) != ok || ok && s.Priority != priority {
			t.Errorf("priority %d: %+v, %v", priority, s, err)
		}
	}
}

// Another directory takes another section, or none.
func TestConfigurationOfADirectory(t *testing.T) {
	root := writeConfig(t, "[zram0]\nsize = 1G\n[zram1]\nsize = 3G\n[zram2]\ndir = /run/second\nsize = 5G\n")
	for dir, want := range map[string]string{"/run/zram": "1G", "/run/zram1/": "3G", "/run/second": "5G", "/run/zram2": "auto"} {
		c := parsedUp(t, "--"+flagConfigRoot, root)
		conf, err := loadConfig(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := configure(c, conf, dir); err != nil || c.String(flagSize) != want {
			t.Errorf("%s: size %s, %v; want %s", dir, c.String(flagSize), err, want)
		}
	}
}

// A directory by another name has the same section, also where that names it by a link.
func TestConfigurationOfALink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	direct, linked := filepath.Join(dir, "zram"), filepath.Join(link, "zram")
	for is, named := range map[string]string{direct: linked, linked: direct} {
		root := writeConfig(t, "[zram0]\nsize = 1G\n[zram3]\nsize = 3G\ndir = "+is+"\n")
		c := parsedUp(t, "--"+flagConfigRoot, root)
		conf, err := loadConfig(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := configure(c, conf, named); err != nil || c.String(flagSize) != "3G" {
			t.Errorf("%s: size %s, %v; want 3G of %s", named, c.String(flagSize), err, is)
		}
		found := zramctl.Number(knownNames(root), []swapdev.Device{{Dir: direct}})
		if found[0].Number != 3 {
			t.Errorf("%s is number %d in zramctl, want 3 by %s", direct, found[0].Number, is)
		}
	}
}

// A value that its flag does not take is an error also where no file has it.
func TestConfigureRefuses(t *testing.T) {
	conf := &config.Config{Sections: []*config.Section{{Name: config.FirstName, Dir: defaultDir, Settings: []config.Setting{{Flag: flagPriority, Value: "x"}}}}}
	if err := configure(parsedUp(t), conf, defaultDir); err == nil || err.Error() != "not a whole number" {
		t.Error(err)
	}
	if err := configure(parsedUp(t, "--"+flagPriority, "7"), conf, defaultDir); err != nil {
		t.Errorf("a value that is not asked for: %v", err)
	}
}

// up does nothing if its section has an error, or is not for this machine; that of another section
// does not matter to it.
func TestUpRefusesItsConfiguration(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[zram0]\nsise = 1G\n", `the configuration has an error: /etc/zramfs.conf:2: unknown key "sise"; did you mean size?`},
		{"[zram0]\nsise = 1G\nkeep = 7\n", `the configuration has 2 errors, and the first is /etc/zramfs.conf:2: unknown key "sise"; did you mean size?; zramfs config check names all`},
		{"[zarm0]\nsize = 1G\n", `the configuration has an error: /etc/zramfs.conf:1: unknown section [zarm0]: sections are [zram0], [zram1] and so on up to [zram999], and the lines below it are not read`},
		{"[zram0]\nhost-memory-limit = 1\n", "/run/zram is not configured for this machine: "},
		{"[zram0]\nzram-size = 0\n", "/run/zram is not configured for this machine: its size is 0 (/etc/zramfs.conf:2)"},
		{"[zram1]\nkeep = 7\n", ""},
	} {
		c := parsedUp(t, "--"+flagConfigRoot, writeConfig(t, test.text))
		conf, err := loadConfig(c)
		if err != nil {
			t.Fatal(err)
		}
		err = configure(c, conf, defaultDir)
		if code, message := describe(err); (code == exitOK) != (test.want == "") || !strings.HasPrefix(message, test.want) {
			t.Errorf("%q: exit code %d, %q; want %q", test.text, code, message, test.want)
		}
	}
}

// up --all says why it leaves devices out, and refuses a DIR and JSON.
func TestUpAllWithoutDevices(t *testing.T) {
	for _, test := range []struct {
		text string
		args []string
		code int
		want string
	}{
		{"", nil, exitOK, "no device is configured: there is no section in /etc/zramfs.conf\n"},
		{"", []string{"--quiet"}, exitOK, ""},
		{"[zram0]\nzram-size = 0\n[zram1]\nzram-size = 0\n", nil, exitOK, "/run/zram is left out: its size is 0 (/etc/zramfs.conf:2)\n" +
			"/run/zram1 is left out: its size is 0 (/etc/zramfs.conf:4)\n"},
		{"[zram0]\nkeep = 7\n[zram1]\nsize = 1\n", nil, exitFailure, "zramfs: [zram0]: the configuration has an error: /etc/zramfs.conf:2: keep = 7: neither yes nor no; " +
			"[zram1]: the configuration has an error: /etc/zramfs.conf:4: size = 1: 1 bytes is too small; at least 40K is needed. Did you mean 1G?\n"},
		{"[foo]\n", nil, exitFailure, "zramfs: the configuration has an error: /etc/zramfs.conf:1: unknown section [foo]"},
		{"", []string{"/run/zram"}, exitUsage, "zramfs: up: --all excludes a DIR and --section\n"},
		{"[zram0]\njson = yes\n", nil, exitUsage, "zramfs: [zram0]: --all and --json exclude each other: zramfs status -J shows all devices\n"},
	} {
		var out strings.Builder
		args := append([]string{"zramfs", "up", "--" + flagAll, "--" + flagConfigRoot, writeConfig(t, test.text)}, test.args...)
		if code := run(args, &out, &out); code != test.code || !strings.HasPrefix(out.String(), test.want) || test.want == "" && out.Len() > 0 {
			t.Errorf("%q %q: exit code %d, %q; want %d, %q", test.text, test.args, code, out.String(), test.code, test.want)
		}
	}
}
