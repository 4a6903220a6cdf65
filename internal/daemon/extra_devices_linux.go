// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// A hotRequest asks the keeper for an extra device of its directory, or for the end of one. The
// worker that carries the request out waits for the answer; should the keeper replace it before,
// the next worker asks again with the same number, and gets the same answer.
type hotRequest struct {
	Request uint64 `json:"request"`
	Remove  int    `json:"remove,omitempty"` // the number of the device to end; 0 to make one
	// Backing is the path of a backing device for this device, empty for none; nil to make or end
	// another device.
	Backing *string `json:"backing,omitempty"`
}

// A hotAnswer is the keeper's.
type hotAnswer struct {
	Request uint64        `json:"request"`
	Number  int           `json:"number,omitempty"`  // of the new device
	Backing string        `json:"backing,omitempty"` // the path of the backing device, for people
	Errno   syscall.Errno `json:"errno,omitempty"`
}

// extraDevices are those that the keeper of the first device of a directory has started. Each is
// a device of its own: the keeper only waits for the end of its keeper.
type extraDevices struct {
	one  sync.Mutex // held while a device is made or ended
	last hotAnswers // guarded by one

	telling sync.Mutex // held while a worker is told of them, so that it learns of changes in their order

	mu      sync.Mutex
	there   fusefs.ExtraDevices  // guarded by mu
	keepers map[int]*extraKeeper // guarded by mu
	leaving string               // why the directory's device ends with them, or empty; guarded by mu
	until   time.Time            // that holds until then, since one may be in use; guarded by mu
	alone   bool                 // the directory's device has ended, and the directory ends with them; guarded by mu
}

// hotAnswers are the last answers, the newest first: the worker that follows one which died may ask
// for other requests before it asks again.
type hotAnswers [8]hotAnswer

// to returns the answer that a request has had. No request has the number 0.
func (h *hotAnswers) to(request uint64) (a hotAnswer, ok bool) {
	i := slices.IndexFunc(h[:], func(a hotAnswer) bool { return a.Request == request })
	if i < 0 {
		return hotAnswer{}, false
	}
	return h[i], true
}

func (h *hotAnswers) note(a hotAnswer) {
	copy(h[1:], h[:])
	h[0] = a
}

// A extraKeeper is the keeper of an extra device.
type extraKeeper struct {
	process *os.Process   // immutable
	ended   chan struct{} // closed when it has ended
}

// askToEnd makes the devices end that have no user, and has their directory's follow. It reports
// whether there are any.
func (f *extraDevices) askToEnd(why string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.keepers {
		_ = k.process.Signal(syscall.SIGTERM) // one that has ended is awaited
	}
	if len(f.keepers) > 0 {
		f.leaving, f.until = why, time.Now().Add(extraEnd)
	}
	return len(f.keepers) > 0
}

// numbers returns the devices that are there.
func (f *extraDevices) numbers() fusefs.ExtraDevices {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.there
}

// withoutFirst reports whether the directory's device has ended.
func (f *extraDevices) withoutFirst() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.alone
}

// hot answers a request of a worker.
func (k *keeper) hot(asking *process, r hotRequest) {
	k.extraDevices.one.Lock()
	defer k.extraDevices.one.Unlock()
	answer, known := k.extraDevices.last.to(r.Request)
	if !known {
		answer.Request = r.Request
		switch {
		case r.Backing != nil:
			answer.Backing, answer.Errno = k.setBacking(*r.Backing)
		case r.Remove != 0:
			answer.Errno = k.endExtra(r.Remove)
		default:
			answer.Number, answer.Errno = k.addExtra()
		}
		k.extraDevices.last.note(answer)
	}
	k.tellExtra(asking, &answer)
}

// tellExtra tells a worker which extra devices there are, and an answer, if there is one.
func (k *keeper) tellExtra(p *process, answer *hotAnswer) {
	k.extraDevices.telling.Lock()
	defer k.extraDevices.telling.Unlock()
	all := k.extraDevices.numbers()
	p.tell(keeperMsg{ExtraDevices: &all, Hot: answer})
}

