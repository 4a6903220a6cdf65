// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/zswap"
)

// zswapKey is the key of a change that up's record has, and no attribute of the device.
const zswapKey = "zswap"

// zswapOrders reads the value, so that a bad one is refused before any change is made.
func zswapOrders(value string, _ uint64) ([]order, error) {
	_, err := zswap.Parse(value)
	return nil, err
}

func zswapNow(d swapdev.Device) (string, error) {
	if d.Record == nil || d.Record.Err != nil {
		return zswap.Off, nil
	}
	return d.Record.Zswap, nil
}

func setZswap(d swapdev.Device, value string) error {
	policy, err := zswap.Parse(value)
	if err == nil {
		err = swapdev.SetZswap(d, policy)
	}
	if err != nil {
		return fmt.Errorf("set zswap=%s of %s: %w", value, d.Word(), err)
	}
	return nil
}
