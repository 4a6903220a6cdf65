// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// alonePause is the time between two looks at the mounts of extra devices whose keeper, or that
// of their directory, has died.
const alonePause = time.Second

// goAlone stands in for the keeper, which has died: once no extra device is mounted, it takes
// the attributes away, whose data file has gone. Until then it returns when to look again. The
// keepers of extra devices tell the directory's keeper alone of their end.
func (w *worker) goAlone() (look <-chan time.Time) {
	err := w.cfg.Namespace.Do(func() error {
		there := mountedOf(w.cfg.Dir, w.server.ExtraDevices())
		w.server.SetExtra(there)
		if there != 0 {
			look = time.After(alonePause)
			return nil
		}
		return w.server.TakeAway(w.cfg.Dir)
	})
	if err != nil {
		w.log.Warn("take the attributes away: " + err.Error())
	}
	return look
}

// mountedOf returns those of the extra devices of a directory that are mounted, or may be.
func mountedOf(dir string, all fusefs.ExtraDevices) (there fusefs.ExtraDevices) {
	for number := 1; number <= fusefs.MaxExtra; number++ {
		if !all.Has(number) {
			continue
		}
		if mount, err := fusefs.MountNumber(fusefs.ExtraDir(dir, number)); err != nil || mount != 0 {
			there = there.With(number)
		}
	}
	return there
}

// servedOn reports whether a device is mounted on dir, and a process serves it: its last argument
// is dir.
func servedOn(dir string) bool {
	if mount, err := fusefs.MountNumber(dir); err != nil || mount == 0 {
		return false
	}
	return slices.ContainsFunc(host.Local.ProcessesNamed(status.ServerName), func(p host.Process) bool {
		arguments := host.Local.Arguments(p.PID)
		return len(arguments) > 0 && arguments[len(arguments)-1] == dir
	})
}
