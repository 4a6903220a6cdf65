// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// A keeper holds what a device cannot lose while pages are swapped to it: the connections with the
// kernel, the image and the memory of requests. It carries out no requests, so that few defects can
// end it.
type keeper struct {
	// Set before the first worker serves, and immutable after.
	cfg         Config
	logs        *Logs
	logger      *slog.Logger
	session     *fusefs.Session
	mount       int                 // number of the attributes' mount
	protections []status.Protection // those that the worker cannot find out
	locks       bool                // it locks the image
	group       protect.CgroupMove
	undo        []func() error // takeApart calls them, last first

	// Used by the goroutine that supervises.
	processes int           // that were started and have not ended
	spent     time.Duration // processor time of those that have ended
	since     time.Duration // how long the machine had run when the device could be opened first; 0 before

	resizing sync.Mutex   // held while the device is made anew
	images   uint64       // that were made; guarded by resizing once the first worker serves
	failed   failedResize // guarded by resizing

	// image is the one that the present worker serves, or the last one did.
	image atomic.Pointer[image]

	extraDevices extraDevices
	inService    atomic.Pointer[process] // the last worker that was ready

	events chan event         // of processes, and upgrades that are asked for
	first  chan *workerReport // of the first worker; has room for it
	quiet  chan struct{}      // closed when the supervision has ended
	ended  chan error         // why; has room for the one answer
}

// serve puts the device together, keeps it, and takes it apart.
func serve(ctx context.Context, cfg Config, announce func(*status.Report) error) (err error) {
	signals := catchSignals()
	defer signals.stop()
	k := &keeper{
		cfg: cfg, events: make(chan event), first: make(chan *workerReport, 1), quiet: make(chan struct{}), ended: make(chan error, 1),
		extraDevices: extraDevices{keepers: map[int]*extraKeeper{}},
	}
	takeName()
	k.group = protect.SettleCgroup(host.Local, machineMemory(), zramfsd.Tasks()) // before anything is taken that counts there
	_, _ = protect.ForbidCore(), protect.AvoidOOM()                              // the worker does the same, and reports it
	k.logs = openLogs(cfg)
	k.logger = k.logs.Logger()
	announced := false
	defer func() {
		err = errors.Join(err, k.cfg.Namespace.Do(k.takeApart))
		if announced && k.cfg.OnEnd != nil {
			var said bytes.Buffer
			err = errors.Join(err, k.cfg.Namespace.Do(func() error { return k.cfg.OnEnd(&said) }))
			for line := range strings.Lines(said.String()) {
				k.logger.Info(strings.Join(strings.Fields(line), " "))
			}
		}
		if err != nil && announced {
			k.logger.Error("ended: " + err.Error())
		}
		err = errors.Join(err, k.logs.Close())
	}()
	var report *status.Report
	err = k.cfg.Namespace.Do(func() error {
		report, err = k.makeDevice()
		return err
	})
	if err != nil {
		return err
	}
	if err := k.cfg.Namespace.LeaveDirectory(); err != nil {
		k.logger.Warn("leave the working directory of the command: " + err.Error())
	}
	if err := announce(report); err != nil {
		return errors.Join(fmt.Errorf("announce the device: %w", err), k.endDevice())
	}
	announced = true
	// To replace a worker and to lock the image, it must not wait for memory.
	if err := protect.PopulateSignals(); err != nil {
		k.logger.Warn("replacing a worker may wait for memory: " + err.Error())
	}
	k.sayReady(report)
	return k.waitForEnd(ctx, signals)
}

