// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// TestNoteSlots: a process that is noted by a command that read the record long ago leaves the
// parameters that another command has changed there since, and brings no record back.
func TestNoteSlots(t *testing.T) {
	m := host.Root(t.TempDir())
	rec := uprecord.Record{Dir: "/run/zram", Tuned: []tune.Change{{Parameter: "vm.swappiness", Old: "60", Set: "133"}}}
	if err := rec.Write(m); err != nil {
		t.Fatal(err)
	}
	other := rec
	other.Tuned = []tune.Change{{Parameter: "vm.swappiness", Old: "40", Set: "133"}}
	if err := other.Write(m); err != nil {
		t.Fatal(err)
	}
	rec.Slots = &uprecord.Slots{Policy: ballast.Auto, PID: 7}
	if before, err := noteSlots(m, &rec); before != nil || err != nil {
		t.Fatal(before, err)
	}
	all := uprecord.Read(m)
	if len(all) != 1 || all[0].Slots == nil || all[0].Slots.PID != 7 || len(all[0].Tuned) != 1 || all[0].Tuned[0].Old != "40" {
		t.Errorf("the record is %+v", all)
	}
	if err := rec.Remove(m); err != nil {
		t.Fatal(err)
	}
	if before, err := noteSlots(m, &rec); before != nil || err != nil {
		t.Fatal(before, err)
	}
	if all := uprecord.Read(m); len(all) != 0 {
		t.Errorf("a record is back: %+v", all)
	}
}

// startHolder starts a process that stands for one with ballast, and returns its entry in a record.
func startHolder(t *testing.T) *uprecord.Slots {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // says so
	})
	p, ok := host.Local.Process(cmd.Process.Pid)
	if !ok {
		t.Fatal("a process has ended at once")
	}
	return &uprecord.Slots{Policy: ballast.Auto, PID: p.PID, Started: p.Start}
}

// holds reports whether a process with ballast goes on.
func holds(n *uprecord.Slots) bool {
	return Device{Record: &uprecord.Record{Slots: n}}.FindSlots().PID != 0
}

// Of two commands that start the process of a device again at the same time, one leaves its own: of
// a process that no record has, down would take the ballast for pages of programs.
func TestOneProcessHoldsBallast(t *testing.T) {
	m := host.Root(t.TempDir())
	one := uprecord.Record{Dir: "/run/zram", Slots: startHolder(t)}
	if err := one.Write(m); err != nil {
		t.Fatal(err)
	}
	two := one
	two.Slots = startHolder(t)
	if err := recordSlots(m, &two); err != nil {
		t.Error(err)
	}
	if all := uprecord.Read(m); len(all) != 1 || *all[0].Slots != *two.Slots || holds(one.Slots) || !holds(two.Slots) {
		t.Errorf("%+v, %t, %t", all, holds(one.Slots), holds(two.Slots))
	}
}

// A process that cannot be recorded ends.
func TestUnrecordedProcessEnds(t *testing.T) {
	m := host.Root(t.TempDir())
	if err := errors.Join(os.MkdirAll(filepath.Dir(m.Path(uprecord.Dir)), 0o755), os.WriteFile(m.Path(uprecord.Dir), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	rec := uprecord.Record{Dir: "/run/zram", Slots: startHolder(t)}
	if err := recordSlots(m, &rec); err == nil || holds(rec.Slots) {
		t.Errorf("%v, %t", err, holds(rec.Slots))
	}
}

// The process with ballast has ended since down found the device, and another one has its number:
// that goes on.
func TestDownLeavesOtherProcesses(t *testing.T) {
	other := startHolder(t)
	ended := &uprecord.Slots{Policy: ballast.Auto, PID: other.PID, Started: other.Started - 1}
	d := Device{
		Dir: t.TempDir(), Record: &uprecord.Record{Slots: ended},
		SwapUse: SwapUse{Slots: SlotsProcess{Policy: ballast.Auto, PID: ended.PID}},
	}
	r := &Down{Out: &Narration{How: Quiet}}
	if err := r.turnOff([]Device{d}); err != nil || !holds(other) {
		t.Errorf("%v; the other process goes on: %t", err, holds(other))
	}
}
