// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"slices"
	"testing"
)

func TestBlocking(t *testing.T) {
	all := []Protection{
		{Name: "a", State: StateFail},
		{Name: "b", State: StateFail, Essential: true},
		{Name: "c", State: StateWarn, Essential: true},
		{Name: "d", State: StateOK, Essential: true},
	}
	if got := Blocking(all); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("blocking %v, want b alone", got)
	}
}

// A protection of both worker and keeper comes once, with the worse outcome.
func TestMerge(t *testing.T) {
	got := Merge([]Protection{
		{Name: NameMemory, State: StateOK, Detail: "worker"}, {Name: NameOOM, State: StateWarn, Detail: "worker"},
		{Name: NameMemory, State: StateFail, Detail: "keeper", Essential: true}, {Name: NameOOM, State: StateOK, Detail: "keeper"},
	})
	want := []Protection{
		{Name: NameMemory, State: StateFail, Detail: "keeper", Essential: true}, {Name: NameOOM, State: StateWarn, Detail: "worker"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
