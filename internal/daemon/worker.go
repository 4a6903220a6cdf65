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

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// A worker is the process that carries out all requests. It may die at any moment: image, requests
// and connections are the keeper's as well.
type worker struct {
	cfg         Config           // immutable
	news        *workerMsgWriter // has its own lock
	orders      chan keeperMsg   // closed when the keeper is gone
	logs        *Logs            // immutable
	log         *slog.Logger     // immutable
	files       fusefs.Files     // immutable
	waiting     int              // requests that may wait for memory; immutable once prepared
	facts       keeperFacts      // immutable once serving has begun
	kept        atomic.Bool      // the keeper lives
	memory      *store.Memory    // immutable once serving has begun
	backing     *store.Backing   // nil for none; immutable once serving has begun
	backingPath atomic.Pointer[string]
	store       *store.Store                     // immutable once serving has begun
	server      *fusefs.Server                   // immutable once serving has begun
	counters    *fusefs.Counters                 // immutable once serving has begun
	awake       *pmqos.Holder                    // immutable once serving has begun
	cold        *idlework.Packer                 // immutable once serving has begun
	filled      chan struct{}                    // has a value where the packer is to look how full the store is
	fill        atomic.Int32                     // share of the memory limit that is taken: 0, 80, 90 or 100 per cent
	fillChanged chan struct{}                    // has a value where fill has changed
	scrub       *idlework.Scrubber               // immutable once serving has begun
	spill       atomic.Pointer[idlework.Spiller] // the store asks for it as soon as that is there
	protections []status.Protection              // complete when ready is closed
	ready       chan struct{}
	refused     chan struct{}   // has room for the one answer to news.Resize
	leaving     chan struct{}   // closed when another worker takes over
	orphaned    chan struct{}   // closed when the keeper has died
	asking      sync.Mutex      // held while answers is awaited
	answers     chan hotAnswer  // to news.Hot
	settings    fusefs.Settings // at the start; immutable once serving has begun
	reading     sync.Mutex      // held while the status is made, so that garbage comes from one reader
	keeperTime  time.Duration   // processor time of the keeper as last seen; guarded by reading
	undo        []func() error  // takeApart calls them, last first; used by Work's goroutine

	lostSettings []string // of those that were chosen; immutable once serving has begun
}

// Work is the process that a keeper starts: it serves until the device has gone or the keeper
// orders it to stop.
func Work(cfg Config) error {
	signals := catchSignals() // the keeper acts on them
	defer signals.stop()
	takeName()
	runtime.GOMAXPROCS(fusefs.Processors())
	protect.ReserveHeap()
	w := &worker{
		cfg: cfg, news: newNewsWriter(os.NewFile(newsFD, "news")), orders: make(chan keeperMsg, 4),
		logs: openLogs(cfg), ready: make(chan struct{}), refused: make(chan struct{}, 1), filled: make(chan struct{}, 1), fillChanged: make(chan struct{}, 1), answers: make(chan hotAnswer, 16), leaving: make(chan struct{}), orphaned: make(chan struct{}),
		files: fusefs.Files{
			Attributes: os.NewFile(attributesFD, "attributes"),
			Data:       os.NewFile(dataFD, "data"),
			Requests:   os.NewFile(requestsFD, "requests"),
		},
	}
	w.log = w.logs.Logger()
	w.kept.Store(true)
	go func() {
		receive(os.NewFile(orderFD, "orders"), func(o keeperMsg) { w.orders <- o })
		close(w.orders)
	}()
	return w.conclude(w.work)
}

// conclude does the work and takes apart what it has made. A panic ends the process instead, and
// the next worker takes over: what serves requests would go on, and be waited for, for ever.
func (w *worker) conclude(work func() error) error {
	err := errors.Join(work(), w.takeApart())
	if err != nil {
		w.news.send(workerMsg{Failed: startError(err)}) // the keeper reports it
	}
	return errors.Join(err, w.logs.Close())
}

