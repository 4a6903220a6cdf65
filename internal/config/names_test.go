// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

// A name and a directory of the device lead to one another, by the sections where there are some.
func TestNames(t *testing.T) {
	none, err := Load(writeFiles(t, nil), 1<<30, testFlags)
	if err != nil {
		t.Fatal(err)
	}
	some, err := Load(writeFiles(t, map[string]string{"etc/zramfs.conf": "[zram0]\n[zram1]\ndir = /srv/archive\n[zram2]\ndir = /run/zram0\n"}), 1<<30, testFlags)
	if err != nil || len(some.Problems) > 0 {
		t.Fatal(err, some.Problems)
	}
	for _, test := range []struct {
		conf      *Config
		name, dir string
		back      string // the name of dir
	}{
		{none, "zram0", "/run/zram", "zram0"},
		{none, "zram", "/run/zram", "zram0"}, // the first name of the unit's instance
		{none, "zram1", "/run/zram1", "zram1"},
		{none, "swap", "/run/swap", "swap"},
		{some, "zram0", "/run/zram", "zram0"},
		{some, "zram1", "/srv/archive", "zram1"},
		{some, "zram2", "/run/zram0", "zram2"},
		{some, "zram3", "/run/zram3", "zram3"},
	} {
		if dir, back := test.conf.Dir(test.name), test.conf.Name(test.dir); dir != test.dir || back != test.back {
			t.Errorf("%s is at %s, which is %q; want %s, %q", test.name, dir, back, test.dir, test.back)
		}
	}
	for dir, conf := range map[string]*Config{"/run/zram0": none, "/srv/archive": none, "/run/zram1": some, "/run/a/b": none, "/run": none, "/": none} {
		if name := conf.Name(dir); name != "" {
			t.Errorf("%s is %s, whose directory is %s", dir, name, conf.Dir(name))
		}
	}
	for name, want := range map[string]bool{"zram0": true, `my\x2ddisk`: true, "": false, "..": false, ".": false, "a/b": false} {
		if IsName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
}
