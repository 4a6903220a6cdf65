// SPDX-License-Identifier: Apache-2.0

package prefetch

import (
	"context"
	"time"

	"github.com/zramfs/zramfs/internal/host"
)

const (
	// step is how many bytes may come back between two looks at the bounds.
	step = 64 << 20

	// The machine keeps one part in marginShare of its memory available, and leastMargin at least.
	marginShare = 32
	leastMargin = 64 << 20

	// PressureLimit is the share of the last ten seconds, in per cent, in which tasks may wait for
	// memory (PSI's some avg10) while pages come back. On an idle machine it is 0, and the look at
	// pages that are still being read adds 10 at most: 28 ms of 295.
	PressureLimit = 20
	// Patience is how long the pressure may stay above its limit before the rest stays in swap.
	Patience = 10 * time.Second

	pressurePause = 250 * time.Millisecond
)

// bounds says how much may come back. It is used by one goroutine.
type bounds struct {
	machine host.Root
	groups  host.MemoryHierarchy
}

// margin returns the bytes that stay available on a machine with total bytes of memory.
func margin(total uint64) uint64 { return max(total/marginShare, leastMargin) }

// room returns how many bytes may come back to processes of the group at dir now, and what the
// limit is due to. planned returns the bytes that count as back already in a group and those below
// it, and for "" on the machine; nil for none.
func (b bounds) room(dir string, planned func(dir string) uint64) (bytes uint64, due Reason, err error) {
	total, err := b.machine.MemTotal()
	if err != nil {
		return 0, "", err
	}
	available, err := b.machine.MemAvailable()
	if err != nil {
		return 0, "", err
	}
	bytes, due = available-min(margin(total), available), Memory
	if planned != nil {
		bytes -= min(planned(""), bytes)
	}
	if b.groups.Top == "" {
		return bytes, due, nil
	}
	group, _, err := b.groups.Room(dir, planned)
	if err != nil {
		return 0, "", err
	}
	if group < bytes {
		bytes, due = group, Group
	}
	return bytes, due, nil
}

// calm waits while tasks wait for memory too much, at most for Patience; false if they still do, or
// when ctx ends.
func (b bounds) calm(ctx context.Context) bool {
	for end := time.Now().Add(Patience); ; {
		if percent, known := b.machine.Pressure(); !known || percent <= PressureLimit {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pressurePause):
		}
	}
}
