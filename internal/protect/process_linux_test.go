// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// The score becomes the lowest that is allowed, also where it was raised before.
func TestAvoidOOM(t *testing.T) { inChild(t, "oom-score") }

func childOOMScore() error {
	score := func() (n int, err error) {
		text, err := os.ReadFile(oomScorePath)
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return n, err
	}
	before, err := score() // which may be allowed, since it is there
	if err != nil {
		return err
	}
	if err := os.WriteFile(oomScorePath, []byte("900"), 0); err != nil {
		return err
	}
	p := AvoidOOM()
	after, err := score()
	if err != nil || after > before || (after == oomNever) != (p.State == status.OK) || !strings.Contains(p.Detail, strconv.Itoa(after)) {
		return fmt.Errorf("%d became %d (%+v), %w", before, after, p, err)
	}
	if after > oomNever && setOOMScore(after-1) == nil {
		return fmt.Errorf("%d is allowed, and it is %d", after-1, after)
	}
	return nil
}

// The report agrees with the kernel, whatever this user may do.
func TestLockMemory(t *testing.T) { inChild(t, "lock") }

func childLock() error {
	p := LockMemory()
	locked, err := host.Local.Field(selfStatus, "VmLck")
	_, unlimited := lockLimit()
	switch {
	case err != nil:
		return err
	case (p.State == status.OK) != unlimited:
		return fmt.Errorf("%+v with unlimited %v", p, unlimited)
	case p.State == status.OK && strings.HasPrefix(locked, "0 "):
		return fmt.Errorf("%+v, and VmLck is %s", p, locked)
	case p.State != status.OK && p.State != status.Fail, !p.Essential, p.Detail == "":
		return fmt.Errorf("%+v", p)
	}
	return nil
}