// addExtra makes a device without a size, with the smallest number that is free.
func (k *keeper) addExtra() (int, syscall.Errno) {
	number, ok := k.extraDevices.numbers().Free()
	switch {
	case k.cfg.DeviceArgs == nil || k.extraDevices.withoutFirst():
		return 0, syscall.ENOMEM
	case !ok:
		k.logger.Warn(fmt.Sprintf("no device is made: %s has the %d extra devices that it may have", k.cfg.Dir, number-1))
		return 0, syscall.ENOMEM
	}
	algorithm, err := codec.Parse(codec.Algorithms()[0])
	if err == nil {
		cfg := zramfsd.Config{Dir: fusefs.ExtraDir(k.cfg.Dir, number), Algorithm: algorithm, Latency: k.cfg.Latency, Cold: k.cfg.Cold, Scrub: k.cfg.Scrub, SpillDaily: k.cfg.SpillDaily, OnFull: k.cfg.OnFull, Memory: k.cfg.Memory}
		err = k.startExtra(number, k.cfg.DeviceArgs(cfg))
	}
	if err != nil {
		k.logger.Error(fmt.Sprintf("make the device zram%d: %v", number, err))
		return 0, syscall.ENOMEM
	}
	k.logger.Info("a device was added", "number", number)
	return number, 0
}

// startExtra starts the keeper of a device and waits until that can be opened.
func (k *keeper) startExtra(number int, args []string) error {
	var starting *zramfsd.Starting
	err := k.cfg.Namespace.Do(func() (err error) {
		starting, err = zramfsd.Begin("/proc/self/exe", args)
		return err
	})
	if err == nil {
		_, err = starting.Ready()
	}
	if err != nil {
		return err
	}
	cmd := starting.Cmd
	device := &extraKeeper{cmd.Process, make(chan struct{})}
	k.extraDevices.mu.Lock()
	defer k.extraDevices.mu.Unlock()
	k.extraDevices.there = k.extraDevices.there.With(number)
	k.extraDevices.keepers[number] = device
	go k.awaitExtra(number, cmd, device.ended)
	return nil
}

// awaitExtra waits for the end of a device, by control/hot_remove or by any other way.
func (k *keeper) awaitExtra(number int, cmd *exec.Cmd, ended chan<- struct{}) {
	how := cmd.Wait()
	if how != nil {
		k.outlived(number, how)
	}
	k.logger.Info("a device has ended", "number", number, "how", describeExit(how))
	k.extraDevices.mu.Lock()
	k.extraDevices.there = k.extraDevices.there.Without(number)
	delete(k.extraDevices.keepers, number)
	all, alone, leaving := k.extraDevices.there, k.extraDevices.alone, k.extraDevices.leaving
	if time.Now().After(k.extraDevices.until) {
		leaving = ""
	}
	k.extraDevices.mu.Unlock()
	close(ended)
	if p := k.inService.Load(); p != nil {
		k.tellExtra(p, nil)
	}
	switch {
	case all != 0:
	case alone:
		k.takeAway()
	case leaving != "":
		k.tryUnmount(leaving)
	}
}

// outlived waits for the end of a device whose keeper was killed, if the worker serves on.
func (k *keeper) outlived(number int, how error) {
	dir := fusefs.ExtraDir(k.cfg.Dir, number)
	served := func() (is bool) {
		_ = k.cfg.Namespace.Do(func() error { // an error: it has gone with the namespace
			is = servedOn(dir)
			return nil
		})
		return is
	}
	for warned := false; served(); time.Sleep(alonePause) {
		if !warned {
			warned = true
			k.logger.Warn(fmt.Sprintf("the keeper of %s has died (%s), and its device is there: zramfs umount %[1]s, or down, ends it", dir, describeExit(how)))
		}
	}
}

// dataGone takes the directory away, whose first device has ended: umount(8) of its data file, or
// swapoff. The directory stays while it has extra devices, which would be hidden with it.
func (k *keeper) dataGone() {
	k.extraDevices.one.Lock() // a device that hot makes just now counts
	defer k.extraDevices.one.Unlock()
	k.extraDevices.mu.Lock()
	k.extraDevices.alone = true
	all := k.extraDevices.there
	k.extraDevices.mu.Unlock()
	if all == 0 {
		k.takeAway()
		return
	}
	k.logger.Warn(deviceName + " has ended; the directory stays for its extra devices")
}

