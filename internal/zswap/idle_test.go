// SPDX-License-Identifier: Apache-2.0

package zswap

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

// machineWith writes the files of a machine of 10 GiB whose zswap holds pages, at half their size,
// and has taken stores pages since it booted.
func machineWith(t *testing.T, root string, available, pages, stores uint64) host.Root {
	t.Helper()
	for name, text := range map[string]string{
		"proc/meminfo": fmt.Sprintf("MemTotal: 10485760 kB\nMemAvailable: %d kB\nZswap: %d kB\nZswapped: %d kB\n", available>>10, pages*2, pages*4),
		"proc/vmstat":  fmt.Sprintf("zswpin 0\nzswpout %d\nzswpwb 0\n", stores),
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return host.Root(root)
}

// Pages that zswap has taken within the age stay, others go: after half an hour, and after five
// minutes while memory is short.
func TestIdle(t *testing.T) {
	const gib, part = 1 << 30, 1 << 18 // pages of a GiB
	for name, c := range map[string]struct {
		available uint64
		stores    func(look int) uint64 // since the machine booted
		held      uint64                // pages, at all looks
		first     int                   // look at which pages are to go, -1 for never
		limit     int
		pages     uint64
	}{
		"nothing is held":             {5 * gib, func(int) uint64 { return part }, 0, -1, 0, 0},
		"all is idle":                 {5 * gib, func(int) uint64 { return part }, part, 30, 0, 0},
		"all is idle, memory short":   {gib, func(int) uint64 { return part }, part, 5, 0, 0},
		"all is stored again":         {5 * gib, func(look int) uint64 { return part + uint64(look)*part/30 }, part, -1, 0, 0},
		"half is stored again":        {5 * gib, func(look int) uint64 { return part + uint64(look)*part/60 }, part, 30, 3, part / 2},
		"hardly anything is idle":     {5 * gib, func(look int) uint64 { return part + uint64(look)*part/32 }, part, -1, 0, 0},
		"the pool is within the unit": {5 * gib, func(look int) uint64 { return part + uint64(look)*part/3200 }, part / 8, -1, 0, 0},
	} {
		root, first, limit, pages := t.TempDir(), -1, 0, uint64(0)
		var v mover
		for look := range 40 {
			v.machine = machineWith(t, root, c.available, c.held, c.stores(look))
			var ok bool
			if limit, pages, ok = v.look(); ok {
				first = look
				break
			}
		}
		if first != c.first || first >= 0 && (limit != c.limit || pages/64 != c.pages/64) {
			t.Errorf("%s: at look %d to %d %% and %d pages, want %d, %d %%, %d", name, first, limit, pages, c.first, c.limit, c.pages)
		}
	}
}

// After a drain that leaves pages there is none for as long as pages take to become idle.
func TestIdleRests(t *testing.T) {
	v := mover{machine: machineWith(t, t.TempDir(), 5<<30, 1000, 1000)}
	for range idleAge {
		v.look()
	}
	v.rest = 2
	for look, want := range []bool{false, false, true} {
		if _, _, ok := v.look(); ok != want {
			t.Errorf("look %d: %v", look, ok)
		}
	}
}
