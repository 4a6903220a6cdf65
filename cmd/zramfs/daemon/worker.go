// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/awake"
	"github.com/zramfs/zramfs/cmd/zramfs/control"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/protect"
	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/store"
)

// A worker is the process that carries out all requests. It may die at any moment: image, requests
// and connections are the keeper's as well.
type worker struct {
	cfg         Config               // immutable
	news        *newsWriter          // has its own lock
	orders      chan order           // closed when the keeper is gone
	logs        *Logs                // immutable
	log         *slog.Logger         // immutable
	files       fusefs.Files         // immutable
	waiting     int                  // requests that may wait for memory; immutable once prepared
	facts       keeperFacts          // immutable once serving has begun
	kept        atomic.Bool          // the keeper lives
	memory      *store.Memory        // immutable once serving has begun
	store       *store.Store         // immutable once serving has begun
	server      *fusefs.Server       // immutable once serving has begun
	awake       *awake.Holder        // immutable once serving has begun
	protections []protect.Protection // complete when ready is closed
	ready       chan struct{}
	reading     sync.Mutex     // held while the status is made, so that garbage comes from one reader
	undo        []func() error // takeApart calls them, last first; used by Work's goroutine
}

// Work is the process that a keeper starts: it serves until the device has gone or the keeper
// orders it to stop.
func Work(cfg Config) (err error) {
	signals := catchSignals() // the keeper acts on them
	defer signals.stop()
	takeName()
	runtime.GOMAXPROCS(fusefs.Processors())
	protect.ReserveHeap()
	w := &worker{
		cfg: cfg, news: newNewsWriter(os.NewFile(newsFD, "news")), orders: make(chan order, 4),
		logs: OpenLogs(cfg.Foreground, cfg.Dir), ready: make(chan struct{}),
		files: fusefs.Files{
			Attributes: os.NewFile(attributesFD, "attributes"),
			Data:       os.NewFile(dataFD, "data"),
			Requests:   os.NewFile(requestsFD, "requests"),
		},
	}
	w.log = w.logs.Logger()
	w.kept.Store(true)
	defer func() {
		err = errors.Join(err, w.takeApart())
		if err != nil {
			w.news.send(news{Failed: startError(err)}) // the keeper reports it
		}
		err = errors.Join(err, w.logs.Close())
	}()
	go func() {
		receive(os.NewFile(orderFD, "orders"), func(o order) { w.orders <- o })
		close(w.orders)
	}()
	if err := w.prepare(); err != nil {
		return err
	}
	if err := w.awaitOrder(); err != nil {
		return err
	}
	if err := w.serve(); err != nil {
		return err
	}
	return w.untilEnd()
}

// prepare does what is possible while another worker serves.
func (w *worker) prepare() (err error) {
	w.protections = append(w.protections, w.cfg.IOFlusher, protect.ForbidCore(), protect.AvoidOOM(), protect.LockMemory())
	w.memory, err = store.AdoptMemory(os.NewFile(imageFD, "image"), w.cfg.Memory)
	if err != nil {
		return err
	}
	w.undo = append(w.undo, w.memory.Close)
	w.waiting, err = w.files.MaxWaiting()
	if err := errors.Join(err, w.memory.Check()); err != nil {
		return err
	}
	w.protections = append(w.protections, protect.Populate(sparePool()))
	w.news.send(news{Prepared: true})
	return nil
}

func (w *worker) awaitOrder() error {
	o, err := receiveOne(w.orders)
	if err != nil {
		return err
	}
	if o.Serve == nil {
		return errors.New("stopped before it served")
	}
	w.facts = *o.Serve
	return nil
}

// makeStore makes the store, or opens that of the worker before.
func (w *worker) makeStore() (err error) {
	cfg := store.Config{
		Disksize:  w.cfg.Disksize,
		Algorithm: w.cfg.Algorithm,
		MemLimit:  w.cfg.MemLimit,
		MaxMemory: machineMemory(),
		Workers:   fusefs.Workers(), MaxWaiting: w.waiting,
		Firmly:    protect.InRealTime,
		Present:   protect.MakePresent,
		OnCorrupt: w.logs.Corrupt,
		OnFill:    w.logs.Filled,
	}
	if w.facts.Locks {
		w.memory.LockVia(os.NewFile(locksFD, "locks"))
	}
	if w.facts.Ready == 0 {
		w.store, err = store.Create(w.memory, cfg)
	} else {
		w.store, err = store.Open(w.memory, cfg)
	}
	if err == nil {
		w.undo = append(w.undo, w.store.Close)
	}
	return err
}

