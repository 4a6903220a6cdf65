// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// The report agrees with the kernel, whatever this user may do.
func TestLockMemory(t *testing.T) { inChild(t, "lock") }

func childLock() error {
	p := LockMemory()
	locked, err := host.Local.Field(selfStatus, "VmLck")
	_, unlimited := lockLimit()
	switch {
	case err != nil:
		return err
	case (p.State == StateOK) != unlimited:
		return fmt.Errorf("%+v with unlimited %v", p, unlimited)
	case p.State == StateOK && strings.HasPrefix(locked, "0 "):
		return fmt.Errorf("%+v, and VmLck is %s", p, locked)
	case p.State != StateOK && p.State != StateFail, !p.Essential, p.Detail == "":
		return fmt.Errorf("%+v", p)
	}
	return nil
}
