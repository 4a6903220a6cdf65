// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"bufio"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/host"
)

const (
	// scaleFactor is the parameter from which the kernel computes watermarks when it is written.
	scaleFactor = "proc/sys/vm/watermark_scale_factor"
	// raisedPause is the pause between two looks while the kernel keeps raising watermarks, for
	// raisedTime after the last time.
	raisedPause = 50 * time.Millisecond
	raisedTime  = 10 * time.Second
	// calmPause is the pause otherwise.
	calmPause = time.Second
)

// LowerWatermarks ends what can be a standstill of the whole machine, until stop is closed.
//
// Where an allocation mixes kinds of memory in one block, the kernel raises a zone's watermarks, by
// up to 1.5 times the highest (vm.watermark_boost_factor), until kswapd has reclaimed as much. The
// loop driver may not swap for the few bytes that FUSE takes for each of its requests. Below the
// raised watermark it looks for clean pages, there may be none, and the pages that kswapd waits for
// wait for the loop driver. The kernel takes back what it has added to the watermarks when a
// process writes a parameter of theirs, so this writes the value that is there already, while less
// is free than the raised watermark.
func LowerWatermarks(stop <-chan struct{}) {
	z, err := openZones(host.Local)
	if err != nil {
		return
	}
	defer z.close()
	if z.scale == nil {
		return // as in a container that may not write parameters
	}
	timer := time.NewTimer(calmPause)
	defer timer.Stop()
	var last time.Time // that it lowered some
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		if z.lower() {
			last = time.Now()
		}
		if time.Since(last) < raisedTime {
			timer.Reset(raisedPause)
		} else {
			timer.Reset(calmPause)
		}
	}
}

// zones looks at what is free in each zone of memory, and resets their watermarks. It allocates
// nothing, and the files keep the kernel's buffers. Not safe for concurrent use.
type zones struct {
	info  *os.File // /proc/zoneinfo
	lines *bufio.Reader
	scale *os.File // scaleFactor; nil where it cannot be written
	value [32]byte
}

func openZones(root host.Root) (*zones, error) {
	info, err := os.Open(root.Path("proc/zoneinfo"))
	if err != nil {
		return nil, err
	}
	z := &zones{info: info, lines: bufio.NewReader(info)}
	if scale, err := os.OpenFile(root.Path(scaleFactor), os.O_RDWR, 0); err == nil {
		z.scale = scale
	}
	return z, nil
}

func (z *zones) close() {
	_ = z.info.Close() // nothing was written
	if z.scale != nil {
		_ = z.scale.Close() // the kernel has reported errors to each write
	}
}

func (z *zones) look() (zoneState, error) {
	if _, err := z.info.Seek(0, io.SeekStart); err != nil {
		return zoneState{}, err
	}
	z.lines.Reset(z.info)
	return readZones(z.lines)
}

// lower resets raised watermarks where memory is below one, and reports whether it did.
func (z *zones) lower() bool {
	state, err := z.look()
	if err != nil || !state.raised {
		return false
	}
	if state.given == 0 {
		return z.rewrite() == nil
	}
	// The kernel has the few bytes for this call in its reserve.
	return InRealTime(z.rewrite) == nil
}

// rewrite writes the parameter that is read. The time in which another process may change it is
// that between two system calls.
func (z *zones) rewrite() error {
	if z.scale == nil {
		return unix.EACCES
	}
	n, err := unix.Pread(int(z.scale.Fd()), z.value[:], 0)
	if err != nil {
		return err
	}
	_, err = unix.Pwrite(int(z.scale.Fd()), z.value[:n], 0)
	return err
}