// serve makes the store and serves it.
func (w *worker) serve() (err error) {
	if err := w.makeStore(); err != nil {
		return err
	}
	w.awake = awake.New(w.cfg.Latency)
	w.undo = append(w.undo, w.awake.Close)
	w.server, err = fusefs.NewServer(w.files, fusefs.Config{
		Store:     w.store,
		Algorithm: w.cfg.Algorithm,
		Status:    w.statusJSON,
		Noted:     func() { w.news.send(news{Noted: true}) },
		Lone:      w.awake.Lone,
		Logf:      w.logf,
		NoResend:  debugging(debugNoResend),
	})
	if err != nil {
		return err
	}
	// The keeper started this process in the real-time class. A process that serves there would
	// keep others from the processors.
	if err := protect.LeaveRealTime(); err != nil {
		w.log.Warn(err.Error())
	}
	if err := w.server.Start(); err != nil {
		return err
	}
	w.news.send(news{Serving: true})
	w.undo = append(w.undo, w.server.Close)
	w.listen()
	w.protections = append(w.protections, protect.RestCollector())
	group := protect.Settled(protect.CheckGroup(host.Local, machineMemory()), w.facts.Group)
	w.protections = append(w.protections, group, protect.CheckTimeouts(host.Local), protect.CheckScheduling())
	w.protections = protect.Merge(append(w.protections, w.facts.Protections...))
	first := w.facts.Ready == 0
	if first {
		w.facts.Ready = time.Now().UnixNano()
	}
	w.warmUp(first)
	close(w.ready)
	w.awake.Start()
	w.news.send(news{Ready: &workerReport{Protections: w.protections}})
	return nil
}

// warmUp makes the memory present that readers of the status need. With wait it returns once that
// is done; else requests wait already, and it goes on in a goroutine.
func (w *worker) warmUp(wait bool) {
	var done sync.WaitGroup
	done.Go(func() {
		protect.WarmUp(func() { _, _ = w.encodeStatus(nil) }) // only its garbage counts
	})
	if wait {
		done.Wait()
		return
	}
	w.undo = append(w.undo, func() error { done.Wait(); return nil }) // it uses the store
}

// listen takes the imports of commands. A device without them works.
func (w *worker) listen() {
	i, err := control.ListenImports(w.cfg.Dir, w.server.Settings().Connection, w.store, w.server.OpenCount)
	if err != nil {
		w.log.Warn(err.Error())
		return
	}
	w.undo = append(w.undo, func() error {
		if !w.kept.Load() {
			control.Sweep() // a killed keeper has left the name of its socket
		}
		return nil
	}, i.Close)
}

// attributeReaders is the number of reads of attributes at a time: fusefs has threads for as many.
const attributeReaders = 2

// sparePool is the number of operating system threads that can be needed at a time: those that run
// goroutines, those of fusefs that wait for memory or for a request, those that measure a wake-up,
// and some that wait for keeper and log.
func sparePool() int {
	return runtime.GOMAXPROCS(0) + fusefs.Workers() + attributeReaders + awake.Threads
}

// attributesEnd bounds the wait for readers of attributes once the data file is gone.
const attributesEnd = 10 * time.Second

// untilEnd serves until the device is gone or another worker takes over.
func (w *worker) untilEnd() error {
	orders, shown := w.orders, w.server.AttributesEnded()
	for {
		select {
		case <-shown:
			shown = nil
			w.news.send(news{AttributesEnded: true})
		case o, ok := <-orders:
			if !ok {
				w.kept.Store(false)
				w.log.Warn("the keeper has died: should this process die too, what is stored is lost")
				orders = nil
			} else if o.Stop {
				w.server.Stop()
				return nil
			}
		case <-w.server.DataEnded():
			w.news.send(news{DataEnded: true})
			if !w.kept.Load() {
				if err := w.server.TakeAway(w.cfg.Dir); err != nil {
					w.log.Warn("take the attributes away: " + err.Error())
				}
			}
			select {
			case <-w.server.Ended():
			case <-time.After(attributesEnd):
				os.Exit(0) // a process still reads an attribute, whose mount is gone
			}
			return nil
		}
	}
}

// takeApart undoes the steps of Work in reverse.
func (w *worker) takeApart() error {
	var all []error
	for i := len(w.undo) - 1; i >= 0; i-- {
		all = append(all, w.undo[i]())
	}
	return errors.Join(all...)
}

// logf takes the lines of fusefs and go-fuse.
func (w *worker) logf(format string, args ...any) { w.log.Warn(fmt.Sprintf(format, args...)) }
