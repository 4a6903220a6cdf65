// SPDX-License-Identifier: Apache-2.0

package uprecord

import (
	"errors"
	"path/filepath"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/loopsetup"
)

// DetachedData is how the kernel names the data file once its mount is detached.
const DetachedData = "/zram0"

// Attached returns those of the recorded loop devices that are on one of these files. One whose
// sequence number differs belongs to another program by now.
func Attached(loops []Loop, files ...string) (all []loopsetup.Info, err error) {
	names, sequence := make([]string, len(loops)), map[string]uint64{}
	for i, l := range loops {
		names[i], sequence[l.Path] = l.Path, l.Sequence
	}
	for _, file := range files {
		paths, err := loopsetup.FindAmong(names, file)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			info, err := loopsetup.Inspect(path)
			if errors.Is(err, loopsetup.ErrNotAttached) {
				continue // detached since it was found
			}
			if err != nil {
				return nil, err
			}
			if want := sequence[path]; want == 0 || info.Sequence == 0 || info.Sequence == want {
				all = append(all, info)
			}
		}
	}
	return all, nil
}

// attached returns the recorded loop devices that are on the device's data file.
func (rec Record) attached() ([]loopsetup.Info, error) {
	return Attached(rec.Loops, DetachedData, filepath.Join(rec.Dir, status.DataFile))
}
