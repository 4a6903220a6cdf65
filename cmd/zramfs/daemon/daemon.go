// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"time"

	"zramfs/codec"
	"zramfs/fusefs"
	"zramfs/store"
)

// deviceName is the device's name below dev and block.
const deviceName = "zram0"

// Config says what to serve.
type Config struct {
	// Dir is the mount point: an existing directory, absolute and without symbolic links.
	Dir string
	// Disksize is the size of the device in bytes, as store.Config has it.
	Disksize uint64
	// Algorithm chooses the codec of each page.
	Algorithm codec.Algorithm
	// MemLimit bounds the memory that the store takes, in bytes; 0 is no limit.
	MemLimit uint64
	// Memory chooses what holds the image.
	Memory store.MemoryKind
	// CreatedDir means that Dir was made for this mount: it is removed after the unmount.
	CreatedDir bool
	// Foreground means that log lines go to stderr.
	Foreground bool
	// Version is what Status shows as the version of the program.
	Version string
	// IOFlusher is what BecomeIOFlusher returned.
	IOFlusher Protection
	// OnReady, when set, is told the report that a spawned process would announce. An error of it ends the process.
	OnReady func(*Report) error
}

// device is a served device: what Run has put together, in the order of the fields.
type device struct {
	cfg         Config          // immutable
	logs        *Logs           // immutable
	log         *slog.Logger    // immutable
	memory      *store.Memory   // immutable
	store       *store.Store    // immutable
	server      *fusefs.Server  // set by mount; not used by requests before that
	served      chan struct{}   // closed when the server has ended
	started     time.Time       // set before the device is announced
	settings    fusefs.Settings // set by mount
	protections []Protection    // complete before the device is announced; see ready
	ready       chan struct{}   // closed when server, started, settings and protections may be read
	streams     int             // immutable
	undo        []func() error  // what take apart calls, last first; used by Run's goroutine
}

// Run serves a device until it is unmounted, by a signal or by anybody. When the device can be opened it is announced
// on ready, the descriptor that Spawn left, and to cfg.OnReady; ready may be nil. Run closes ready.
//
// SIGTERM, SIGINT and the end of ctx unmount the device unless somebody has its data file open; then Run logs why not
// and goes on.
func Run(ctx context.Context, cfg Config, ready *os.File) error {
	err := serve(ctx, cfg, func(r *Report) error { return tell(cfg, ready, r) })
	if ready == nil {
		if err != nil {
			return startError(err)
		}
		return nil
	}
	if err != nil {
		// Where the device had been announced, or where the command that started us is gone, nobody listens.
		_ = writeFailure(ready, startError(err))
	}
	return errors.Join(err, ignoreClosed(ready.Close()))
}

