// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"path/filepath"
)

// errNotRunning means that no device is mounted where one was asked for.
var errNotRunning = errors.New("no zramfs is mounted there")

// pickDevices returns the devices that names stand for, in the order of names, or all of them for no names. A name is
// a mount point, or what list prints: a loop device or a data file. The error wraps errNotRunning for the first name
// that stands for none.
func pickDevices(all []device, names []string) ([]device, error) {
	if len(names) == 0 {
		return all, nil
	}
	picked := make([]device, 0, len(names))
	for _, name := range names {
		d, err := pickDevice(all, name)
		if err != nil {
			return nil, err
		}
		picked = append(picked, d)
	}
	return picked, nil
}

func pickDevice(all []device, name string) (device, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return device{}, fmt.Errorf("find %s: %w", name, err)
	}
	if d, ok := deviceAt(all, path); ok {
		return d, nil
	}
	// The mount table has real paths. Looking for symbolic links comes second, and with a limit: it may ask a process
	// that does not answer.
	if real, err := bounded(answerTime, func() (string, error) { return filepath.EvalSymlinks(path) }); err == nil {
		if d, ok := deviceAt(all, real); ok {
			return d, nil
		}
	}
	return device{}, fmt.Errorf("%s: %w", name, errNotRunning)
}

func deviceAt(all []device, path string) (device, bool) {
	for _, d := range all {
		if path == d.Dir || path == d.data() {
			return d, true
		}
		for _, loop := range d.Loops {
			if path == loop.Path {
				return d, true
			}
		}
	}
	return device{}, false
}
