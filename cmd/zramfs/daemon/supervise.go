// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// startFirst starts the first worker and waits until it serves. Should it fail, there will be no device.
func (k *keeper) startFirst() (*workerReport, error) {
	p, err := k.startWorker()
	if err != nil {
		return nil, err
	}
	k.process = p
	report, err := k.serveWith(p)
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return report, nil
}

// errNoProcess: there is no worker, for want of a process, a descriptor or memory. What is stored has no part in that.
var errNoProcess = errors.New("no process")

// startWorker starts a worker that prepares itself.
func (k *keeper) startWorker() (*process, error) {
	p, err := k.launch()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProcess, err)
	}
	if _, err := p.await(func(n news) bool { return n.Prepared }); err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return p, nil
}

// launch starts the process of a worker.
func (k *keeper) launch() (*process, error) {
	files := k.session.Files()
	inherited := []*os.File{files.Attributes, files.Data, files.Requests, k.memory.File()}
	holder, err := k.holdFor()
	if err != nil {
		return nil, err
	}
	if holder != nil {
		inherited = append(inherited, holder)
		defer func() { _ = holder.Close() }() // the worker has its own
	}
	dictionary, err := dictionaryFile(k.cfg.Algorithm)
	if err != nil {
		return nil, err
	}
	if dictionary != nil {
		defer func() { _ = dictionary.Close() }() // the worker has its own
	}
	return startProcess(k.cfg, k.program, k.hear, dictionary, inherited...)
}

// serveWith lets a prepared worker serve and waits until it does.
func (k *keeper) serveWith(p *process) (*workerReport, error) {
	facts := &keeperFacts{PID: pid(), Restarts: k.restarts, Protections: k.protections, Holds: k.holds, Group: k.group}
	if !k.ready.IsZero() {
		facts.Ready = k.ready.UnixNano()
	}
	if err := p.tell(order{Serve: facts}); err != nil {
		return nil, err
	}
	if _, err := p.await(func(n news) bool { return n.Serving }); err != nil {
		return nil, err
	}
	k.serving = time.Now()
	n, err := p.await(func(n news) bool { return n.Ready != nil })
	if err != nil {
		return nil, err
	}
	return n.Ready, nil
}

// supervise listens to the worker, and replaces it when it dies. It ends with the device. It never waits for a request:
// what does is done beside it, since only it can bring a server back.
func (k *keeper) supervise() {
	for {
		select {
		case n, ok := <-k.process.news:
			if ok {
				k.hear(n)
			} else if done, err := k.workerGone(); done {
				k.ended <- err
				return
			}
		case r := <-k.upgrades:
			r.answer <- k.upgrade(r.Binary)
		}
	}
}

// hear acts on news of a worker that serves.
func (k *keeper) hear(n news) {
	switch {
	case n.Noted:
		go func() {
			if err := k.session.Pin(); err != nil {
				k.log.Warn(err.Error())
			}
		}()
	case n.DataEnded:
		k.process.leaving = true
		go k.takeAway()
	case n.AttributesEnded:
		go k.tryUnmount("the attributes were unmounted, or their connection was aborted")
	case n.Failed != nil:
		k.log.Error("worker: " + n.Failed.Message)
	}
}

// takeAway takes the attributes away; the worker ends when nobody looks at them any more.
func (k *keeper) takeAway() {
	if err := k.session.TakeAway(); err != nil {
		k.log.Warn("take the attributes away: " + err.Error())
	}
}

// errWorkerDied is why a device ended that does not survive it.
var errWorkerDied = errors.New("the worker died")

// workerGone decides what follows from the end of the worker.
func (k *keeper) workerGone() (done bool, err error) {
	died := time.Now()
	how := k.process.wait()
	if k.process.leaving {
		// Who takes the mounts away may be waiting for an answer that the worker has not given any more.
		return true, errors.Join(k.session.Abort(), k.session.TakeAway())
	}
	k.log.Error("the worker died: "+describeExit(how), "pid", k.process.pid())
	if !k.session.SurvivesCrash() {
		return true, k.lost(how)
	}
	return k.goOn(died)
}

