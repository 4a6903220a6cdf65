// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/zramfs/zramfs/loopsetup"
)

// loopsOn returns the loop devices on the data file of the device at dir: by its path, or, once up
// has hidden it, from up's record. It asks no serving process.
func loopsOn(dir string) ([]string, error) {
	if dir == hiddenData {
		return hiddenSwap()
	}
	loops, err := loopsetup.Find(data(dir))
	if err != nil {
		return nil, err
	}
	records, err := filepath.Glob("/run/zramfs/" + url.PathEscape(dir) + "*.json")
	for _, path := range records {
		hidden, rerr := recordedLoops(path)
		err = errors.Join(err, rerr)
		for _, loop := range hidden {
			if !slices.Contains(loops, loop) {
				loops = append(loops, loop)
			}
		}
	}
	return loops, err
}

// hiddenData is how the kernel names a data file in another mount namespace. In place of a
// directory it stands for each device with swap on such a file.
const hiddenData = "/zram0"

// hiddenSwap returns the loop devices with swap on a data file in another mount namespace.
func hiddenSwap() ([]string, error) {
	areas, err := loopsetup.Swaps()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, a := range areas {
		paths = append(paths, a.Path)
	}
	return loopsetup.FindAmong(paths, hiddenData)
}

// recordedLoops returns the loop devices in a record of up that are still what
// they were.
func recordedLoops(path string) (loops []string, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
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
			if info, ierr := loopsetup.Inspect(path); ierr == nil && info.Sequence == l.Sequence {
				loops = append(loops, path)
			}
		}
	}
	return loops, err
}
