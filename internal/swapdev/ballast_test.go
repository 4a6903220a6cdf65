// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"os"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/uprecord"
)

func TestSlotsWords(t *testing.T) {
	const gib = 1 << 30
	held := SlotsProcess{Policy: ballast.Auto, PID: 44, Ballast: gib}
	for want, u := range map[string]SwapUse{
		"freed when a page is read back (auto): process 44 holds 1G":      {Slots: held, All: 3 * gib, Total: 4 * gib},
		"freed when a page is read back (keep): half of all swap":         {Slots: SlotsProcess{Policy: ballast.Keep}, All: 3 * gib, Total: 4 * gib},
		"kept until half of all swap is in use (keep)":                    {Slots: SlotsProcess{Policy: ballast.Keep}, Total: 4 * gib},
		"kept until half of all swap is in use (auto)":                    {Slots: SlotsProcess{Policy: ballast.Auto, PID: 44}, Total: 4 * gib},
		"kept (auto): the process that held ballast has ended: zramfs up": {Slots: SlotsProcess{Policy: ballast.Auto}, Total: 4 * gib},
		"kept (free): there is no ballast yet":                            {Slots: SlotsProcess{Policy: ballast.Free, PID: 44}, Total: 4 * gib},
		"kept until half of all swap is in use":                           {Total: 4 * gib},
	} {
		if got := u.SlotsWords(); !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}

// A process is found by its PID and its start time.
func TestNotedSlotsProcess(t *testing.T) {
	us, ok := host.Local.Process(os.Getpid())
	if !ok {
		t.Fatal("this process is not found")
	}
	if p, ok := (uprecord.Slots{PID: us.PID, Started: us.Start}).Process(); !ok || p.PID != us.PID {
		t.Errorf("%+v, %v", p, ok)
	}
	if p, ok := (uprecord.Slots{PID: us.PID, Started: us.Start + 1}).Process(); ok {
		t.Errorf("another process: %+v", p)
	}
	if p := (Device{Record: &uprecord.Record{}}).FindSlots(); p.Policy != ballast.Keep || p.PID != 0 {
		t.Errorf("a record without one: %+v", p)
	}
	if p := (Device{}).FindSlots(); p != (SlotsProcess{}) {
		t.Errorf("no record: %+v", p)
	}
}
