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
	Loops      []loopsetup.Info // loop devices on the data file, in the order of their places in it
	Swaps      []loopsetup.Swap // the swap areas on Loops, in that order
	Mountpoint string           // where a file system on one of Loops is mounted; empty when there is none

	noted []notedLoop // loop devices that may be on the data file although its path does not tell
}

// data is the path of the device's data file. It must not be opened without a limit on the time.
func (d device) data() string { return filepath.Join(d.Dir, dataFile) }

// loop returns the loop device that counts: the first one that is swapped to, else the first; nil when there is none.
func (d device) loop() *loopsetup.Info {
	for i := range d.Loops {
		if d.swapOn(d.Loops[i].Path) != nil {
			return &d.Loops[i]
		}
	}
	if len(d.Loops) > 0 {
		return &d.Loops[0]
	}
	return nil
}

// swapOn returns the swap area on the loop device at path; nil when it is not swapped to.
func (d device) swapOn(path string) *loopsetup.Swap {
	for i := range d.Swaps {
		if d.Swaps[i].Path == path {
			return &d.Swaps[i]
		}
	}
	return nil
}

// swap returns all swap areas of the device as if they were one, by the name and the priority of the first; nil when there is none.
func (d device) swap() *loopsetup.Swap {
	if len(d.Swaps) == 0 {
		return nil
	}
	all := d.Swaps[0]
	for _, s := range d.Swaps[1:] {
		all.Size += s.Size
		all.Used += s.Used
	}
	return &all
}

// name is what list calls the device: its loop device, the first of several, or the data file as long as there is none. One name stands
// for the device, as /dev/zram0 does in zramctl, and it is one that /proc/swaps and every command know.
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
	var text []byte
	d.Status, text, d.Err = readStatus(dir, answerTime)
	d.noted = notedLoops(thisMachine(), dir, text)
	loops, err := d.attached()
	if err != nil {
		d.Err = errors.Join(d.Err, err)
	}
	d.noteLoops(loops)
	d.Loops = loops
	for _, loop := range loops {
		d.attachUse(loop.Path, mounts, swaps)
	}
	return d
}

// attachUse notes what the loop device at path is used for.
func (d *device) attachUse(path string, mounts []*mountinfo.Info, swaps []loopsetup.Swap) {
	for i := range swaps {
		if swaps[i].Path == path {
			d.Swaps = append(d.Swaps, swaps[i])
		}
	}
	for _, m := range mounts {
		if m.Source == path && d.Mountpoint == "" {
			d.Mountpoint = m.Mountpoint
		}
	}
}

// readStatus reads DIR/control/status, waiting at most limit, and returns its text besides.
func readStatus(dir string, limit time.Duration) (*daemon.Status, []byte, error) {
	text, err := bounded(limit, func() ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, statusFile))
	})
	switch {
	case errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.ECONNABORTED):
		return nil, nil, fmt.Errorf("%s: %w", dir, errDead)
	case errors.Is(err, errNoAnswer):
		return nil, nil, fmt.Errorf("%s: %w (waited %s)", dir, err, limit)
	case err != nil:
		return nil, nil, fmt.Errorf("read the status of %s: %w", dir, err)
	}
	status := new(daemon.Status)
	if err := json.Unmarshal(text, status); err != nil {
		return nil, nil, fmt.Errorf("read the status of %s: %w", dir, err)
	}
	return status, text, nil
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
