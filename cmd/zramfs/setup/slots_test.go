// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
	"github.com/zramfs/zramfs/cmd/zramfs/tune"
)

// TestNoteSlots: a process that is noted by a command that read the record long ago leaves the
// parameters that another command has changed there since, and brings no record back.
func TestNoteSlots(t *testing.T) {
	m := host.Root(t.TempDir())
	rec := devices.Record{Dir: "/run/zram", Tuned: []tune.Change{{Parameter: "vm.swappiness", Old: "60", Set: "133"}}}
	if err := rec.Write(m); err != nil {
		t.Fatal(err)
	}
	other := rec
	other.Tuned = []tune.Change{{Parameter: "vm.swappiness", Old: "40", Set: "133"}}
	if err := other.Write(m); err != nil {
		t.Fatal(err)
	}
	rec.Slots = &devices.NotedSlots{Policy: slots.Auto, PID: 7}
	if err := noteSlots(m, &rec); err != nil {
		t.Fatal(err)
	}
	all := devices.ReadRecords(m)
	if len(all) != 1 || all[0].Slots == nil || all[0].Slots.PID != 7 || len(all[0].Tuned) != 1 || all[0].Tuned[0].Old != "40" {
		t.Errorf("the record is %+v", all)
	}
	if err := rec.Remove(m); err != nil {
		t.Fatal(err)
	}
	if err := noteSlots(m, &rec); err != nil {
		t.Fatal(err)
	}
	if all := devices.ReadRecords(m); len(all) != 0 {
		t.Errorf("a record is back: %+v", all)
	}
}
