// SPDX-License-Identifier: Apache-2.0

package zramctl

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/config"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// devPrefix begins the names of devices; a number follows.
const devPrefix = "/dev/zram"

// Dir returns the DIR of device number n.
func Dir(conf *config.Config, n int) string { return conf.Dir("zram" + strconv.Itoa(n)) }

// NameOf returns the name of device number n.
func NameOf(n int) string { return devPrefix + strconv.Itoa(n) }

// Elsewhere is the Number of a device whose DIR has none.
const Elsewhere = -1

// A Numbered is a device and its number. Device is nil for a number without one.
type Numbered struct {
	Number int
	Device *swapdev.Device
}

// Name is the device's name in the list: that of its number, else that of package devices.
func (z Numbered) Name() string {
	if z.Number == Elsewhere {
		return z.Device.Name()
	}
	return NameOf(z.Number)
}

// Number gives a device the number that the configuration has for its DIR. A device elsewhere has
// none: /dev/zram0 never means a device that another program has made for itself. The result is in
// the order of the numbers.
func Number(conf *config.Config, found []swapdev.Device) []Numbered {
	var all []Numbered
	for i, d := range found {
		n := Elsewhere
		if !d.Elsewhere {
			n = config.Number(conf.Name(d.Dir))
		}
		all = append(all, Numbered{n, &found[i]})
	}
	slices.SortStableFunc(all, func(a, b Numbered) int { return cmp.Compare(uint(a.Number), uint(b.Number)) }) // elsewhere last
	return all
}

// number returns the decimal number after a prefix, in the kernel's spelling.
func number(text, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == digits
}

// Path is how zramctl writes the name of a device that exists.
func Path(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return filepath.Join("/dev", name)
}

// Free returns the lowest number without a device.
func Free(all []Numbered) int {
	n := 0
	for slices.ContainsFunc(all, func(z Numbered) bool { return z.Number == n }) {
		n++
	}
	return n
}

// Pick returns the device that a name means: /dev/zram0, zram0, its loop device or its DIR. A
// number without a device has a nil Device; ok is false for any other name without one.
func Pick(all []Numbered, name string) (z Numbered, ok bool) {
	path := Path(name)
	n, isNumber := number(path, devPrefix)
	for _, z := range all {
		if isNumber && z.Number == n || z.Device.Dir == path || slices.Contains(swapdev.LoopPaths(z.Device.Loops), path) {
			return z, true
		}
	}
	return Numbered{Number: n}, isNumber
}
