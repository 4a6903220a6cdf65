// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInFirstPIDNamespace(t *testing.T) {
	for name, want := range map[string]bool{firstPIDNamespace: true, "pid:[4026532200]": false} {
		r := tree(t, nil)
		link := r.Path("proc/self/ns/pid")
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(name, link)); err != nil {
			t.Fatal(err)
		}
		if first, err := r.InFirstPIDNamespace(); first != want || err != nil {
			t.Errorf("%s: %v, %v", name, first, err)
		}
	}
}

func TestRealUser(t *testing.T) {
	for text, want := range map[string]int{"Uid:\t0\t1\t0\t0\n": 0, "Uid:\t1000\t0\t0\t0\n": 1000} {
		if uid, err := tree(t, map[string]string{"proc/self/status": text}).RealUser(); uid != want || err != nil {
			t.Errorf("%q: %d, %v", text, uid, err)
		}
	}
	if uid, err := Local.RealUser(); uid != os.Getuid() || err != nil {
		t.Errorf("this process runs as %d, %v", uid, err)
	}
}
