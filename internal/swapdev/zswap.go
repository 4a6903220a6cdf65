// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
	"github.com/zramfs/zramfs/internal/zswap"
)

// zswapSettings are the settings that put zswap in front of a device; none where the policy leaves
// it as it is: off, and auto where it is unfit, or on by an administrator.
func zswapSettings(m host.Root, p zswap.Policy) []tune.Setting {
	if p.Mode == zswap.Off || p.Mode == zswap.Auto &&
		(zswap.Unfit(m) != nil || zswap.Running(m) && !uprecord.Tunes(m, zswap.Enabled)) {
		return nil
	}
	return zswap.Settings(p.Share)
}

// ZswapInFront reports whether zswap will be in front of a device with that policy.
func ZswapInFront(m host.Root, p zswap.Policy) bool {
	return zswap.Running(m) || len(zswapSettings(m, p)) > 0
}

// SetZswap changes whether zswap is in front of a device that up made. Pages that zswap holds stay
// there until programs read them.
func SetZswap(d Device, p zswap.Policy) error {
	if d.Record == nil || d.Record.Err != nil || len(d.Swaps) == 0 {
		return errors.New("the device is no swap of zramfs up")
	}
	if err := zswap.Unfit(host.Local); p.Mode == zswap.On && err != nil {
		return err
	}
	var warnings []string
	step := func(_, state, detail string) error {
		if state != "ok" {
			warnings = append(warnings, detail)
		}
		return nil
	}
	rec := d.Record
	rec.Zswap = p.String()
	if err := uprecord.Retune(step, host.Local, zswap.Parameters(), zswapSettings(host.Local, p), rec); err != nil {
		return err
	}
	if len(warnings) > 0 {
		return errors.New(strings.Join(warnings, "; "))
	}
	return nil
}
