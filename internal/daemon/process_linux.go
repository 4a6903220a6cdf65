// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// A process is a worker as its keeper sees it. Its first fields belong to the supervision.
type process struct {
	image    *image // that it serves or will
	phase    phase
	limit    time.Time          // until when it may stay in the phase; zero for no limit
	leaving  bool               // the device has gone; see supervision.ends
	upgraded bool               // it was a candidate, and the answer to its upgrade is due
	follows  int                // PID of the process that it replaces; 0 for none
	failure  *status.StartError // why it ends, as it reported
	why      error              // why the supervision killed it

	mu     sync.Mutex
	cmd    *exec.Cmd // nil before it was started; guarded by mu, and immutable then
	orders *os.File  // as cmd
	doomed bool      // it was killed; guarded by mu
	news   *os.File  // used by the goroutine that starts and follows it
}

func (p *process) late(now time.Time) bool { return !p.limit.IsZero() && !now.Before(p.limit) }

// reason returns why a process ended, as far as it is known.
func (p *process) reason(how error) error {
	switch {
	case p.failure != nil:
		return p.failure
	case p.why != nil:
		return p.why
	case p.phase < serving:
		return fmt.Errorf("%w: %w", status.ErrNoAnnouncement, exitReason{how})
	}
	return exitReason{how}
}

func pid() int { return os.Getpid() }

// launch starts the process of a worker.
func (k *keeper) launch(p *process, from program, files fusefs.Files) error {
	from.image.restoreSuperblock(k.logger)
	if k.session.RestoreRequests() {
		k.logger.Error("the memory of requests was damaged and is restored: test the memory of the machine")
	}
	inherited := []*os.File{files.Attributes, files.Data, files.Requests, from.image.memory.File()}
	locks, err := k.serveLocks(from.image)
	if err != nil {
		return err
	}
	if locks != nil {
		inherited = append(inherited, locks)
		defer func() { _ = locks.Close() }() // the worker has its own
	}
	dictionary, err := control.DictionaryFile(k.cfg.Algorithm)
	if err != nil {
		return err
	}
	if dictionary != nil {
		defer func() { _ = dictionary.Close() }() // the worker has its own
	}
	cfg := k.cfg
	cfg.Disksize = from.image.disksize
	var b *backing
	if cfg.Disksize != 0 { // else nothing is stored, and another backing device may take its place
		b = from.image.backing.Load()
	}
	return p.start(cfg, from, dictionary, b, inherited...)
}

// start starts a worker with these descriptors, in the order of the constants, and with the
// device's dictionary and backing device, nil where there is none. A worker that was killed before
// it started ends at once.
func (p *process) start(cfg Config, from program, dictionary *os.File, b *backing, files ...*os.File) error {
	ordersR, ordersW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	newsR, newsW, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make pipe: %w", err), ordersR.Close(), ordersW.Close())
	}
	cmd := &exec.Cmd{
		Path:        from.path(),
		Args:        append([]string{zramfsd.ServingName}, cfg.WorkArgs(cfg.Config)...),
		Dir:         "/",
		ExtraFiles:  append([]*os.File{ordersR, newsW}, files...),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // a terminal's signals are the keeper's to hear
	}
	passDictionary(cmd, dictionary)
	passBacking(cmd, b)
	cfg.Namespace.Pass(cmd, orderFD)
	if cfg.Foreground {
		cmd.Stderr = os.Stderr
	}
	err = protect.StartInRealTime(cmd)
	_ = ordersR.Close() // the worker has its own ends; ours would keep a reader waiting
	_ = newsW.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("start a worker: %w", err), ordersW.Close(), newsR.Close())
	}
	p.news = newsR
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.orders = cmd, ordersW
	if p.doomed {
		_ = p.killNow() // its end follows, or it goes on and is ignored
	}
	return nil
}

// lastWords bounds the wait for news of a process that has ended: a process that it has started may
// still have its descriptors.
const lastWords = time.Second / 2

// follow passes the news of a process on, and returns how it ended.
func (p *process) follow(tell func(workerMsg)) (how error) {
	ended := make(chan error, 1)
	go func() {
		err := p.cmd.Wait()
		_ = p.news.SetReadDeadline(time.Now().Add(lastWords)) // where that fails, its end is the end of the news
		ended <- err
	}()
	receive(p.news, tell)
	err := p.kill() // a process that has closed its news cannot be supervised
	how = errors.Join(<-ended, err)
	_ = p.news.Close()   // only read from
	_ = p.orders.Close() // its reader is gone
	return how
}

// orderTime bounds the wait for a pipe to take an order: it is empty, as a rule.
const orderTime = 5 * time.Second

// tell gives an order. It ignores that the process has ended, which the supervision learns anyway.
func (p *process) tell(o keeperMsg) {
	_ = p.orders.SetWriteDeadline(time.Now().Add(orderTime))
	_ = json.NewEncoder(p.orders).Encode(o)
}

// kill ends a process and those that it has started.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.doomed = true; p.cmd != nil {
		return p.killNow()
	}
	return nil
}

// killNow wants mu to be held.
func (p *process) killNow() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	group := unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) // the group has the number as long as a process is in it
	if errors.Is(group, unix.ESRCH) {
		group = nil
	}
	if err = errors.Join(err, group); err != nil {
		return fmt.Errorf("end a worker: %w", err)
	}
	return nil
}

// pid is the number of a process, 0 before it was started.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}