// lost ends a device that does not survive the death of its worker.
func (k *keeper) lost(how error) error {
	k.log.Error("the io_uring transport does not survive that: the device has ended, what was stored is lost")
	return errors.Join(fmt.Errorf("%w: %s", errWorkerDied, describeExit(how)), k.session.Abort(), k.session.TakeAway())
}

const (
	// A worker that could not be started is tried again after startPause, twice that, and so on, up to mostStartPause.
	startPause     = 50 * time.Millisecond
	mostStartPause = 5 * time.Second
)

// goOn makes another worker serve where one has died. It reports whether the device has gone meanwhile.
func (k *keeper) goOn(died time.Time) (done bool, err error) {
	k.restarts++
	tooMany := k.deaths.note(died)
	for pause := startPause; ; {
		var limit <-chan time.Time // none
		if !tooMany || debugging(debugNoDeathLimit) {
			err := k.replaceWorker()
			if err == nil {
				k.log.Warn("another worker serves", "pid", k.process.pid(), "without_service", k.serving.Sub(died).Round(time.Millisecond).String())
				return false, nil
			}
			k.log.Error("the next worker: " + err.Error())
			if !k.session.SurvivesCrash() { // it had taken the rings up
				return true, k.lost(err)
			}
			if !errors.Is(err, errNoProcess) {
				k.restarts++
				tooMany = k.deaths.note(time.Now())
				continue
			}
			limit, pause = time.After(pause), min(2*pause, mostStartPause) // nothing has died of anything
		} else {
			k.log.Error(fmt.Sprintf("%d workers died within %v: no other is started. What is stored is kept, and whoever uses the device "+
				"waits. To go on: zramfs upgrade %s. To give up: abort the FUSE connection, see docs/safety.md", maxDeaths, deathWindow, k.cfg.Dir))
		}
		switch k.awaitUpgrade(limit) {
		case upgraded:
			return false, nil
		case deviceGone:
			return true, k.session.TakeAway()
		}
	}
}

// lookPause is how often a keeper without a worker looks whether there still is a device.
const lookPause = 200 * time.Millisecond

// What a keeper without a worker has waited for.
const (
	nothingYet = iota
	upgraded
	deviceGone
)

// awaitUpgrade waits until somebody has made a worker serve again, or until the device has gone, which nobody else would notice,
// and the memory of the image is wanted back. Where there is a limit it waits no longer.
func (k *keeper) awaitUpgrade(limit <-chan time.Time) int {
	look := time.NewTicker(lookPause)
	defer look.Stop()
	for {
		select {
		case r := <-k.upgrades:
			report := k.startAgain(r.Binary)
			r.answer <- report
			if report.Error == "" {
				return upgraded
			}
		case <-look.C:
			if k.session.DataEnded() {
				return deviceGone
			}
		case <-limit:
			return nothingYet
		}
	}
}

// replaceWorker starts a worker in place of a dead one.
func (k *keeper) replaceWorker() error {
	p, err := k.startWorker()
	if err != nil {
		return err
	}
	if _, err := k.serveWith(p); err != nil {
		return errors.Join(err, p.kill())
	}
	k.process = p
	return nil
}

const (
	maxDeaths   = 5
	deathWindow = time.Minute
)

// A deathRecord tells a worker that dies now and then from one that cannot live.
type deathRecord struct {
	times []time.Time
}

// note records a death and reports whether it was one too many.
func (d *deathRecord) note(now time.Time) bool {
	d.times = append(d.times, now)
	for len(d.times) > 0 && now.Sub(d.times[0]) > deathWindow {
		d.times = d.times[1:]
	}
	if len(d.times) < maxDeaths {
		return false
	}
	d.times = nil
	return true
}

func describeExit(err error) string {
	if err == nil {
		return "it ended by itself"
	}
	return err.Error()
}
