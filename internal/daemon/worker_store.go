// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/store"
)

// makeStore makes the store, or opens that of the worker before, and goes on with what was chosen
// since the device was made.
func (w *worker) makeStore() (err error) {
	if w.settings, w.lostSettings, err = w.files.Settings(); err != nil {
		return err
	}
	if w.facts.Locks {
		w.memory.LockVia(os.NewFile(locksFD, "locks"))
	}
	cfg := w.storeConfig()
	if w.facts.Create {
		if w.settings.MemLimit != nil {
			cfg.MemLimit = 0 // any will do later, also one that a new store would refuse
		}
		w.store, err = store.Create(w.memory, cfg)
	} else {
		w.store, err = store.Open(w.memory, cfg)
	}
	if err != nil {
		return err
	}
	w.undo = append(w.undo, w.store.Close)
	w.lostSettings = append(w.lostSettings, w.settings.Apply(w.store, w.cfg.Algorithm)...)
	for _, lost := range w.lostSettings {
		w.logf("%s", lost)
	}
	return nil
}

func (w *worker) storeConfig() store.Config {
	cfg := store.Config{
		Disksize:  max(w.cfg.Disksize, store.PageSize), // a device without a size has a page that nothing reaches
		Algorithm: w.cfg.Algorithm,
		MemLimit:  w.cfg.MemLimit,
		MaxMemory: machineMemory(),
		Workers:   fusefs.Workers(), MaxWaiting: w.waiting,
		AllocHook: protect.AllocHook(store.ErrNoMemory),
		Prefault:  protect.MakePresent,
		OnCorrupt: w.logs.Corrupt, OnOverwritten: w.logs.Overwritten,
		OnFill:   w.noteFill,
		OnFull:   w.cfg.OnFull,
		MakeRoom: w.relieve,
		Totals:   w.counters.Area.Totals(),
		Backing:  w.backing,
	}
	if w.settings.MemLimit != nil {
		cfg.MemLimit = *w.settings.MemLimit
	}
	return cfg
}

// noteFill notes which share of the memory limit is taken: for programs that poll
// control/pressure and, where it has risen, for the log and the packer.
func (w *worker) noteFill(percent int, risen bool) {
	w.fill.Store(int32(percent))
	wake(w.fillChanged)
	if risen {
		w.logs.Filled(percent)
		wake(w.filled)
	}
}

// wake has the receiver look, which may be about to do so anyway.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// tellFill tells programs that poll control/pressure, since the store must not wait for it.
func (w *worker) tellFill(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-w.fillChanged:
			w.server.SetFill(int(w.fill.Load()))
		}
	}
}

// makeSpiller makes what moves cold pages to the backing device, if there is one.
func (w *worker) makeSpiller() *idlework.Spiller {
	age := func() time.Duration { return time.Duration(w.cold.Status().AgeSeconds * float64(time.Second)) }
	if w.backing == nil {
		return idlework.NewSpiller(w.store, w.cfg.SpillDaily, age, nil)
	}
	return idlework.NewSpiller(w.store, w.cfg.SpillDaily, age, w.server)
}

// relieve has the spiller make room, once there is one.
func (w *worker) relieve() bool {
	p := w.spill.Load()
	return p != nil && p.Relieve()
}

// resize asks the keeper to make the device anew with that size, and waits for the end of serving.
// It returns fusefs.ErrLeft when another worker takes over, or why there is none.
func (w *worker) resize(request, disksize uint64) error {
	w.news.send(workerMsg{Resize: &disksize, ResizeRequest: request})
	select {
	case <-w.leaving:
		return fusefs.ErrLeft
	case <-w.refused:
		return syscall.ENOMEM // the keeper has said why
	case <-w.orphaned:
		return fmt.Errorf("make the device anew: %w: %w", errSilent, syscall.ENOMEM)
	}
}
