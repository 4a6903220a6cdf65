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
		settings []debug.BuildSetting
		revision string
	}{
		{nil, "unknown"},
		{[]debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "false")}, "0123456789ab"},
		{[]debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "true")}, "0123456789ab+modified"},
		{[]debug.BuildSetting{setting("vcs.revision", "abc")}, "abc"},
	}
	for _, test := range tests {
		b := buildInfo{Revision: "unknown"}
		b.take(&debug.BuildInfo{Settings: test.settings})
		if b.Revision != test.revision {
			t.Errorf("%+v: %s, want %s", test.settings, b.Revision, test.revision)
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
