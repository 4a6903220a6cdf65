// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"slices"

	"zramfs/loopsetup"
)

// loopsOn returns the loop devices on the data file of the device at dir: by its
// path, or, once up has hidden it, as up has recorded them. It asks nothing of
// whoever serves the device.
func loopsOn(dir string) ([]string, error) {
	loops, err := loopsetup.Find(data(dir))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile("/run/zramfs/" + url.PathEscape(dir) + ".json")
	if errors.Is(err, os.ErrNotExist) {
		return loops, nil
	}
	var record struct {
		Loops []struct {
			Path     string
			Sequence uint64
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	for _, l := range record.Loops {
		hidden, ferr := loopsetup.FindAmong([]string{l.Path}, "/zram0")
		err = errors.Join(err, ferr)
		for _, path := range hidden {
			info, ierr := loopsetup.Inspect(path)
			if ierr == nil && info.Sequence == l.Sequence && !slices.Contains(loops, path) {
				loops = append(loops, path)
			}
		}
	}
	return loops, err
}
