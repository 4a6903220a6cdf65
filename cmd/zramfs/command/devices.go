// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"

	"zramfs/cmd/zramfs/daemon"
	"zramfs/loopsetup"
)

const (
	fsType     = "fuse.zramfs"    // in the mount table
	dataDir    = "dev"            // below DIR, the mount of the data file
	dataFile   = "dev/zram0"      // below DIR
	statusFile = "control/status" // below DIR

	// answerTime is how long a command waits for a serving process. A healthy one answers in milliseconds even under
	// load, since status takes no lock of the page path.
	answerTime = 3 * time.Second
)

var (
	// errNoAnswer means that the serving process is there and does not answer: it is stopped, stuck or starved.
	errNoAnswer = errors.New("the serving process does not answer")
	// errDead means that the mount is there and the process that served it is not.
	errDead = errors.New("the serving process is gone, and with it everything stored")
)

// device is one mounted zramfs and what uses it, at the moment of the search.
type device struct {
	Dir        string           // mount point, from the mount table
	Status     *daemon.Status   // nil when it could not be read
	Err        error            // why Status is nil; wraps errNoAnswer, errDead or an error of the file system
	Loops      []loopsetup.Info // loop devices on DIR/dev/zram0
	Swap       *loopsetup.Swap  // the swap area on one of Loops; nil when there is none
	Mountpoint string           // where a file system on one of Loops is mounted; empty when there is none
}

// data is the path of the device's data file. It must not be opened without a limit on the time.
func (d device) data() string { return filepath.Join(d.Dir, dataFile) }

// loop returns the loop device that counts: the one that is swapped to, else the first; nil when there is none.
func (d device) loop() *loopsetup.Info {
	for i := range d.Loops {
		if d.Swap != nil && d.Loops[i].Path == d.Swap.Path {
			return &d.Loops[i]
		}
	}
	if len(d.Loops) > 0 {
		return &d.Loops[0]
	}
	return nil
}

// name is what list calls the device: its loop device, or the data file as long as there is none.
func (d device) name() string {
	if loop := d.loop(); loop != nil {
		return loop.Path
	}
	return d.data()
}

// findDevices returns the devices of this mount namespace in the order in which they were mounted. It asks all serving
// processes at once and returns within answerTime whatever they do; a process that did not answer is in the result,
// with Err.
func findDevices() ([]device, error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	swaps, err := loopsetup.Swaps()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without swap has no table of it
		return nil, err
	}
	dirs := zramfsMounts(mounts)
	devices := make([]device, len(dirs))
	var wg sync.WaitGroup
	for i, dir := range dirs {
		wg.Go(func() { devices[i] = examine(dir, mounts, swaps) })
	}
	wg.Wait()
	return devices, nil
}

// zramfsMounts returns the mount points of our file systems, each file system once: a bind mount shows the same one
// again, and so does a mount point that has been covered by another.
func zramfsMounts(mounts []*mountinfo.Info) []string {
	type number struct{ major, minor int }
	seen := make(map[number]bool)
	var dirs []string
	for _, m := range mounts {
		n := number{m.Major, m.Minor}
		if m.FSType != fsType || m.Root != "/" || seen[n] || slices.Contains(dirs, m.Mountpoint) {
			continue
		}
		seen[n] = true
		dirs = append(dirs, m.Mountpoint)
	}
	return dirs
}

// examine collects what there is to know about the device on dir.
func examine(dir string, mounts []*mountinfo.Info, swaps []loopsetup.Swap) device {
	d := device{Dir: dir}
	d.Status, d.Err = readStatus(dir, answerTime)
	loops, err := loopsetup.Find(d.data())
	if err != nil {
		d.Err = errors.Join(d.Err, err)
	}
	for _, path := range loops {
		info, err := loopsetup.Inspect(path)
		if err != nil {
			continue // detached since it was found
		}
		d.Loops = append(d.Loops, info)
		d.attachUse(path, mounts, swaps)
	}
	return d
}

// attachUse notes what the loop device at path is used for.
func (d *device) attachUse(path string, mounts []*mountinfo.Info, swaps []loopsetup.Swap) {
	for i := range swaps {
		if swaps[i].Path == path && d.Swap == nil {
			d.Swap = &swaps[i]
		}
	}
	for _, m := range mounts {
		if m.Source == path && d.Mountpoint == "" {
			d.Mountpoint = m.Mountpoint
		}
	}
}

// readStatus reads DIR/control/status, waiting at most limit.
func readStatus(dir string, limit time.Duration) (*daemon.Status, error) {
	text, err := bounded(limit, func() ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, statusFile))
	})
	switch {
	case errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.ECONNABORTED):
		return nil, fmt.Errorf("%s: %w", dir, errDead)
	case errors.Is(err, errNoAnswer):
		return nil, fmt.Errorf("%s: %w (waited %s)", dir, err, limit)
	case err != nil:
		return nil, fmt.Errorf("read the status of %s: %w", dir, err)
	}
	status := new(daemon.Status)
	if err := json.Unmarshal(text, status); err != nil {
		return nil, fmt.Errorf("read the status of %s: %w", dir, err)
	}
	return status, nil
}

// bounded runs f and returns what it returns, or errNoAnswer after limit. f then goes on in its goroutine; a process
// blocked in a request to FUSE can still exit.
func bounded[T any](limit time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1) // room for one, so that a late f does not wait for anybody
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C:
		var none T
		return none, errNoAnswer
	}
}
