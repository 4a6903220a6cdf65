// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/zramfs/zramfs/internal/helper"
)

const (
	notesFile = "control/loops"    // below DIR: the loop devices of a detached data file, a path a line; root's
	dataType  = "fuse.zramfs-data" // in the mount table: the mount on DIR/dev, which up detaches
	// noteTime is long, since a device that does not answer in time is given up: while a machine
	// starts, all of its processors may be busy for seconds.
	noteTime = 10 * time.Second
)

// hideData hides the data file of the device on dir once loops are attached to it, so that no other
// process can open it or end its connection by a forced unmount. It records the devices' paths
// first, since afterwards they cannot be found by the path of their file. A data file without a
// mount of its own stays visible.
func hideData(dir string, loops []string) error {
	if err := writeNotes(dir, loops); err != nil {
		return err
	}
	data := filepath.Join(dir, filepath.Dir(DataFile))
	if separate, err := topMount(data, func(m *mountinfo.Info) bool { return m.FSType == dataType }); err != nil || !separate {
		return err
	}
	return detachMount(data)
}

// writeNotes writes one path a line to DIR/control/loops, a file that only servers with such notes
// have.
func writeNotes(dir string, loops []string) error {
	path := filepath.Join(dir, notesFile)
	_, err := helper.CallTimeout(noteTime, helper.Write, path, strings.Join(loops, "\n")+"\n")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("note the loop devices in %s: %w", path, err)
	}
	return nil
}
