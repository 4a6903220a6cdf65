// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/internal/swapdev"
)

// While one device is ended, which may take long, others end, and other devices take their DIR.
func TestEveryDeviceIsLookedForAgain(t *testing.T) {
	at := func(dir string, keeper int) swapdev.Device { return swapdev.Device{Dir: dir, Keeper: keeper} }
	now := map[string][]swapdev.Device{
		"/run/a": {at("/run/a", 1)}, "/run/b": {at("/run/b", 2)}, "/run/c": {at("/run/c", 3), at("/run/c", 4)}, "/run/d": {at("/run/d", 5)},
	}
	failed := errors.New("it cannot be looked for")
	find := func(names ...string) ([]swapdev.Device, error) {
		switch found := now[names[0]]; {
		case names[0] == "/run/d":
			return nil, failed
		case found == nil:
			return nil, fmt.Errorf("%w at %s", swapdev.ErrNotRunning, names[0])
		default:
			return found, nil
		}
	}
	var done []int
	err := oneByOne(slices.Concat(now["/run/a"], now["/run/b"], now["/run/c"], now["/run/d"]), find, func(d swapdev.Device) error {
		done = append(done, d.Keeper)
		delete(now, "/run/b")
		now["/run/c"][0].Keeper = 6
		return nil
	})
	if !errors.Is(err, failed) || errors.Is(err, swapdev.ErrNotRunning) || !slices.Equal(done, []int{1, 6, 4}) {
		t.Errorf("%v, %v", done, err)
	}
}
