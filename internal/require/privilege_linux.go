// SPDX-License-Identifier: Apache-2.0

package require

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// attachTries bounds how often a trial is repeated after another process took the free loop device
// or looked at the new zram device.
const attachTries = 16

func tryRoot() *unmet {
	fix := "run it as root"
	if uid := os.Geteuid(); uid != 0 {
		return &unmet{fmt.Errorf("the effective user is %d", uid), fix}
	}
	// user_namespaces(7): the initial namespace maps every user to itself.
	uids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return &unmet{err, fix}
	}
	if fields := strings.Join(strings.Fields(string(uids)), " "); fields != "0 0 4294967295" {
		return &unmet{fmt.Errorf("root of a user namespace only (uid_map %q)", fields), fix + " outside user namespaces"}
	}
	return nil
}

func tryLoop() *unmet {
	fix := "run it as root with the loop driver loaded (modprobe loop)"
	backing, err := unix.MemfdCreate("zramfs-require", unix.MFD_CLOEXEC)
	if err != nil {
		return &unmet{fmt.Errorf("create memory file: %w", err), fix}
	}
	defer closeFD(backing)
	if err := unix.Ftruncate(backing, 4096); err != nil {
		return &unmet{fmt.Errorf("size memory file: %w", err), fix}
	}
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &unmet{fmt.Errorf("open /dev/loop-control: %w", err), fix}
	}
	defer closeFD(control)
	for range attachTries {
		err = attachOnce(control, backing)
		if !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	if err != nil {
		return &unmet{err, fix}
	}
	return nil
}

// attachOnce attaches the first free loop device to backing and detaches it.
func attachOnce(control, backing int) error {
	index, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return fmt.Errorf("find free loop device: %w", err)
	}
	path := fmt.Sprintf("/dev/loop%d", index)
	device, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer closeFD(device)
	if err := unix.IoctlSetInt(device, unix.LOOP_SET_FD, backing); err != nil {
		return fmt.Errorf("attach %s: %w", path, err)
	}
	if err := unix.IoctlSetInt(device, unix.LOOP_CLR_FD, 0); err != nil {
		return fmt.Errorf("detach %s: %w", path, err)
	}
	return nil
}

// firstPIDNamespace is that of the machine (PROC_PID_INIT_INO in the kernel's proc_ns.h).
const firstPIDNamespace = "pid:[4026531836]"

func trySwap() *unmet {
	if missing := tryRoot(); missing != nil {
		return missing
	}
	// swapon(2) checks the privilege before it reads the path, so a null path tells whether the
	// call is allowed without turning swap on.
	_, _, errno := unix.Syscall(unix.SYS_SWAPON, 0, 0, 0)
	if errno != unix.EFAULT {
		return &unmet{fmt.Errorf("try swapon: %w", errno), "run it with CAP_SYS_ADMIN on a kernel with swap"}
	}
	if namespace, err := os.Readlink("/proc/self/ns/pid"); err == nil && namespace != firstPIDNamespace {
		return &unmet{errors.New("up refuses a PID namespace that ends before the machine"), "run it outside of a container"}
	}
	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil {
		return &unmet{err, "mount /proc"}
	}
	_, areas, _ := bytes.Cut(swaps, []byte("\n"))
	if area := strings.Fields(string(areas)); len(area) > 0 {
		return &unmet{fmt.Errorf("swap is on already: %s", area[0]), "swapoff " + area[0]}
	}
	return nil
}

// zramControl adds and removes the kernel's zram devices
// (Documentation/admin-guide/blockdev/zram.rst).
const zramControl = "/sys/class/zram-control/"

func tryZram() *unmet {
	id, err := os.ReadFile(zramControl + "hot_add")
	if err != nil {
		return &unmet{fmt.Errorf("add kernel zram: %w", err), "run it as root after modprobe zram"}
	}
	// udev looks at a new device for a moment, which keeps it busy.
	for range attachTries {
		err = os.WriteFile(zramControl+"hot_remove", bytes.TrimSpace(id), 0)
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return &unmet{fmt.Errorf("remove kernel zram %s: %w", bytes.TrimSpace(id), err), "stop what opens new block devices"}
	}
	return nil
}

// closeFD closes a descriptor that holds no data: nothing is lost if it fails.
func closeFD(fd int) { _ = unix.Close(fd) }
