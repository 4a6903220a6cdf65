// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/zswap"
)

// The checks in this file never fail: a device works without what they look for.

func checkNoswap(m Machine) (Finding, error) {
	err := m.noswap()
	switch {
	case err == nil:
		return ok("the image can lie in a tmpfs that is never swapped")
	case errors.Is(err, fs.ErrPermission):
		return Finding{}, fmt.Errorf("%w (run as root)", err)
	}
	return warn(fmt.Sprintf("no tmpfs with noswap (%v): the image lies in a memfd, which worker and keeper have to lock", err),
		"use Linux 6.4 or later, outside of a user namespace")
}

func checkZswap(m Machine) (Finding, error) {
	unfit := zswap.Unfit(m.Root)
	switch {
	case unfit == nil && zswap.Running(m.Root):
		return ok("it keeps hot pages, %s", zswap.Describe(m.Root))
	case unfit == nil:
		return ok("off; up turns it on: page faults on hot pages take a third of the time, for up to %d%% of RAM", zswap.DefaultShare)
	case zswap.Running(m.Root):
		return warn(unfit.Error(), "echo N > /sys/module/zswap/parameters/enabled")
	}
	return ok("%s", unfit.Error())
}

// checkLog asks whether a background device can report a damaged page.
func checkLog(m Machine) (Finding, error) {
	if m.HasJournal() {
		return ok("messages go to the journal (journalctl -t zramfs)")
	}
	if err := m.TryOpen("dev/kmsg", os.O_WRONLY); err != nil {
		return warn(fmt.Sprintf("neither a journal nor the kernel log can be written (%v): messages are lost", err),
			"run as root, or use mount --foreground")
	}
	return ok("messages go to the kernel log (dmesg)")
}

// checkParameters says what up --tune recommended would change.
func checkParameters(m Machine) (Finding, error) {
	pending, err := tune.Pending(m.Root)
	if err != nil {
		return Finding{}, err
	}
	if zswap.Unfit(m.Root) == nil { // which has a value of its own for it
		pending = slices.DeleteFunc(pending, func(c tune.Change) bool { return c.Parameter == zswap.PageCluster })
	}
	if len(pending) == 0 {
		return ok("all are as up --tune recommended has them")
	}
	words := make([]string, len(pending))
	for i, c := range pending {
		words[i] = fmt.Sprintf("%s %s -> %s", c.Parameter, c.Old, c.Set)
	}
	return warn("for speed, --tune recommended would change "+strings.Join(words, ", "), "zramfs up --tune recommended; down restores them")
}

// checkLatency asks whether a worker can keep idle processors from halting while page faults come.
func checkLatency(m Machine) (Finding, error) {
	if err := pmqos.Available(m.Root); err != nil {
		return warn(fmt.Sprintf("%v: on virtual machines whose idle processors halt, a page fault takes twice as long or more", err),
			"give the container the device /dev/cpu_dma_latency, or use up --tune recommended, which sets guest_halt_poll_ns where the kernel has it")
	}
	return ok("processors can be kept from halting while page faults come (/dev/cpu_dma_latency)")
}

// minFreeCap bounds the demand of checkFreeMemory: the smaller of 64 MiB and 1/64 of RAM.
const minFreeCap = 64 << 20

// checkFreeMemory asks whether reclaim starts while the kernel still has memory for its requests: a
// vm.watermark_scale_factor above its default of 10 makes up for a low vm.min_free_kbytes.
func checkFreeMemory(m Machine) (Finding, error) {
	kib, err := m.SysctlNumber("vm.min_free_kbytes")
	if err != nil {
		return Finding{}, err
	}
	scale, err := m.SysctlNumber("vm.watermark_scale_factor")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Finding{}, err
	}
	ram, err := m.MemTotal()
	if err != nil {
		return Finding{}, err
	}
	want := min(ram/64, minFreeCap)
	if kib<<10 < want && scale < 50 {
		return warn(fmt.Sprintf("vm.min_free_kbytes keeps only %s free: reclaim starts late", term.Size(kib<<10)),
			fmt.Sprintf("sysctl vm.min_free_kbytes=%d, or vm.watermark_scale_factor=50", want>>10))
	}
	return ok("reclaim starts early enough (vm.min_free_kbytes %d, vm.watermark_scale_factor %d)", kib, scale)
}

// checkInstructions says which instruction sets the codecs may use, and warns of disabled ones.
func checkInstructions(m Machine) (Finding, error) {
	s := m.instructions()
	usable := "the codecs may use " + strings.Join(s.Usable, ", ")
	if off := s.SwitchedOff(); len(off) > 0 {
		return warn(usable+"; ZRAMFS_DISABLE switches off "+strings.Join(off, ", "), "unset ZRAMFS_DISABLE")
	}
	return ok("%s", usable)
}

// checkCodecs says which implementation each codec uses.
func checkCodecs(m Machine) (Finding, error) {
	return ok("%s", m.instructions().Implementations())
}
