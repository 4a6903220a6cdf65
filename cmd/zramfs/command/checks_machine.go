// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// noSys is what up and doctor say where /sys is not there: the loop driver is set up there.
const noSys = "/sys is not mounted: mount it, or pass it into the container"

func checkProc(m machine) (finding, error) {
	if !m.Exists("proc/self") {
		return fail("/proc is not mounted", "mount -t proc proc /proc")
	}
	return ok("/proc is mounted")
}

func checkSys(m machine) (finding, error) {
	if !m.Exists("sys/block") {
		detail, cure, _ := strings.Cut(noSys, ": ")
		return fail(detail, cure)
	}
	return ok("/sys is mounted")
}

// checkKernelZram looks for what the README advises to use instead, where it can be had.
func checkKernelZram(m machine) (finding, error) {
	const instead = "use it where speed matters more than memory (zramctl --find --size 4G)"
	const faster = "a page fault is several times faster there, and its memory for the same pages larger"
	if m.Exists("sys/class/zram-control") {
		return warn("kernel zram is here: "+faster, instead)
	}
	release, _, _, err := m.KernelRelease()
	if err != nil {
		return finding{}, err
	}
	modules := path.Join("lib/modules", release)
	for _, list := range []string{"modules.dep", "modules.builtin"} {
		text, err := m.Read(path.Join(modules, list))
		if err == nil && strings.Contains(text, "/zram.ko") {
			if why := m.modulesBarred(); why != "" {
				return ok("kernel zram cannot be loaded: %s", why)
			}
			return warn("kernel zram can be loaded: "+faster, "modprobe zram; "+instead)
		}
	}
	return ok("kernel zram is neither loaded nor among the modules in /%s", modules)
}

// modulesBarred says why the kernel loads no module, or nothing where it may.
func (m machine) modulesBarred() string {
	if line, err := m.Read("proc/cmdline"); err == nil && strings.Contains(" "+line+" ", " nomodule ") {
		return "the kernel was started with nomodule"
	}
	if barred, err := m.Read("proc/sys/kernel/modules_disabled"); err == nil && barred == "1" {
		return "kernel.modules_disabled is 1"
	}
	return ""
}

// checkOtherSwap compares the priorities of the swap areas that are on with that which up gives by
// default.
func checkOtherSwap(m machine) (finding, error) {
	table, err := m.Read("proc/swaps")
	if errors.Is(err, fs.ErrNotExist) && m.Exists("proc/self") {
		return fail("this kernel was built without swap", "use a kernel with CONFIG_SWAP")
	}
	if err != nil {
		return finding{}, err
	}
	areas, err := loopsetup.ParseSwaps([]byte(table))
	if err != nil {
		return finding{}, err
	}
	areas = slices.DeleteFunc(areas, func(a loopsetup.Swap) bool {
		backing, err := m.Read(path.Join("sys/block", path.Base(a.Path), "loop/backing_file"))
		return err == nil && path.Base(backing) == path.Base(dataFile) // of a device of ours
	})
	var all, first []string
	highest := 0
	for _, a := range areas {
		words := fmt.Sprintf("%s (%s, priority %d)", a.Path, term.Size(a.Size), a.Priority)
		all = append(all, words)
		if a.Priority > defaultPriority-maxDefault { // that of the last area
			first, highest = append(first, words), max(highest, a.Priority)
		}
	}
	switch {
	case len(first) > 0:
		return warn("the kernel uses "+strings.Join(first, " ")+fmt.Sprintf(" before or beside zramfs, whose priority is %d", defaultPriority),
			fmt.Sprintf("zramfs up --priority %d", min(highest+1, loopsetup.MaxPriority)))
	case len(all) > 0:
		return ok("%s: used after zramfs, whose priority is %d", strings.Join(all, " "), defaultPriority)
	}
	return ok("no other swap area is on")
}

// firstPIDNamespace is the inode of the namespace that ends with the machine (PROC_PID_INIT_INO in
// the kernel's include/linux/proc_ns.h).
const firstPIDNamespace = "pid:[4026531836]"

// checkPIDNamespace asks whether the processes could be ended with a container while swap is on.
func checkPIDNamespace(m machine) (finding, error) {
	namespace, err := os.Readlink(m.Path("proc/self/ns/pid"))
	if err != nil {
		return finding{}, err
	}
	if namespace != firstPIDNamespace {
		return warn("this is a PID namespace, as of a container: when it ends, the kernel kills zramfs, and swapped pages are lost",
			"start it from the host: nsenter --target 1 --all zramfs up")
	}
	return ok("the processes do not end with a container")
}
