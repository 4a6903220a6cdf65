// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"fmt"

	"github.com/zramfs/zramfs/codec"
)

// DeviceAlgorithm returns a device's algorithm by its name, with the dictionary of the device, nil
// where it has none.
func DeviceAlgorithm(name string, dictionary []byte, kinds []Kind) (codec.Algorithm, error) {
	a, err := codec.Parse(name, names(kinds)...)
	if err != nil {
		return a, fmt.Errorf("the device's algorithm: %w", err)
	}
	file := a.DictionaryFile()
	if file == "" {
		return a, nil
	}
	if a, err = a.WithDictionary(file, dictionary); err != nil {
		return a, fmt.Errorf("the device's algorithm: dictionary %s: %w", file, err)
	}
	return a, nil
}
