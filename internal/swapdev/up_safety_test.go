// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/daemon"
	"github.com/zramfs/zramfs/internal/protect"
)

// Swap is refused without an essential protection, and --force turns it on.
func TestUpChecksSafety(t *testing.T) {
	warned := protect.Protection{Name: protect.NameOOM, State: protect.StateWarn}
	group := protect.Protection{Name: protect.NameGroup, State: protect.StateFail, Essential: true, Detail: "limited"}
	for _, c := range []struct {
		found   []protect.Protection
		force   bool
		refusal string
	}{
		{[]protect.Protection{warned}, false, ""},
		{[]protect.Protection{warned, group}, false, "not safe here: limited. --force"},
		{[]protect.Protection{warned, group}, true, ""},
	} {
		u := &Up{Report: &daemon.Report{Protections: c.found}}
		u.Swap.Force = c.force
		err := u.checkSafety()
		if (err == nil) != (c.refusal == "") || err != nil && (!strings.Contains(err.Error(), c.refusal) || !strings.Contains(err.Error(), "--force")) {
			t.Errorf("%+v with force %v: %v", c.found, c.force, err)
		}
	}
}
