// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/background"
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
)

// Any user's file system may be of our type, and say of itself what no device says.
func TestDiagnoseOfAnotherFileSystem(t *testing.T) {
	d := Device{Dir: "/run/zram", Status: &daemon.Status{SurvivesCrash: true, Scrub: background.ScrubStatus{Damaged: 2}}}
	if all := Diagnose(d, time.Now()); len(all) != 1 || all[0].What != "the last scrub found 2 pages damaged" {
		t.Errorf("%+v", all)
	}
}
