// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/loopsetup"
)

// Any user's file system may be of our type, and say of itself what no device says.
func TestDiagnoseOfAnotherFileSystem(t *testing.T) {
	d := Device{Dir: "/run/zram", Status: &status.Status{SurvivesCrash: true, Scrub: status.Scrub{Damaged: 2}}}
	if all := Diagnose(d, time.Now()); len(all) != 1 || all[0].What != "the last scrub found 2 pages damaged" {
		t.Errorf("%+v", all)
	}
}

// A command that mends a problem is one that a shell reads as it was meant, whatever the DIR.
func TestFixesAreCommands(t *testing.T) {
	swap := []loopsetup.Swap{{Path: "/dev/loop3", Size: 1 << 30}}
	d := Device{Dir: "/run/my zram", Swaps: swap, Loops: []loopsetup.Info{{Path: "/dev/loop3", DirectIO: true}}}
	d.Record = &uprecord.Record{Loops: []uprecord.Loop{{Path: "/dev/loop3"}, {Path: "/dev/loop4"}}}
	ill, dead, cut := d, d, d
	ill.Elsewhere, ill.Status = true, &status.Status{SettingsLost: []string{"a limit"}, MemLimit: 1000, Memory: status.Memory{MemUsedTotal: 1000}}
	ill.Status.Protections = []status.Protection{{Name: "memory-lock", State: status.Fail, Essential: true}}
	dead.Err, cut.Err = ErrDead, ErrCutOff
	fixes := 0
	for _, d := range []Device{ill, dead, cut} {
		for _, p := range Diagnose(d, time.Now()) {
			if _, command, ok := strings.Cut(p.Fix, "zramfs "); ok {
				fixes++
				if !strings.Contains(command, " '/run/my zram'") {
					t.Errorf("%s: %s", p.What, p.Fix)
				}
			}
		}
	}
	if fixes != 10 {
		t.Errorf("%d fixes are commands of ours", fixes)
	}
}

// A device that its control group slows down is not healthy, whatever it is used for.
func TestLimitedGroupDegrades(t *testing.T) {
	d := Device{Dir: "/run/zram", Status: &status.Status{SurvivesCrash: true}}
	for state, want := range map[status.State]int{status.OK: 0, status.Warn: 1} {
		d.Status.Protections = []status.Protection{{Name: status.NameCgroup, State: state, Detail: "a quota", Essential: true}}
		if all := Diagnose(d, time.Now()); len(all) != want || want == 1 && !strings.Contains(all[0].What, "a quota") {
			t.Errorf("%s: %+v", state, all)
		}
	}
}
