// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"reflect"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

func TestRuntimeRegions(t *testing.T) {
	got := runtimeRegions([]host.Region{
		{Start: 0x400000, End: 0x800000, Perms: "r-xp", Path: "/bin/zramfs"},
		{Start: 0x800000, End: 0x850000, Perms: "rw-p"}, // zero-initialised data
		{Start: 0x850000, End: 0x2800000, Perms: "rw-p"},
		{Start: 0x7f0000000000, End: 0x7f0000040000, Perms: "rw-p"},
		{Start: 0x7f0000100000, End: 0x7f0000140000, Perms: "---p"},
		{Start: 0x7f0000200000, End: 0x7f0004200000, Perms: "rw-p"},
		{Start: 0x7f0010000000, End: 0x7f0020000000, Perms: "rw-s", Path: "/memfd:image"},
	})
	want := []host.Region{
		{Start: 0x7f0000000000, End: 0x7f0000040000, Perms: "rw-p"},
		{Start: 0x7f0000200000, End: 0x7f0000240000, Perms: "rw-p"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%x\nwant %x", got, want)
	}
}
