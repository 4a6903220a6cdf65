// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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

// errNoFile means that a path does not name a regular file.
var errNoFile = errors.New("not a regular file")

// ReadDictionary reads a dictionary file. It stops one byte beyond the largest valid size.
func ReadDictionary(path string) (data []byte, err error) {
	info, err := os.Stat(path) // before opening: a pipe would be waited for
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeType != 0 {
		return nil, errNoFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, codec.MaxDictionary+1))
}
