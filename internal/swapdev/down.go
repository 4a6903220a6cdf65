// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// Down is one run of down. It is used by one goroutine.
type Down struct {
	Out   *Narration
	Force bool
	Until time.Time // limit of the wait for memory

	// Used is set by Run: the bytes that programs had in swap.
	Used uint64
}

// Run undoes up and grow in reverse, leaving out steps with nothing to do.
func (r *Down) Run(d Device) error {
	all, err := together(d)
	if err != nil {
		return err
	}
	if !r.Force {
		if err := r.checkReturn(all); err != nil {
			return err
		}
	}
	processes := make([]server, len(all))
	for i, d := range all {
		r.Used += d.Used()
		if processes[i], err = watchServer(d); err != nil {
			return err
		}
		defer processes[i].close()
	}
	_ = notify.Stopping("turning swap off") // swap goes off, also where no manager can be told
	if err := r.turnOff(all); err != nil {
		return err
	}
	for i, d := range slices.Backward(all) { // extra devices lie below the first
		if err := r.end(d, processes[i]); err != nil {
			return err
		}
	}
	return nil
}

// together returns d and the extra devices of its directory, which end with it. An extra device
// that is not swap may hold data, and is an error.
func together(d Device) ([]Device, error) {
	further, err := FindExtra(d)
	if err != nil {
		return nil, err
	}
	for _, f := range further {
		if f.Record == nil && len(f.Swaps) == 0 || f.Mountpoint != "" {
			return nil, fmt.Errorf("cannot end %s: %s is a device of its own and may hold data; end it first: zramfs down %[2]s", d.Word(), f.Word())
		}
	}
	return append([]Device{d}, further...), nil
}

// Ended reports whether a device that was found here has ended since, as extra devices end with
// that of their directory.
func Ended(d Device) bool {
	mounted, err := isMounted(d.Dir)
	return err == nil && !mounted && !d.Elsewhere
}

// end ends a device whose swap is off.
func (r *Down) end(d Device, process server) error {
	if err := detachAll(d); err != nil {
		return err
	}
	if len(d.Loops) > 0 {
		if err := printStep(r.Out, "loop", "ok", strings.Join(LoopPaths(d.Loops), " ")+" detached"); err != nil {
			return err
		}
	}
	d.Loops = nil
	if err := Forget(r.Out, host.Local, d); err != nil {
		return err
	}
	switch {
	case errors.Is(d.Err, ErrDead) && d.Elsewhere:
		return nil
	case errors.Is(d.Err, helper.ErrNoAnswer):
		return leaveSilent(r.Out, d)
	case d.Elsewhere:
		return endAway(r.Out, d, process)
	}
	if err := UnmountAndWait(d); err != nil {
		return err
	}
	return printStep(r.Out, "mount", "ok", d.Dir+" unmounted")
}

// leaveSilent detaches the mounts of a device whose processes do not answer, without waiting for
// the processes.
func leaveSilent(out io.Writer, d Device) error {
	if !d.Elsewhere {
		if err := detachMount(d.Dir); err != nil {
			return err
		}
	}
	return printStep(out, "mount", "warn", d.Title()+" unmounted; its processes end when they go on")
}

// awayTime bounds the wait for a keeper that ends by itself.
const awayTime = time.Second

// endAway waits for the keeper of a device with an unseen mount: it unmounts once the data file has
// lost its last loop device. A keeper whose data file is mounted unmounts that too when told to
// end.
func endAway(out io.Writer, d Device, keeper server) error {
	if keeper.pid == 0 {
		return nil
	}
	err := keeper.wait(awayTime)
	if err != nil {
		if kerr := syscall.Kill(keeper.pid, syscall.SIGTERM); kerr != nil && !errors.Is(kerr, syscall.ESRCH) {
			return fmt.Errorf("end the keeper (PID %d): %w", keeper.pid, kerr)
		}
		err = keeper.wait(endTime)
	}
	if err != nil {
		namespace, _, _ := protect.NamespaceOf(keeper.pid)
		return fmt.Errorf("swap is off, but the keeper (PID %d) has not ended: %w; nsenter --mount=%s zramfs umount %s ends it",
			keeper.pid, err, namespace, d.Word())
	}
	return printStep(out, "mount", "ok", d.Title()+" unmounted in another mount namespace")
}

