// SPDX-License-Identifier: Apache-2.0

package command

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/zramfsd"
)

func TestBuildInfo(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	tests := []struct {
		module            string
		settings          []debug.BuildSetting
		version, revision string
	}{
		{"(devel)", nil, "devel", "unknown"},
		{"", nil, "devel", "unknown"},
		{"v1.2.3", []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "false")}, "v1.2.3", "0123456789ab"},
		{"v1.2.3", []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "true")}, "v1.2.3", "0123456789ab+modified"},
		{"v1.2.3", []debug.BuildSetting{setting("vcs.revision", "abc")}, "v1.2.3", "abc"},
	}
	for _, test := range tests {
		b := buildInfo{Version: "devel", Revision: "unknown"}
		b.take(&debug.BuildInfo{Main: debug.Module{Version: test.module}, Settings: test.settings})
		if b.Version != test.version || b.Revision != test.revision {
			t.Errorf("%+v: %s %s, want %s %s", test.settings, b.Version, b.Revision, test.version, test.revision)
		}
	}
}

func TestVersionLine(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}, {"-V"}} {
		got := runProgram(t, args...)
		b := readBuildInfo()
		for _, part := range []string{"zramfs " + b.Version + " ", b.Revision, b.Go, b.Platform, "\nzramfsd " + zramfsd.Version("") + " (/"} {
			if !strings.Contains(got.stdout, part) || strings.Count(got.stdout, "\n") != 2 {
				t.Errorf("%q: %q, want two lines with %q", args, got.stdout, part)
			}
		}
	}
}

// The version of a release wins over that of its module.
func TestVersionOfARelease(t *testing.T) {
	t.Setenv(asRelease, "v1.2.3")
	if got := runProgram(t, "version"); !strings.HasPrefix(got.stdout, "zramfs v1.2.3 ") {
		t.Errorf("%+v", got)
	}
}

func TestVersionJSON(t *testing.T) {
	got := map[string]buildInfo{}
	decodeJSON(t, runProgram(t, "version", "-J").stdout, &got)
	b, want := got["version"], readBuildInfo()
	if b.Version != want.Version || b.Revision != want.Revision || b.Go != want.Go || b.Platform != want.Platform || b.Engines == nil || b.Server != (serverInfo{Path: b.Server.Path, Version: zramfsd.Version("")}) || b.Server.Path == "" {
		t.Errorf("%+v, want %+v", b, want)
	}
}