// tell announces the device.
func tell(cfg Config, ready *os.File, r *Report) error {
	if ready != nil {
		// An error means that the command which started us is gone and nobody knows of the device.
		if err := errors.Join(writeReady(ready, r), ready.Close()); err != nil {
			return err
		}
	}
	if cfg.OnReady != nil {
		return cfg.OnReady(r)
	}
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// serve puts the device together, serves it, and takes it apart.
func serve(ctx context.Context, cfg Config, announce func(*Report) error) (err error) {
	signals := catchSignals()
	defer signals.stop()
	d := &device{cfg: cfg, served: make(chan struct{}), ready: make(chan struct{})}
	takeName()
	d.protections = append(d.protections, cfg.IOFlusher, forbidCore(), avoidOOM())
	d.logs = OpenLogs(cfg.Foreground, cfg.Dir)
	d.log = d.logs.Logger()
	announced := false
	defer func() {
		err = errors.Join(err, d.takeApart())
		if err != nil && announced {
			d.log.Error("ended: " + err.Error())
		}
		err = errors.Join(err, d.logs.Close())
	}()
	if err := d.makeStore(); err != nil {
		return err
	}
	if err := d.mount(); err != nil {
		return err
	}
	d.protect()
	d.started = time.Now()
	close(d.ready)
	if err := announce(d.report()); err != nil {
		return errors.Join(fmt.Errorf("announce the device: %w", err), d.server.Unmount())
	}
	announced = true
	d.sayReady()
	d.waitForEnd(ctx, signals)
	d.log.Info("unmounted", "dir", cfg.Dir)
	return nil
}

// takeApart undoes what was put together, in reverse.
func (d *device) takeApart() error {
	var all []error
	for i := len(d.undo) - 1; i >= 0; i-- {
		all = append(all, d.undo[i]())
	}
	return errors.Join(all...)
}

// makeStore makes the image and what serves from it. The number of requests that are worked on at the same time follows
// GOMAXPROCS, which has to leave a processor to the collector and to what is not a request.
func (d *device) makeStore() error {
	d.streams = max(4, runtime.NumCPU())
	runtime.GOMAXPROCS(d.streams)
	memory, err := store.NewMemory(d.cfg.Memory)
	if err != nil {
		return err
	}
	d.memory = memory
	d.undo = append(d.undo, memory.Close)
	d.store, err = store.Create(memory, store.Config{
		Disksize:  d.cfg.Disksize,
		Algorithm: d.cfg.Algorithm,
		MemLimit:  d.cfg.MemLimit,
		MaxMemory: machineMemory(),
		OnCorrupt: d.logs.Corrupt,
	})
	if err != nil {
		return err
	}
	d.undo = append(d.undo, d.store.Close)
	return nil
}

// mount claims the mount point, mounts, and starts serving. From here on nothing below the mount point may be touched.
func (d *device) mount() error {
	release, err := claim(d.cfg.Dir)
	if err != nil {
		return err
	}
	defer release()
	d.server, err = fusefs.Mount(fusefs.Config{
		Dir:        d.cfg.Dir,
		Store:      d.store,
		Algorithm:  d.cfg.Algorithm,
		Status:     d.statusJSON,
		Logf:       d.logf,
		AllowOther: true,
	})
	if err != nil {
		return err
	}
	if d.cfg.CreatedDir {
		// Spawn's caller removes what it made when there was no mount; from here on it is ours to remove.
		d.undo = append(d.undo, d.removeDir)
	}
	d.settings = d.server.Settings()
	go func() {
		d.server.Serve()
		close(d.served)
	}()
	d.undo = append(d.undo, d.end)
	return nil
}

// end waits until serving has ended; whoever calls takeApart has seen to the unmount. It removes a mount that is dead
// because its connection was aborted.
func (d *device) end() error {
	<-d.served
	return d.server.Unmount()
}

// removeDir removes the directory that was made for the mount. Somebody else may have been faster.
func (d *device) removeDir() error {
	if err := os.Remove(d.cfg.Dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// protect takes the measures that need the device to be complete. The heap comes last: it is sized by what is there.
func (d *device) protect() {
	d.protections = append(d.protections, lockMemory(), imageProtection(d.memory.Kind()), populate(), restCollector())
	d.protections = append(d.protections, CheckMachine()...)
}

// imageProtection says what keeps the image itself out of swap.
func imageProtection(kind store.MemoryKind) Protection {
	p := Protection{Name: ProtectImage, State: StateOK, Detail: "what is stored lies on a tmpfs that is never swapped"}
	if kind != store.MemoryNoswap {
		p.State = StateWarn
		p.Detail = fmt.Sprintf("what is stored lies in a %s, which the memory lock alone keeps out of swap: noswap needs Linux 6.4 "+
			"and CAP_SYS_ADMIN", kind)
	}
	return p
}

func (d *device) report() *Report {
	return &Report{PID: os.Getpid(), Dir: d.cfg.Dir, Disksize: d.cfg.Disksize, Protections: d.protections}
}

func (d *device) sayReady() {
	d.log.Info("ready", "dir", d.cfg.Dir, "disksize", d.cfg.Disksize, "algorithm", d.cfg.Algorithm.String(),
		"mem_limit", d.cfg.MemLimit, "memory", string(d.memory.Kind()))
	for _, p := range d.protections {
		if p.State != StateOK && !d.cfg.Foreground { // there, the user has just been shown them
			d.log.Warn("not protected", "name", p.Name, "state", string(p.State), "detail", p.Detail)
		}
	}
	if !d.settings.AsyncDIO {
		d.log.Warn("the kernel has no asynchronous direct I/O for FUSE: one request at a time")
	}
}

// logf takes the lines of fusefs and go-fuse.
func (d *device) logf(format string, args ...any) { d.log.Warn(fmt.Sprintf(format, args...)) }

// startError puts an error into the words and the exit code for the command that waits.
func startError(err error) *StartError {
	code := 1
	if errors.Is(err, store.ErrConfig) {
		code = 2 // a value that cannot be used
	}
	return &StartError{Message: err.Error(), Code: code, cause: err}
}
