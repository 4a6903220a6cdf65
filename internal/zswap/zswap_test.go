// SPDX-License-Identifier: Apache-2.0

package zswap

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// machine is a root directory with these files.
func machine(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	m := host.Root(t.TempDir())
	for name, text := range files {
		path := m.Path(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestUnfit(t *testing.T) {
	for _, c := range []struct{ release, enabled, allocator, want string }{
		{"6.18.44", "N\n", "", ""},
		{"6.9.0-1-amd64", "Y\n", "zsmalloc\n", ""},
		{"6.12.3", "N\n", "zbud\n", "its allocator is zbud"},
		{"6.8.12", "N\n", "zsmalloc\n", "it needs 6.9"},
		{"5.10.0", "N\n", "zbud\n", "it needs 6.9"},
		{"6.18.44", "", "", "CONFIG_ZSWAP"},
	} {
		files := map[string]string{"proc/sys/kernel/osrelease": c.release + "\n"}
		if c.enabled != "" {
			files[string(Enabled)] = c.enabled
		}
		if c.allocator != "" {
			files[string(allocator)] = c.allocator
		}
		m := machine(t, files)
		err := Unfit(m)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
		if Running(m) != (c.enabled == "Y\n") {
			t.Errorf("%+v: running %v", c, Running(m))
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Policy{
		"auto": {Auto, DefaultShare}, "on": {On, DefaultShare}, "off": {Mode: Off}, "1%": {On, 1}, "100%": {On, 100},
	} {
		if got, err := Parse(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %s, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "30", "0%", "101%", "-1%", "x%", "yes"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
