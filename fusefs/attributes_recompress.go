// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"context"
	"errors"
	"syscall"

	"github.com/zramfs/zramfs/fusefs/sysfstext"
	"github.com/zramfs/zramfs/store"
)

// recompression is what the attribute recompress takes.
type recompression struct {
	store.RecompressConfig
	algorithm string
	priority  uint64 // 0 for the first that is set
}

// recompressionOf reads type=idle, huge or huge_idle, threshold=BYTES, max_pages=N, algo=NAME and
// priority=1 to 3. As in the kernel, unknown keys and types are ignored.
func recompressionOf(text []byte) (r recompression, err error) {
	for key, value := range sysfstext.Arguments(text) {
		if value == "" {
			return r, syscall.EINVAL
		}
		var threshold uint64
		switch key {
		case "type":
			r.Idle = r.Idle || value == "idle" || value == "huge_idle"
			r.Huge = r.Huge || value == "huge" || value == "huge_idle"
		case "threshold":
			threshold, err = sysfstext.Unsigned([]byte(value), 32)
			r.Threshold = int(min(threshold, pageSize))
		case "max_pages":
			r.MaxPages, err = sysfstext.Unsigned([]byte(value), 64)
		case "algo":
			r.algorithm = value
		case "priority":
			r.priority, err = sysfstext.Unsigned([]byte(value), 32)
		}
		if err != nil {
			return r, err
		}
	}
	if r.Threshold >= pageSize {
		return r, syscall.EINVAL
	}
	return r, nil
}

// recompress makes stored pages smaller by an algorithm of recomp_algorithm, and returns when it is
// done, while requests go on. A successor goes on with what was left. Few threads serve attributes:
// another attribute can be set during the work, and a second recompression fails with EAGAIN as in
// the kernel, so that none of them waits for minutes.
func (a *attributes) recompress(_ uint64, text []byte) error {
	if a.cfg.Uninitialised {
		return syscall.EINVAL
	}
	r, err := recompressionOf(text)
	if err != nil {
		return err
	}
	setting := r.setting(a.chosen.Load().Recompression)
	if setting == "" {
		return syscall.EINVAL
	}
	if r.Algorithm, err = a.parse(setting); err != nil {
		return err
	}
	if !a.working.CompareAndSwap(false, true) {
		return syscall.EAGAIN
	}
	defer a.working.Store(false)
	return a.runRecompression(r)
}

// setting returns the algorithm that is asked for, empty for none.
func (r recompression) setting(chosen [recompressions]string) string {
	for i, s := range chosen {
		named := r.algorithm == "" || r.algorithm == s || r.algorithm == familyOf(s)
		if s != "" && named && (r.priority == 0 || r.priority == uint64(i+1)) {
			return s
		}
	}
	return ""
}

// dispatch recompresses until it is done or the server is to stop.
func (a *attributes) runRecompression(r recompression) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r.Rest = func(store.Recompressed) {
		if a.stopping() {
			stop()
		}
	}
	var err error
	work := func() { _, err = a.cfg.Store.Recompress(ctx, r.RecompressConfig) }
	if a.cfg.LowPriority != nil {
		a.cfg.LowPriority(work)
	} else {
		work()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return ErrLeft
	case errors.Is(err, store.ErrFull):
		return syscall.ENOMEM
	case err != nil:
		return refuse("%w", err)
	}
	return nil
}
