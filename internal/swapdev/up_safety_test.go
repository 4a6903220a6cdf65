// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/status"
)

// Swap is refused without an essential protection, and --force turns it on.
func TestUpChecksSafety(t *testing.T) {
	warned := status.Protection{Name: status.NameOOM, State: status.Warn}
	group := status.Protection{Name: status.NameCgroup, State: status.Fail, Essential: true, Detail: "limited"}
	for _, c := range []struct {
		found   []status.Protection
		force   bool
		refusal string
	}{
		{[]status.Protection{warned}, false, ""},
		{[]status.Protection{warned, group}, false, "not safe here: limited. --force"},
		{[]status.Protection{warned, group}, true, ""},
	} {
		u := &Up{Report: &status.Report{Protections: c.found}}
		u.Swap.Force = c.force
		err := u.checkSafety()
		if (err == nil) != (c.refusal == "") || err != nil && (!strings.Contains(err.Error(), c.refusal) || !strings.Contains(err.Error(), "--force")) {
			t.Errorf("%+v with force %v: %v", c.found, c.force, err)
		}
	}
}
