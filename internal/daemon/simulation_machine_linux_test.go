// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/simkernel"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/store"
)

// A machine has one device: the keeper's supervision and session as they are, workers whose store
// and server are as they are, and a kernel and users that are the world's.
type machine struct {
	w       *simkernel.World
	plan    plan
	script  *script
	session *fusefs.Session
	image   *image
	quiet   *slog.Logger
	model   *model
	// settings are those of the administrator, once there is one.
	settings *administrator

	events            []event // for the supervision
	workers           []*simulatedWorker
	machine           *supervision
	alien             *os.File      // the program of a version with another layout
	serving           bool          // a worker has been ready
	served            time.Duration // when the last one began to serve
	deaths            int
	ops               int                         // requests for pages that were answered
	asked             map[*simkernel.Request]bool // requests without an answer
	pageOps           int                         // reads, writes and discards of single pages among them
	ambush            int                         // workers to be killed soon after their start
	disturbed         time.Duration               // until when the machine or a thread of a worker stands still, or was checked
	stood             time.Duration               // the same without checks
	held              int                         // checks that hold all requests
	night             time.Duration               // until when users sleep, and the device works in the background
	limited           bool                        // writes may fail for lack of memory
	ending            bool
	users             int
	jumps             int
	interfered        bool
	upgrades, refused int
	did               worked // by background work
}

// A worked counts what a device does by itself: pages that it packs, joins and spills, and scrubs.
type worked struct{ packed, joined, spilled, scrubs uint64 }

func (w *worked) add(o worked) {
	w.packed, w.joined, w.spilled, w.scrubs = w.packed+o.packed, w.joined+o.joined, w.spilled+o.spilled, w.scrubs+o.scrubs
}

// A simulatedWorker is a process that serves, or is about to.
type simulatedWorker struct {
	p       *process
	process *simkernel.Process
	alien   bool
	serve   *keeperFacts // its order
	stop    bool
	since   time.Duration // of the last order that the supervision gave it
	store   *store.Store
	relief  atomic.Pointer[idlework.Spiller] // once it runs
	puts    map[int]bool                     // pages of imports under way
	how     error
	files   []io.Closer
	told    bool // the supervision knows of its end
}

var errKilled = errors.New("killed by signal 9")

func newMachine(w *simkernel.World, p plan, s *script, dir string) (*machine, error) {
	m := &machine{w: w, plan: p, script: s, quiet: slog.New(slog.DiscardHandler), asked: map[*simkernel.Request]bool{}}
	var err error
	if m.session, err = fusefs.NewSession(dir, false, nil); err != nil {
		return nil, err
	}
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		return nil, err
	}
	m.image = &image{number: 1, memory: memory, disksize: p.disksize}
	if m.alien, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	m.model = newModel(w.Random(), p.pages, p.cluster, p.stride)
	if p.backing > 0 {
		b, err := simulatedBacking(p.backing)
		if err != nil {
			return nil, err
		}
		m.image.backing.Store(b)
	}
	return m, nil
}

// close releases the real files and memory that the machine has used.
func (m *machine) close() error {
	var err error
	for _, v := range m.workers {
		err = errors.Join(err, m.bury(v))
	}
	err = errors.Join(err, m.alien.Close(), m.session.Close(), m.image.memory.Close())
	if b := m.image.backing.Load(); b != nil {
		err = errors.Join(err, b.close())
	}
	return err
}

// keep is the keeper's loop.
func (m *machine) keep() {
	m.machine = &supervision{do: m, program: program{image: m.image}}
	m.machine.step(simkernel.Now(), event{})
	for !m.machine.over {
		limit := time.Duration(0)
		if due := m.machine.due(simkernel.Now()); !due.IsZero() {
			limit = max(due.Sub(simkernel.Now()), 1)
		}
		simkernel.UntilOr(func() bool { return len(m.events) > 0 }, limit)
		e := event{}
		if len(m.events) > 0 {
			e, m.events = m.events[0], m.events[1:]
		}
		m.machine.step(simkernel.Now(), e)
	}
	m.w.Fail("the supervision has ended: %v", m.machine.result)
}

