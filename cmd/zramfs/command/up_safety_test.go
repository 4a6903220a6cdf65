// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
)

// Swap is refused without an essential protection, and --force turns it on.
func TestUpChecksSafety(t *testing.T) {
	warned := daemon.Protection{Name: daemon.ProtectOOM, State: daemon.StateWarn}
	group := daemon.Protection{Name: daemon.ProtectCgroup, State: daemon.StateFail, Essential: true, Detail: "limited"}
	for _, c := range []struct {
		found   []daemon.Protection
		force   bool
		refusal string
	}{
		{[]daemon.Protection{warned}, false, ""},
		{[]daemon.Protection{warned, group}, false, "hang the machine: limited. --force"},
		{[]daemon.Protection{warned, group}, true, ""},
	} {
		u := &upRun{report: &daemon.Report{Protections: c.found}}
		u.swap.force = c.force
		err := u.checkSafety()
		if (err == nil) != (c.refusal == "") || err != nil && (!strings.Contains(err.Error(), c.refusal) || !strings.Contains(err.Error(), "--force")) {
			t.Errorf("%+v with force %v: %v", c.found, c.force, err)
		}
	}
}
