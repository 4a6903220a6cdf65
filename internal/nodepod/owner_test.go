// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"path/filepath"
	"testing"
)

// A pod knows whether another one was started for its device since. One without a record, which has
// gone with a device, has no successor.
func TestOwner(t *testing.T) {
	f := owner(filepath.Join(t.TempDir(), "zramfs", "%2Frun%2Fzram.pod"))
	want := func(of, other string) {
		t.Helper()
		if got, err := f.other(of); got != other || err != nil {
			t.Errorf("the pod after %s is %q, %v; want %q", of, got, err, other)
		}
	}
	want("a/1", "")
	for _, pod := range []string{"a/1", "a/2"} {
		if err := f.note(pod); err != nil {
			t.Fatal(err)
		}
		want(pod, "")
	}
	want("a/1", "a/2")
	if a, b := ownerOf("/run/zram"), ownerOf("/run/zram1"); a == b || filepath.Dir(string(a)) != "/run/zramfs" || filepath.Dir(string(b)) != "/run/zramfs" {
		t.Error(a, b)
	}
}