// reap tells the supervision of processes that have ended.
func (m *machine) reap() {
	for {
		var gone *simulatedWorker
		simkernel.Until(func() bool {
			for _, v := range m.workers {
				if v.process.Ended() {
					gone = v
					return true
				}
			}
			return false
		})
		for i, v := range m.workers {
			if v == gone {
				m.workers = append(m.workers[:i:i], m.workers[i+1:]...)
				break
			}
		}
		if err := m.bury(gone); err != nil {
			m.w.Fail("end %s: %v", gone.process.Name(), err)
		}
		if gone.how == nil {
			m.deaths++
			gone.how = errKilled
		}
		m.events = append(m.events, event{kind: evEnded, process: gone.p, how: gone.how})
	}
}

// bury does what the kernel does at the end of a process.
func (m *machine) bury(v *simulatedWorker) error {
	err := v.process.Free()
	for _, f := range v.files {
		_ = f.Close() // closed already where the process has done so
	}
	for page := range v.puts {
		m.model.release(page, 1, true)
	}
	v.puts = nil
	return err
}

func (m *machine) worker(p *process) *simulatedWorker {
	for _, v := range m.workers {
		if v.p == p {
			return v
		}
	}
	return nil
}

// The methods below are the actions of the supervision.

func (m *machine) start(p *process, from program) {
	p.image = from.image
	p.image.restoreSuperblock(m.quiet)
	v := &simulatedWorker{p: p, puts: map[int]bool{}, since: m.w.Elapsed(), process: m.w.NewProcess(fmt.Sprintf("worker%d", m.deaths+m.upgrades)), alien: from.file != nil && from.file.Name() == os.DevNull}
	if m.w.Random().IntN(40) == 0 && m.serving {
		m.events = append(m.events, event{kind: evNotStarted, process: p, how: unix.EAGAIN})
		m.script.note("a worker cannot be started")
		return
	}
	m.workers = append(m.workers, v)
	v.process.Go("main", func() { m.work(v) })
	if m.ambush > 0 {
		m.ambush--
		n := spread(m.w.Random(), 200_000)
		v.process.KillIn(n)
		m.script.note("the new worker is to die after %d statements", n)
	}
}

func (m *machine) serve(p *process, _ restarts) (longer time.Duration) {
	for _, other := range m.workers {
		if other.p != p && other.serve != nil && !other.process.Ended() {
			m.w.Fail("%s is to serve while %s does", m.worker(p).process.Name(), other.process.Name())
		}
	}
	if v := m.worker(p); v != nil {
		v.since = m.w.Elapsed()
		v.serve = &keeperFacts{Create: !p.image.begun.Load(), Image: p.image.number}
		if m.serving {
			v.serve.Ready = 1
		}
	}
	return 0
}

func (m *machine) stop(p, _ *process, _ restarts) {
	if v := m.worker(p); v != nil {
		v.stop, v.since = true, m.w.Elapsed()
	}
}

// kill ends a process that is dismissed, or late: as a worker is only after a time in which the
// machine or a thread of it stood still, else it hangs.
func (m *machine) kill(p *process) {
	if v := m.worker(p); v != nil {
		if late := p.phase == stopping || p.why != nil || p.late(simkernel.Now()); late && !v.process.Dead() && m.stood <= v.since {
			m.w.Fail("%s is killed in phase %d, %v after its last order", v.process.Name(), p.phase, m.w.Elapsed()-v.since)
		}
		v.process.Kill()
	}
}

func (m *machine) hear(*process, workerMsg) {}
func (m *machine) dataEnded() bool          { return false }

func (m *machine) published(p *process) bool { return m.session.Image() == p.image.number }

