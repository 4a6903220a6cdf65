// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zramfs/zramfs/internal/zramfsd"
)

func TestPrepareDir(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(base, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"link": "empty", "parent": "."} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		dir, path string
		created   bool
	}{
		{"empty", "empty", false},
		{"link", "empty", false},
		{"new", "new", true},
		{"parent/other", "other", true},
		{"parent/empty", "empty", false},
	}
	for _, test := range tests {
		path, created, err := prepareDir(filepath.Join(base, test.dir))
		if err != nil || path != filepath.Join(base, test.path) || created != test.created {
			t.Errorf("%s: %s, created %v, %v", test.dir, path, created, err)
		}
		if created {
			checkGivenUp(t, path)
		}
	}
	if _, _, err := prepareDir("/"); !errors.Is(err, errBusyDir) {
		t.Errorf("/: %v", err)
	}
}

// checkGivenUp wants the new directory removed and the cause returned unchanged.
func checkGivenUp(t *testing.T, path string) {
	t.Helper()
	cause := errors.New("cause")
	if err := giveUpDir(zramfsd.Config{Dir: path, CreatedDir: true}, cause); !errors.Is(err, cause) || err.Error() != "cause" {
		t.Errorf("give up %s: %v", path, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

// TestGiveUpDirKeeps wants an existing directory kept.
func TestGiveUpDirKeeps(t *testing.T) {
	dir := t.TempDir()
	if err := giveUpDir(zramfsd.Config{Dir: dir}, errors.New("cause")); err == nil {
		t.Error("the cause is lost")
	}
	if err := giveUpDir(zramfsd.Config{Dir: dir, CreatedDir: true}, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

// TestGiveUpDirOfAnother loses against another mount on its new directory, which has claimed the
// directory and not mounted yet: that mount needs it.
func TestGiveUpDirOfAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "zram")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	claimed, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(claimed.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cause")
	cfg := zramfsd.Config{Dir: dir, CreatedDir: true}
	if err := giveUpDir(cfg, cause); !errors.Is(err, cause) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := claimed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := giveUpDir(cfg, cause); !errors.Is(err, cause) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
