// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A process is a worker as its keeper sees it. It is used by one goroutine at a time.
type process struct {
	cmd     *exec.Cmd
	orders  *os.File
	news    chan news  // closed when the process is gone or says nothing more
	other   func(news) // told what nobody waits for
	leaving bool       // it is about to end by itself, rightly
	over    bool       // it was waited for
	how     error      // how it ended, once over
}

func pid() int { return os.Getpid() }

// startProcess starts a worker with these descriptors, in the order of the constants, and with the device's dictionary, which is nil where there
// is none. other is told the news that come while others are waited for.
func startProcess(cfg Config, from program, other func(news), dictionary *os.File, files ...*os.File) (*process, error) {
	ordersR, ordersW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	newsR, newsW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make pipe: %w", err), ordersR.Close(), ordersW.Close())
	}
	p := &process{orders: ordersW, news: make(chan news, 16), other: other}
	p.cmd = &exec.Cmd{
		Path:        from.path(),
		Args:        append([]string{"zramfs"}, cfg.WorkArgs(cfg)...),
		Dir:         "/",
		ExtraFiles:  append([]*os.File{ordersR, newsW}, files...),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, // a terminal's signals are the keeper's to hear
	}
	passDictionary(p.cmd, dictionary)
	if cfg.Foreground {
		p.cmd.Stderr = os.Stderr
	}
	err = startFirmly(p.cmd)
	_ = ordersR.Close() // the worker has its own ends; ours would keep a reader waiting
	_ = newsW.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), ordersW.Close(), newsR.Close())
	}
	go func() {
		receive(newsR, p.news)
		_ = newsR.Close() // only read from
	}()
	return p, nil
}

// workerPatience bounds what a worker does before it serves. What takes time is the population of the index: 128 MiB for
// the largest one that is populated.
const workerPatience = 25 * time.Second

// await waits for news of a kind. What the worker says of its failure is the error.
func (p *process) await(wanted func(news) bool) (news, error) {
	limit := time.After(workerPatience)
	for {
		select {
		case n, ok := <-p.news:
			switch {
			case !ok:
				return n, fmt.Errorf("%w: %s", ErrNoAnnouncement, describeExit(p.wait()))
			case n.Failed != nil:
				return n, n.Failed
			case wanted(n):
				return n, nil
			default:
				p.other(n)
			}
		case <-limit:
			return news{}, fmt.Errorf("the worker was not ready after %s", workerPatience)
		}
	}
}

// tell gives an order.
func (p *process) tell(o order) error {
	if err := json.NewEncoder(p.orders).Encode(o); err != nil {
		return fmt.Errorf("order the worker: %w", err)
	}
	return nil
}

// errRefused means that a worker cannot stop without loss, and goes on.
var errRefused = errors.New("the worker cannot be replaced now")

// stopTime is how long a worker may take to finish what it is at: a write waits a second for memory at the most.
const stopTime = 5 * time.Second

// stop makes the worker end after the requests under way. One that does not is killed, if it is expendable by then: what it
// was at is finished by its successor. Else it goes on, until it comes to the order after all; its end is news as any other.
func (p *process) stop(expendable func() bool) error {
	err := p.tell(order{Stop: true})
	late := time.NewTimer(stopTime)
	defer late.Stop()
	for {
		select {
		case n, ok := <-p.news:
			if !ok {
				return errors.Join(err, p.wait())
			}
			if n.Refused != "" {
				return fmt.Errorf("%w: %s", errRefused, n.Refused)
			}
			p.other(n)
		case <-late.C:
			if !expendable() {
				return fmt.Errorf("%w: it has not stopped within %v, and the device would end with it", errRefused, stopTime)
			}
			_ = p.cmd.Process.Kill() // it may have ended meanwhile
		}
	}
}

// wait waits for the end of the process and lets go of it.
func (p *process) wait() error {
	if !p.over {
		p.over = true
		p.how = errors.Join(p.cmd.Wait(), p.orders.Close())
	}
	return p.how
}

// kill makes sure that the process is gone.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end a worker: %w", err)
	}
	_ = p.wait() // that it was killed is known
	return nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }
