// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// noSys is the error without /sys, where the loop driver is set up.
const noSys = "/sys is not mounted: mount it, or pass it into the container"

// CanSwap returns the reason why no process may set up swap here, whatever its rights. up asks it
// first, since later errors would name a wrong cause.
func CanSwap(m host.Root) error {
	if !m.HasSys() {
		return errors.New(noSys)
	}
	if first, err := m.InFirstUserNamespace(); err == nil && !first {
		return errors.New("this is a user namespace, where even root may use neither loop devices nor swap: run zramfs up outside " +
			"of it; zramfs mount works here")
	}
	return nil
}

func checkProc(m Machine) (Finding, error) {
	if !m.HasProc() {
		return fail("/proc is not mounted", "mount -t proc proc /proc")
	}
	return ok("/proc is mounted")
}

func checkSys(m Machine) (Finding, error) {
	if !m.HasSys() {
		detail, cure, _ := strings.Cut(noSys, ": ")
		return fail(detail, cure)
	}
	return ok("/sys is mounted")
}

// checkKernelZram looks for kernel zram, which the README recommends instead.
func checkKernelZram(m Machine) (Finding, error) {
	const instead = "use it where speed matters more than memory (zramctl --find --size 4G)"
	const faster = "a page fault is several times faster there, and its memory for the same pages larger"
	if m.HasZram() {
		return warn("kernel zram is here: "+faster, instead)
	}
	modules, found, err := m.FindModule("zram")
	switch {
	case err != nil:
		return Finding{}, err
	case !found:
		return ok("kernel zram is neither loaded nor among the modules in /%s", modules)
	}
	if why := modulesBarred(m); why != "" {
		return ok("kernel zram cannot be loaded: %s", why)
	}
	return warn("kernel zram can be loaded: "+faster, "modprobe zram; "+instead)
}

// modulesBarred returns the reason why the kernel loads no modules, or "".
func modulesBarred(m Machine) string {
	if m.HasBootParameter("nomodule") {
		return "the kernel was started with nomodule"
	}
	if barred, err := m.Sysctl("kernel.modules_disabled"); err == nil && barred == "1" {
		return "kernel.modules_disabled is 1"
	}
	return ""
}

// checkOtherSwap compares the priorities of the swap areas that are on with that which up gives by
// default.
func checkOtherSwap(m Machine) (Finding, error) {
	table, err := m.SwapTable()
	if errors.Is(err, fs.ErrNotExist) && m.HasProc() {
		return fail("this kernel was built without swap", "use a kernel with CONFIG_SWAP")
	}
	if err != nil {
		return Finding{}, err
	}
	areas, err := loopsetup.ParseSwaps([]byte(table))
	if err != nil {
		return Finding{}, err
	}
	areas = slices.DeleteFunc(areas, func(a loopsetup.Swap) bool {
		backing, err := m.LoopBackingFile(a.Path)
		return err == nil && path.Base(backing) == dataName // of a device of ours
	})
	var all, first []string
	highest := 0
	for _, a := range areas {
		words := fmt.Sprintf("%s (%s, priority %d)", a.Path, term.Size(a.Size), a.Priority)
		all = append(all, words)
		if a.Priority >= m.LastPriority {
			first, highest = append(first, words), max(highest, a.Priority)
		}
	}
	switch {
	case len(first) > 0:
		return warn("the kernel uses "+strings.Join(first, " ")+fmt.Sprintf(" before or alongside zramfs, whose priority is %d", m.Priority),
			fmt.Sprintf("zramfs up --priority %d", min(highest+1, loopsetup.MaxPriority)))
	case len(all) > 0:
		return ok("%s: used after zramfs, whose priority is %d", strings.Join(all, " "), m.Priority)
	}
	return ok("no other swap area is on")
}