func (k *keeper) takeAway() {
	if err := k.session.TakeAway(); err != nil {
		k.logger.Warn("take the attributes away: " + err.Error())
	}
}

const (
	// closeTries and closePause: the kernel reports a closed file after close(2) has returned.
	closeTries = 10
	closePause = 30 * time.Millisecond
	// extraEnd bounds the wait for the end of a device whose data file is unmounted.
	extraEnd = 20 * time.Second
)

// endExtra ends a device that has no user. Its own keeper does so once the data file has gone,
// and when it is told to where other mount namespaces have copies of the mount.
func (k *keeper) endExtra(number int) syscall.Errno {
	k.extraDevices.mu.Lock()
	device := k.extraDevices.keepers[number]
	k.extraDevices.mu.Unlock()
	if device == nil {
		return syscall.ENODEV
	}
	data := filepath.Join(fusefs.ExtraDir(k.cfg.Dir, number), "dev")
	err := error(unix.EBUSY)
	for try := 0; try < closeTries && errors.Is(err, unix.EBUSY); try++ {
		if try > 0 {
			time.Sleep(closePause)
		}
		err = k.cfg.Namespace.Do(func() error { return unix.Unmount(data, unix.UMOUNT_NOFOLLOW) })
	}
	if err != nil { // also EINVAL, when the data file is hidden and in use
		return syscall.EBUSY
	}
	select {
	case <-device.ended:
		return 0
	case <-time.After(copiesTime):
	}
	_ = device.process.Signal(syscall.SIGTERM) // it ends the copies in other namespaces, or has ended
	select {
	case <-device.ended:
		return 0
	case <-time.After(extraEnd):
		return syscall.EBUSY
	}
}

// askKeeper has the keeper make or end an extra device, or open a backing device.
func (w *worker) askKeeper(r hotRequest) (hotAnswer, error) {
	if !w.asking.TryLock() {
		return hotAnswer{}, syscall.EAGAIN // its answer may need the thread that this call would keep waiting
	}
	defer w.asking.Unlock()
	return w.awaitKeeper(r)
}

// askInTurn is askKeeper for requests that fusefs carries out only while a thread is left for
// others. They wait for one another: after the death of a worker one that was under way is carried
// out again, and may come behind a new one.
func (w *worker) askInTurn(r hotRequest) (hotAnswer, error) {
	for !w.asking.TryLock() {
		select {
		case <-w.leaving:
			return hotAnswer{}, fusefs.ErrLeft
		case <-time.After(resizePause):
		}
	}
	defer w.asking.Unlock()
	return w.awaitKeeper(r)
}

// awaitKeeper sends a request and waits for its answer. The caller holds w.asking.
func (w *worker) awaitKeeper(r hotRequest) (hotAnswer, error) {
	w.news.send(workerMsg{Hot: &r})
	for {
		select {
		case a := <-w.answers:
			switch {
			case a.Request != r.Request: // of a call that was not awaited to the end
			case a.Errno != 0:
				return a, a.Errno
			default:
				return a, nil
			}
		case <-w.leaving:
			return hotAnswer{}, fusefs.ErrLeft
		case <-w.orphaned:
			return hotAnswer{}, fmt.Errorf("ask for a device: %w: %w", errSilent, syscall.EAGAIN)
		}
	}
}

// addDevice is fusefs.Config.Add.
func (w *worker) addDevice(request uint64) (int, error) {
	a, err := w.askInTurn(hotRequest{Request: request})
	return a.Number, err
}

// removeDevice is fusefs.Config.Remove.
func (w *worker) removeDevice(request uint64, number int) error {
	if number > fusefs.MaxExtra {
		return syscall.ENODEV
	}
	_, err := w.askInTurn(hotRequest{Request: request, Remove: number})
	return err
}