func (w *worker) work() error {
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
	w.protections = append(append(w.protections, w.cfg.Early...), protect.ForbidCore(), protect.AvoidOOM(), protect.LockMemory())
	w.memory, err = store.AdoptMemory(os.NewFile(imageFD, "image"), w.cfg.Memory)
	if err != nil {
		return err
	}
	w.undo = append(w.undo, w.memory.Close)
	if w.backing, err = workerBacking(); err != nil {
		return err
	}
	if w.backing != nil {
		w.undo = append(w.undo, w.backing.Close)
	}
	w.waiting, err = w.files.MaxWaiting()
	if err := errors.Join(err, w.memory.Check()); err != nil {
		return err
	}
	w.protections = append(w.protections, protect.Populate(zramfsd.WorkerThreads()))
	w.news.send(workerMsg{Prepared: channelVersion})
	return nil
}

func (w *worker) awaitOrder() error {
	o, err := receiveOne(w.orders)
	if err == nil && o.Standby != nil {
		o, err = w.inherit(o)
	}
	if err != nil {
		return err
	}
	if o.Serve == nil {
		return errors.New("stopped before it served")
	}
	w.facts = *o.Serve
	return nil
}

// makeCounters maps the counters of the device. A device works without those of its other workers.
func (w *worker) makeCounters() (err error) {
	w.counters, err = w.files.Counters()
	if w.counters == nil {
		return err
	}
	if err != nil {
		w.log.Warn("counters begin anew: " + err.Error())
	}
	counters := w.counters
	w.undo = append(w.undo, counters.Close, func() error { // the log goes on longer than the counters
		w.logs.NoteTo(nil)
		return nil
	})
	w.logs.NoteTo(func(kind telemetry.Kind, text string) { counters.Area.NoteEvent(time.Now(), kind, os.Getpid(), text) })
	return nil
}

// The store's totals have room in the counters.
const _ = uint(telemetry.TotalsRows*telemetry.TotalsWords - store.TotalsRows*store.TotalsRow)

// serve makes the store and serves it.
func (w *worker) serve() (err error) {
	if err := w.makeCounters(); err != nil {
		return err
	}
	if err := w.makeStore(); err != nil {
		return err
	}
	w.awake = pmqos.New(w.cfg.Latency)
	busy := idlework.ThrottleOf(host.Local)
	w.cold = idlework.NewPacker(w.store, w.cfg.Cold, busy, w.filled)
	w.scrub = idlework.NewScrubber(w.store, w.cfg.Scrub, busy, w.logs.Corrupt)
	w.undo = append(w.undo, w.awake.Close, w.cold.Close, w.scrub.Close)
	cfg := fusefs.Config{
		Store:       w.store,
		Algorithm:   w.cfg.Algorithm,
		Status:      w.statusJSON,
		Noted:       func() { w.news.send(workerMsg{Noted: true}) },
		Begin:       func() { w.spill.Load().Start() }, // or writes would find a full store, and fail
		FaultSeen:   w.awake.FaultSeen,
		Failed:      w.logs.Failed,
		Logf:        w.logf,
		Counters:    w.counters,
		NoResend:    debugging(debugNoResend),
		LowPriority: protect.BehindOthers,

		Image:         w.facts.Image,
		Uninitialised: w.cfg.Disksize == 0,
		Resize:        w.resize,
	}
	if !fusefs.IsExtraDir(w.cfg.Dir) { // or devices would be made below devices, without an end
		cfg.Add, cfg.Remove = w.addDevice, w.removeDevice
	}
	w.serveBacking(&cfg)
	if w.server, err = fusefs.NewServer(w.files, cfg); err != nil {
		return err
	}
	spill := w.makeSpiller()
	w.spill.Store(spill)
	w.server.SetExtra(w.facts.Further)
	// The keeper started this process in the real-time class. A process that serves there would
	// keep others from the processors.
	if err := protect.LeaveRealTime(); err != nil {
		w.log.Warn(err.Error())
	}
	if err := w.server.Start(); err != nil {
		return errors.Join(err, spill.Close())
	}
	w.news.send(workerMsg{Serving: true})
	w.undo = append(w.undo, w.server.Close, spill.Close)
	w.attend()
	w.listen()
	w.protections = append(w.protections, protect.CheckCollector())
	if err := protect.PopulateRuntime(); err != nil {
		w.log.Warn("serving may wait for memory: " + err.Error())
	}
	group := protect.Settled(protect.CheckCgroup(host.Local, machineMemory(), zramfsd.WorkerThreads()), w.facts.Group) // with room for the next worker
	w.protections = append(w.protections, protect.CheckPIDNamespace(host.Local), group, protect.CheckTimeouts(host.Local), protect.CheckScheduling())
	w.protections = status.MergeProtections(append(w.protections, w.facts.Protections...))
	if w.facts.Ready == 0 {
		w.facts.Ready = fusefs.SinceBoot()
	}
	w.warmUp()
	close(w.ready)
	w.awake.Start()
	w.cold.Start(protect.BehindOthers)
	w.scrub.Start(protect.BehindOthers)
	w.news.send(workerMsg{Ready: &workerReport{Protections: w.protections}})
	return nil
}

