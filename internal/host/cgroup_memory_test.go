// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"slices"
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

// TestWalk wants every group of the controller visited, and no group after ctx has ended.
func TestWalk(t *testing.T) {
	const stat = "active_anon 4096\ninactive_anon 4096\nunevictable 8192\nswapcached 4096\n"
	h, err := tree(t, map[string]string{
		"proc/self/mountinfo":         "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
		"cg/cgroup.controllers":       "cpu memory\n",
		"cg/a/memory.max":             "1048576\n",
		"cg/a/memory.stat":            stat,
		"cg/a/memory.swap.current":    "12288\n",
		"cg/a/below/memory.max":       "1048576\n",
		"cg/a/below/memory.stat":      stat,
		"cg/other/cgroup.controllers": "cpu\n",
	}).MemoryHierarchy()
	if err != nil || h.Top != "/cg" || !h.V2 {
		t.Fatalf("%+v, %v", h, err)
	}
	var got []MemoryGroup
	visit := func(g MemoryGroup) { got = append(got, g) }
	want := []MemoryGroup{
		{Dir: "/cg", Limit: NoMemoryLimit},
		{Dir: "/cg/a", Limit: 1 << 20, Resident: 16384, Swapped: 8192},
		{Dir: "/cg/a/below", Limit: 1 << 20, Resident: 16384, SwapUncounted: true},
	}
	if err := h.Walk(t.Context(), visit); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	over := errors.New("over")
	ctx, end := context.WithCancelCause(t.Context())
	end(over)
	got = nil
	if err := h.Walk(ctx, visit); !errors.Is(err, over) || len(got) > 0 {
		t.Errorf("after the end: %+v, %v", got, err)
	}
}
