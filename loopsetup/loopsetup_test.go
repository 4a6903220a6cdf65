// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestErrorIsOneLineAndUnwraps(t *testing.T) {
	err := newError(OpAttach, "/run/zram/dev/zram0", withUndo(ErrNoDirectIO, fs.ErrClosed))
	var e *Error
	if !errors.As(err, &e) || e.Op != OpAttach || e.Path != "/run/zram/dev/zram0" {
		t.Fatalf("%#v is not the error that was made", err)
	}
	if !errors.Is(err, ErrNoDirectIO) || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v hides a cause", err)
	}
	if s := err.Error(); strings.Contains(s, "\n") || !strings.HasPrefix(s, "attach /run/zram/dev/zram0: ") {
		t.Errorf("unclear text %q", s)
	}
	if s := (&Error{Op: OpFormat, Err: ErrInvalid}).Error(); s != OpFormat+": "+ErrInvalid.Error() {
		t.Errorf("text without a path: %q", s)
	}
	if newError(OpAttach, "x", nil) != nil {
		t.Error("nil was wrapped into an error")
	}
}

func TestConfigDefaultsAndLimits(t *testing.T) {
	c, err := (*Config)(nil).withDefaults()
	if err != nil || c.BlockSize != 4096 || c.NoDirectIO || c.Legacy {
		t.Errorf("nil stands for %+v, %v", c, err)
	}
	for _, size := range []uint32{512, 1024, uint32(os.Getpagesize())} {
		if c, err := (&Config{BlockSize: size}).withDefaults(); err != nil || c.BlockSize != size {
			t.Errorf("block size %d: %+v, %v", size, c, err)
		}
	}
	for _, size := range []uint32{1, 256, 513, 3000, 2 * uint32(os.Getpagesize()), 1 << 31} {
		if _, err := Attach("unused", &Config{BlockSize: size}); !errors.Is(err, ErrInvalid) {
			t.Errorf("block size %d: %v", size, err)
		}
	}
}

func TestConfigSlices(t *testing.T) {
	for _, cfg := range []Config{
		{Offset: 4096, SizeLimit: 1 << 40, DiscardMax: 4 << 20}, {BlockSize: 512, Offset: 512, SizeLimit: 1536, DiscardMax: 512},
	} {
		if got, err := cfg.withDefaults(); err != nil || got.Offset != cfg.Offset || got.SizeLimit != cfg.SizeLimit {
			t.Errorf("%+v: %+v, %v", cfg, got, err)
		}
	}
	for _, cfg := range []Config{
		{Offset: 512}, {SizeLimit: 4097}, {DiscardMax: 100}, {Offset: 1 << 63}, {SizeLimit: 1 << 63}, {BlockSize: 1024, Offset: 512},
	} {
		if _, err := Attach("unused", &cfg); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "multiple of the block size") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestLoopNumber(t *testing.T) {
	for name, want := range map[string]int{"/dev/loop0": 0, "loop7": 7, "/dev/loop1048575": 1048575} {
		if n, err := loopNumber(name); n != want || err != nil {
			t.Errorf("%q: %d, %v", name, n, err)
		}
	}
	bad := []string{"", "/dev/", "/dev/loop", "/dev/loop-control", "/dev/loop01", "/dev/loop-1", "/dev/loop+1", "/dev/loop1p1",
		"/dev/sda", "7", "/dev/loop/1", "/dev/loop1048576", "/dev/loop99999999999999999999", "../loop1", "/tmp/loop1"}
	for _, name := range bad {
		if _, err := Inspect(name); !errors.Is(err, ErrNotLoop) {
			t.Errorf("inspect %q: %v", name, err)
		}
		if err := Detach(name); !errors.Is(err, ErrNotLoop) {
			t.Errorf("detach %q: %v", name, err)
		}
	}
}

func TestSplitDeleted(t *testing.T) {
	for text, want := range map[string]struct {
		path    string
		deleted bool
	}{
		"/a/b":                     {"/a/b", false},
		"/a/b (deleted)":           {"/a/b", true},
		"/a/b (deleted) (deleted)": {"/a/b (deleted)", true},
		"/a/(deleted)":             {"/a/(deleted)", false},
		"":                         {"", false},
	} {
		if path, deleted := splitDeleted(text); path != want.path || deleted != want.deleted {
			t.Errorf("%q: %q, %v", text, path, deleted)
		}
	}
}

func TestParseDiscard(t *testing.T) {
	for _, s := range []string{"both", "once", "pages", "none"} {
		if d, err := ParseDiscard(s); err != nil || string(d) != s {
			t.Errorf("%q: %q, %v", s, d, err)
		}
	}
	for _, s := range []string{"", "Both", "all", "once,pages"} {
		if _, err := ParseDiscard(s); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "both, once, pages, none") {
			t.Errorf("%q: %v does not say what is accepted", s, err)
		}
	}
}
