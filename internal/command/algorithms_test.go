// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
)

func TestSplitList(t *testing.T) {
	for list, want := range map[string][]string{
		"lz4":                            {"lz4"},
		"lz4,zstd":                       {"lz4", "zstd"},
		"zstd(level=3,dict=/a),lz4":      {"zstd(level=3,dict=/a)", "lz4"},
		"lz4,zstd(level=1),zstd(a,b),no": {"lz4", "zstd(level=1)", "zstd(a,b)", "no"},
		"":                               {""},
		",":                              {"", ""},
		"a),b":                           {"a)", "b"},
		"(a,b":                           {"(a,b"},
	} {
		if got := splitList(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func TestParseAlgorithms(t *testing.T) {
	got, err := parseAlgorithms("zstd(level=1),lz4,adaptive")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range got {
		names = append(names, a.String())
	}
	if want := []string{"zstd(level=1)", "lz4", "adaptive"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for _, list := range []string{"gzip", "lz4,", "lz4,,zstd", "zstd(level=99)", "lz4:simd=banana"} {
		if _, err := parseAlgorithms(list); err == nil {
			t.Errorf("%q is accepted", list)
		} else if code, _ := describe(err); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", list, code, exitUsage)
		}
	}
	missing := filepath.Join(t.TempDir(), "none.dict")
	if _, err := parseAlgorithms("zstd(dict=" + missing + ")"); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a dictionary that is not there: %v", err)
	}
}

// The default of up's flag is the default algorithm.
func TestDefaultAlgorithm(t *testing.T) {
	for _, f := range deviceFlags() {
		if s, ok := f.(interface{ GetDefaultText() string }); ok && f.Names()[0] == flagAlgorithm {
			if got := strings.Trim(s.GetDefaultText(), `"`); got != codec.Algorithms()[0] {
				t.Errorf("%q is the default of --%s, %q that of package codec", got, flagAlgorithm, codec.Algorithms()[0])
			}
			return
		}
	}
	t.Errorf("there is no --%s", flagAlgorithm)
}
