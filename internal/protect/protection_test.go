// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"slices"
	"testing"

	"github.com/zramfs/zramfs/internal/status"
)

func TestBlocking(t *testing.T) {
	all := []status.Protection{
		{Name: "a", State: status.Fail},
		{Name: "b", State: status.Fail, Essential: true},
		{Name: "c", State: status.Warn, Essential: true},
		{Name: "d", State: status.OK, Essential: true},
	}
	if got := status.Blocking(all); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("blocking %v, want b alone", got)
	}
}

// A protection of both worker and keeper comes once, with the worse outcome.
func TestMerge(t *testing.T) {
	got := status.MergeProtections([]status.Protection{
		{Name: status.NameMemory, State: status.OK, Detail: "worker"}, {Name: status.NameOOM, State: status.Warn, Detail: "worker"},
		{Name: status.NameMemory, State: status.Fail, Detail: "keeper", Essential: true}, {Name: status.NameOOM, State: status.OK, Detail: "keeper"},
	})
	want := []status.Protection{
		{Name: status.NameMemory, State: status.Fail, Detail: "keeper", Essential: true}, {Name: status.NameOOM, State: status.Warn, Detail: "worker"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