// turnOff turns the areas of devices off without the ballast of the first, which is restarted if
// they stay on after a failure or a signal.
func (r *Down) turnOff(all []Device) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := all[0].FindSlots() // now: the number of one that ended since may be another process's
	if p.PID == 0 && all[0].SwapUse.Slots.PID == 0 {
		return r.turnOffNow(ctx, all)
	}
	if err := endSlots(p); err != nil {
		if !r.Force {
			return err
		}
		if err := printStep(r.Out, "slots", "warn", err.Error()); err != nil {
			return err
		}
	}
	areas, err := swapAreas(all...)
	if err == nil && !r.Force { // its pages may have been in other areas
		all[0].SwapUse = SwapUse{}
		err = r.checkFit(all[0], areas)
	}
	if err == nil {
		err = r.turnOffNow(ctx, all)
	}
	if err != nil {
		return errors.Join(err, ReviveSlots(all[0]))
	}
	return nil
}

// turnOffNow turns the areas of devices off and, unless what is in them may not fit, reads it
// ahead. It looks the areas up: down may have waited for memory, and another program may have
// turned them off since.
func (r *Down) turnOffNow(ctx context.Context, all []Device) error {
	areas, err := swapAreas(all...)
	if err != nil {
		return err
	}
	if r.Force {
		return turnOff(ctx, r.Out, areas)
	}
	end := startAhead(ctx, r.Out, areas)
	return errors.Join(turnOff(ctx, r.Out, areas), end())
}

// detachAll detaches the loop devices on d. It looks them up again: a device used as swap has
// detached itself, and its number may belong to another file already. Where another block device
// or a program such as mkfs has one for itself, all stay as they are: the kernel would detach that
// one as soon as its user ends.
func detachAll(d Device) error {
	loops, err := d.Attached()
	if err != nil {
		return err
	}
	for _, loop := range loops {
		switch claimed, err := loopsetup.Claimed(loop.Path); {
		case err != nil:
			return err
		case claimed && !loop.Autoclear:
			return fmt.Errorf("%s is in use, so nothing was detached: lsblk %[1]s and fuser -v %[1]s name the user", loop.Path)
		}
	}
	for _, loop := range loops {
		if err := loopsetup.Detach(loop.Path); err != nil && !errors.Is(err, loopsetup.ErrNotAttached) {
			return err
		}
	}
	if err := d.WaitDetached(); err != nil {
		return errors.Join(err, keepAgain(d, loops))
	}
	return nil
}

// keepAgain has those of the loop devices on d stay that did so before and are attached still.
func keepAgain(d Device, before []loopsetup.Info) error {
	now, err := d.Attached()
	for _, loop := range now {
		kept := func(b loopsetup.Info) bool { return b.Path == loop.Path && b.Sequence == loop.Sequence && !b.Autoclear }
		if slices.ContainsFunc(before, kept) {
			err = errors.Join(err, loopsetup.Keep(loop.Path))
		}
	}
	return err
}

// swapAreas returns the active swap areas on the loop devices of all.
func swapAreas(all ...Device) ([]loopsetup.Swap, error) {
	if !slices.ContainsFunc(all, func(d Device) bool { return len(d.Swaps) > 0 || d.Unseen != nil }) {
		return nil, nil
	}
	return SwapAreas(all...)
}

// turnOff brings back the pages of all areas and shows the progress. It turns the areas off at the
// same time: otherwise the kernel could swap pages of the first to the second.
func turnOff(ctx context.Context, out io.Writer, areas []loopsetup.Swap) error {
	var off sync.WaitGroup
	took, errs := make([]time.Duration, len(areas)), make([]error, len(areas))
	began := time.Now()
	for i, area := range areas {
		off.Go(func() {
			// In another process, which cannot keep this one from ending if the device does not
			// answer.
			if err := turnOffOne(ctx, area); err != nil {
				errs[i] = explainSwapOff(err)
			}
			took[i] = time.Since(began)
		})
	}
	done := make(chan error, 1)
	go func() {
		off.Wait()
		done <- errors.Join(errs...)
	}()
	if err := showReturn(out, areas, done); err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; swap is still on, and down goes on with it", imageio.ErrInterrupted)
	} else if err != nil {
		return err
	}
	for i, area := range areas {
		detail := fmt.Sprintf("%s off, %s brought back in %s", area.Path, term.Size(area.Used), humanDuration(took[i]))
		if err := printStep(out, "swap", "ok", detail); err != nil {
			return err
		}
	}
	return nil
}

// turnOffOne turns one area off. While another process does that, as systemd does for each area at
// shutdown, the kernel refuses with EINVAL: then turnOffOne waits, and tries again should the other
// fail.
func turnOffOne(ctx context.Context, area loopsetup.Swap) error {
	for {
		_, err := helper.Call(ctx, helper.SwapOff, area.Path)
		if !errors.Is(err, syscall.EINVAL) {
			return err
		}
		on, terr := IsOn(ctx, area)
		if terr != nil {
			return errors.Join(err, terr)
		}
		if !on {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(busyPause):
		}
	}
}

func humanDuration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return term.Time(d)
}