// makeDevice makes image and mounts, starts the first worker, and makes the device visible.
func (k *keeper) makeDevice() (*status.Report, error) {
	if err := k.makeMemory(); err != nil {
		return nil, err
	}
	release, err := claim(k.cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer release()
	k.session, err = fusefs.NewSession(k.cfg.Dir, true, k.cfg.Namespace.Do)
	if err != nil {
		return nil, err
	}
	k.undo = append(k.undo, k.session.Close)
	k.mount = k.session.MountNumber()
	lock := protect.LockMemory() // of this process; the worker reports the same of itself
	if lock.State != status.OK {
		k.protections = append(k.protections, lock)
	}
	k.holdOwn()
	k.locks = locksImage(k.cfg.Memory, lock)
	k.protections = append(k.protections, imageProtection(k.cfg.Memory, lock))
	k.listen()
	report, err := k.startFirst()
	if err != nil {
		return nil, err
	}
	// Attach waits for the worker, which is supervised by now.
	if err := k.session.Attach(); err != nil {
		return nil, errors.Join(err, <-k.ended) // the device ends with the mounts that were not attached
	}
	if k.cfg.CreatedDir {
		// Spawn's caller removes the directory after a failure; from here on the keeper does.
		k.undo = append([]func() error{k.removeDir}, k.undo...)
	}
	return &status.Report{PID: os.Getpid(), Dir: k.cfg.Dir, Disksize: k.cfg.Disksize, Protections: report.Protections}, nil
}

// listen takes the requests of commands. A device without them works.
func (k *keeper) listen() {
	l, unguarded, err := control.Listen(control.Keeper{
		Dir: k.cfg.Dir, Mount: k.mount, Algorithm: k.cfg.Algorithm,
		Image:    k.imageFile,
		Counters: k.session.Counters,
		Upgrade:  k.upgrade,
		Warn:     func(text string) { k.logger.Warn(text) },
	})
	p := status.Protection{Name: status.NameControl, State: status.Warn}
	switch {
	case err != nil:
		p.Detail = "upgrade, verify, export and import are not possible"
	case unguarded != nil:
		p.Detail = "any local user can connect to the sockets of upgrade, verify, export and import, and is refused"
	}
	if err == nil {
		k.undo = append(k.undo, l.Close)
	}
	if why := errors.Join(err, unguarded); why != nil {
		p.Detail = fmt.Sprintf("%s: no directory for the sockets: %v", p.Detail, why)
		k.protections = append(k.protections, p)
	}
}

// imageFile returns the file of the image for a command that reads it.
func (k *keeper) imageFile() *os.File {
	i := k.image.Load()
	i.restoreSuperblock(k.logger)
	return i.memory.File()
}

// endDevice unmounts a device that is not in use, and waits for the end of its worker.
func (k *keeper) endDevice() error {
	if err := k.session.Unmount(); err != nil {
		return err
	}
	go k.endCopies() // a mount namespace that is as old as the device has one
	return <-k.ended
}

// takeApart undoes the steps of makeDevice in reverse.
func (k *keeper) takeApart() error {
	var all []error
	for i := len(k.undo) - 1; i >= 0; i-- {
		all = append(all, k.undo[i]())
	}
	return errors.Join(all...)
}

// removeDir removes the directory that was made for the mount, if it is still there.
func (k *keeper) removeDir() error {
	if err := os.Remove(k.cfg.Dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (k *keeper) sayReady(r *status.Report) {
	k.logger.Info("ready", "dir", k.cfg.Dir, "disksize", k.cfg.Disksize, "algorithm", k.cfg.Algorithm.String(),
		"mem_limit", k.cfg.MemLimit, "memory", string(k.cfg.Memory))
	k.note(telemetry.Started, fmt.Sprintf("version %s, %d bytes, algorithm %s, keeper %d", k.cfg.Version, k.cfg.Disksize, k.cfg.Algorithm, os.Getpid()))
	for _, p := range r.Protections {
		if p.State != status.OK {
			k.note(telemetry.Unprotected, fmt.Sprintf("%s: %s: %s", p.Name, p.State, p.Detail))
		}
		if p.State != status.OK {
			k.logger.Warn("not protected", "name", p.Name, "state", string(p.State), "detail", p.Detail)
		}
	}
}
