// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strconv"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
	"github.com/zramfs/zramfs/loopsetup"
)

const (
	// nearWindow is how long a process touches pages in TestSwapGroupStatistics.
	nearWindow = 4 * time.Second
	nearRounds = 3
)

// TestSwapGroupStatistics lets a process touch a little more than its group may keep, at random, on
// kernel zram, where the kernel then often kills it by statistics that are up to two seconds old.
// The package that keeps them fresh for our device has to save it there as well.
func TestSwapGroupStatistics(t *testing.T) {
	number := hotAdd(t, "lz4", "1G")
	path := "/dev/zram" + number
	require.Command(t, "mkswap")
	system(t, commandTimeout, "mkswap", path)
	if err := loopsetup.SwapOn(path, 100, loopsetup.DiscardNone); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loopsetup.SwapOff(path); err != nil {
			t.Error(err)
		}
	})
	end, ended := make(chan struct{}), make(chan error)
	go func() { ended <- ballast.Follow(host.Local, end) }()
	killed := 0
	for round := range nearRounds {
		killed += nearLimit(t, "fresh"+strconv.Itoa(round))
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// Reads that get no processor for long cannot help.
	if killed > 1 {
		t.Errorf("killed %d of %d processes with fresh statistics", killed, nearRounds)
	}
}

// nearLimit returns how many processes the kernel has killed in a group whose only process holds a
// nineteenth more than the group's limit.
func nearLimit(t *testing.T, name string) int {
	t.Helper()
	group := memoryGroup(t, name, soakLimit)
	defer liftLimit(t, group)
	m := startMemory(t, memoryOrder{Pages: (soakLimit + soakLimit/18) / memoryPage, Source: sourceMix, Group: group})
	_, err := m.ask("fill")
	for end := time.Now().Add(nearWindow); err == nil && time.Now().Before(end); {
		_, err = m.ask("random")
	}
	killed := groupKills(t, group)
	if err == nil {
		m.end(t)
	} else if killed == 0 {
		t.Error(err)
	}
	return killed
}