func (m *machine) inUse(p *process) {
	p.image.begun.Store(true)
	if p.image.superblock.Load() == nil {
		p.image.keepSuperblock(m.quiet)
	}
}

func (m *machine) ready(*process, workerMsg)          { m.serving = true }
func (m *machine) log(slog.Level, string, ...any)     {}
func (m *machine) note(_ telemetry.Kind, text string) { m.script.note("keeper: %s", text) }

// work is a worker: what function Work does, with what a simulation has no use for left out.
func (m *machine) work(v *simulatedWorker) {
	send := func(n workerMsg) { m.events = append(m.events, event{kind: evNews, process: v.p, news: n}) }
	if err := m.lead(v, send); err != nil {
		v.how = err
		m.script.note("%s ends: %v", v.process.Name(), err)
		send(workerMsg{Failed: startError(err)})
	} else {
		v.how = errors.New("stopped")
	}
	simkernel.Exit()
}

func (m *machine) lead(v *simulatedWorker, send func(workerMsg)) (err error) {
	rng := m.w.Random()
	simkernel.Sleep(time.Duration(rng.IntN(20_000)) * time.Microsecond)
	memory, err := m.adopt(v)
	if err != nil {
		return err
	}
	files := m.session.Files()
	waiting, err := files.MaxWaiting()
	if err = errors.Join(err, memory.Check()); err != nil {
		return err
	}
	if v.alien && rng.IntN(2) == 0 {
		return store.ErrVersion
	}
	send(workerMsg{Prepared: channelVersion})
	simkernel.Until(func() bool { return v.serve != nil || v.stop })
	if v.serve == nil {
		return errors.New("stopped before it served")
	}
	if v.alien {
		return store.ErrVersion
	}
	counters, err := files.Counters()
	if err != nil && counters == nil {
		return err
	}
	chosen, lost, err := files.Settings()
	if err != nil {
		return err
	}
	cfg, err := m.storeConfig(v, waiting, counters)
	if err != nil {
		return err
	}
	if chosen.MemLimit != nil { // as makeStore
		cfg.MemLimit = *chosen.MemLimit
	}
	if v.serve.Create || v.serve.Ready == 0 {
		if chosen.MemLimit != nil {
			cfg.MemLimit = 0
		}
		v.store, err = store.Create(memory, cfg)
	} else {
		v.store, err = store.Open(memory, cfg)
	}
	if err != nil {
		return err
	}
	if lost = append(lost, chosen.Apply(v.store, m.plan.algorithm)...); len(lost) > 0 {
		m.w.Fail("settings are lost: %q", lost)
	}
	server, err := fusefs.NewServer(files, fusefs.Config{Store: v.store, Algorithm: m.plan.algorithm, Counters: counters,
		NoResend: m.plan.lone, Image: v.serve.Image, Failed: func(telemetry.Op, uint64, unix.Errno) {}})
	if err != nil {
		return err
	}
	start, end := m.makeBackground(v, server)
	m.served = m.w.Elapsed()
	if err := server.Start(); err != nil {
		return err
	}
	send(workerMsg{Serving: true})
	simkernel.Sleep(time.Duration(rng.IntN(3_000)) * time.Microsecond)
	send(workerMsg{Ready: &workerReport{}})
	m.script.note("%s serves", v.process.Name())
	start()
	for range m.plan.operators {
		v.process.Go("operator", func() { m.operate(v) })
	}
	simkernel.Until(func() bool { return v.stop })
	server.Stop()
	return errors.Join(end(), server.Close(), v.store.Close(), memory.Close())
}

