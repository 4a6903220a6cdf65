// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"testing"
)

// TestMemoryHierarchyHere wants what the running kernel shows to be understood.
func TestMemoryHierarchyHere(t *testing.T) {
	h, err := Local.MemoryHierarchy()
	if err != nil {
		t.Fatal(err)
	}
	if h.Top == "" {
		t.Skip("no memory controller is mounted here")
	}
	if g, err := h.Group(h.Top); err != nil || g.Dir != h.Top {
		t.Errorf("the top is %+v, %v", g, err)
	}
	if err := h.Walk(context.Background(), func(MemoryGroup) {}); err != nil {
		t.Error(err)
	}
}