// attend begins what goes on for as long as the worker serves: it notes what was counted, for the
// rates of the last minute, and has the kernel lower watermarks that it has raised.
func (w *worker) attend() {
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() { markMinutes(w.counters.Area, stop) })
	ended.Go(func() { protect.LowerWatermarks(stop) })
	ended.Go(func() { w.tellFill(stop) })
	w.undo = append(w.undo, func() error {
		close(stop)
		ended.Wait() // the counters are unmapped after
		return nil
	})
}

// warmUp makes the memory present that the heap and readers of the status need, in a goroutine:
// requests wait already, or swap is about to be turned on.
func (w *worker) warmUp() {
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		protect.WarmUp(stop, func() { _, _ = w.encodeStatus(nil) }) // only its garbage counts
	})
	w.undo = append(w.undo, func() error {
		close(stop)
		done.Wait() // it uses the store
		return nil
	})
}

// listen takes the imports of commands. A device without them works.
func (w *worker) listen() {
	var i *control.Importer
	err := w.cfg.Namespace.Do(func() (err error) {
		i, err = control.ListenImports(w.cfg.Dir, w.server.Negotiated().Connection, w.store, w.server.OpenCount)
		return err
	})
	if err != nil {
		w.log.Warn(err.Error())
		return
	}
	w.undo = append(w.undo, func() error {
		return w.cfg.Namespace.Do(func() error {
			err := i.Close()
			if !w.kept.Load() {
				control.Sweep() // a killed keeper has left the name of its socket
			}
			return err
		})
	})
}

// attributesEnd bounds the wait for readers of attributes once nothing but them is left.
const attributesEnd = 10 * time.Second

// untilEnd serves until the device is gone or another worker takes over. Extra devices lie below
// the attributes, which are served on without a data file until the last of them has ended.
func (w *worker) untilEnd() error {
	orders, shown, data := w.orders, w.server.AttributesEnded(), w.server.DataEnded()
	var ended <-chan struct{} // set once the data file has gone
	var late <-chan time.Time // set once the attributes go too
	var look <-chan time.Time // set while it is to look whether extra devices are mounted
	for alone := false; ; {
		if !alone && data == nil && !w.kept.Load() {
			alone, look = true, w.goAlone()
		}
		if w.server.ExtraDevices() != 0 {
			late = nil // one was on its way
		} else if data == nil && late == nil {
			late = time.After(attributesEnd)
		}
		select {
		case <-shown:
			shown = nil
			w.news.send(workerMsg{AttributesEnded: true})
		case o, ok := <-orders:
			if !ok {
				w.kept.Store(false)
				close(w.orphaned)
				w.log.Warn("the keeper has died: should this process die too, what is stored is lost")
				orders = nil
			} else if w.follow(o) {
				return nil
			}
		case <-data:
			data, shown, ended = nil, nil, w.server.Ended()
			w.news.send(workerMsg{DataEnded: true})
		case <-look:
			look = w.goAlone()
		case <-ended:
			return nil
		case <-late:
			os.Exit(0) // a process still reads an attribute, whose mount is gone
		}
	}
}

// follow carries an order out and reports whether it was the last one.
func (w *worker) follow(o keeperMsg) (stopped bool) {
	if o.ExtraDevices != nil {
		w.server.SetExtra(*o.ExtraDevices)
	}
	if o.Hot != nil {
		select {
		case w.answers <- *o.Hot:
		default: // more answers than requests
		}
	}
	if o.Refused {
		w.refused <- struct{}{}
	}
	if o.Stop {
		close(w.leaving)
		w.server.Stop()
	}
	return o.Stop
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
func (w *worker) logf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.logs.note(telemetry.Warning, text)
	w.log.Warn(text)
}