// makeBackground makes what a device does by itself, on a machine that has time for it now and
// then, and returns what starts and what ends it. As in a worker the store asks for relief before
// that has started.
func (m *machine) makeBackground(v *simulatedWorker, server *fusefs.Server) (start func(), end func() error) {
	rng := m.w.Random()
	busy := func() string {
		if rng.IntN(4) == 0 {
			return "programs wait for processors"
		}
		return ""
	}
	cold := idlework.NewPacker(v.store, 20, busy, nil)
	scrub := idlework.NewScrubber(v.store, m.plan.scrub, busy, func(page uint64) { m.w.Fail("page %d is damaged", page) })
	var mover idlework.Mover
	if m.plan.backing != 0 {
		mover = server
	}
	spiller := idlework.NewSpiller(v.store, idlework.SpillDaily, func() time.Duration { return time.Duration(cold.Status().AgeSeconds) * time.Second }, mover)
	v.relief.Store(spiller)
	count := func() {
		var was worked
		var scrubbed *time.Time
		for !v.stop {
			simkernel.Sleep(time.Minute)
			c, e := cold.Status(), scrub.Status().Ended
			is := worked{packed: c.Pages, joined: c.Joined, spilled: spiller.Status().Pages}
			m.did.add(worked{packed: is.packed - was.packed, joined: is.joined - was.joined, spilled: is.spilled - was.spilled})
			if was = is; e != scrubbed {
				scrubbed = e
				m.did.scrubs++
			}
		}
	}
	start = func() {
		cold.Start(func(work func()) { work() })
		scrub.Start(func(work func()) { work() })
		spiller.Start()
		v.process.Go("count", count)
	}
	return start, func() error { return errors.Join(spiller.Close(), scrub.Close(), cold.Close()) }
}

// adopt opens the image as a process that has inherited it.
func (m *machine) adopt(v *simulatedWorker) (*store.Memory, error) {
	f, err := again(v.p.image.memory.File())
	if err != nil {
		return nil, err
	}
	v.files = append(v.files, f)
	return store.AdoptMemory(f, v.p.image.memory.Kind())
}

func again(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func (m *machine) storeConfig(v *simulatedWorker, waiting int, counters *fusefs.Counters) (store.Config, error) {
	cfg := store.Config{
		Disksize: m.plan.disksize, Algorithm: m.plan.algorithm, MemLimit: m.plan.limit, OnFull: m.plan.onFull, MaxMemory: 1 << 28,
		Workers: fusefs.Workers(), MaxWaiting: waiting, Totals: counters.Area.Totals(),
		OnCorrupt: func(page uint64) { m.w.Fail("page %d is called corrupt", page) },
		MakeRoom:  func() bool { p := v.relief.Load(); return p != nil && p.Relieve() },
	}
	b := v.p.image.backing.Load()
	if b == nil {
		return cfg, nil
	}
	f, err := again(b.file)
	if err != nil {
		return cfg, err
	}
	s, err := again(b.secret.File())
	if err != nil {
		return cfg, errors.Join(err, f.Close())
	}
	secret, err := store.AdoptSecret(s)
	if err != nil {
		return cfg, errors.Join(err, f.Close())
	}
	cfg.Backing, err = store.NewBacking(f, secret)
	if err == nil {
		v.files = append(v.files, cfg.Backing)
	}
	return cfg, err
}

// upgrade asks for another program, which may be of a version with another layout.
func (m *machine) upgrade() {
	r := &upgradeRequest{answer: make(chan control.UpgradeReport, 1)}
	if m.w.Random().IntN(2) == 0 {
		f, err := again(m.alien)
		if err != nil {
			m.w.Fail("%v", err)
		}
		r.program.file = f
	}
	m.events = append(m.events, event{kind: evAsked, request: r})
	var report control.UpgradeReport
	simkernel.Until(func() bool {
		select {
		case report = <-r.answer:
			return true
		default:
			return false
		}
	})
	if report.Error == "" {
		m.upgrades++
		if r.program.file != nil {
			m.w.Fail("a program of another layout serves")
		}
	} else {
		m.refused++
	}
	m.script.note("an upgrade: %q", report.Error)
}

func mustParse(text string) codec.Algorithm {
	a, err := codec.Parse(text)
	if err != nil {
		panic(err)
	}
	return a
}
