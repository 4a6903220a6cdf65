// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// sysBlock holds a directory for each block device; the attributes are those of
// Documentation/ABI/testing/sysfs-block(-loop) and of loop_attribute_group in the kernel's
// drivers/block/loop.c.
const sysBlock = "/sys/block"

// sectorSize is the unit of the attribute "size", whatever the block size of the device.
const sectorSize = 512

// deletedSuffix is the kernel's suffix to the path of a file that has been removed (d_path in
// fs/d_path.c).
const deletedSuffix = " (deleted)"

// devPath returns the path of the device node of loop device n.
func devPath(n int) string { return "/dev/loop" + strconv.Itoa(n) }

// sysPath returns the path of an attribute of loop device n.
func sysPath(n int, attr string) string {
	return filepath.Join(sysBlock, "loop"+strconv.Itoa(n), attr)
}

// loopNumber returns N of /dev/loopN or loopN. Only the spelling that the kernel itself uses is
// accepted, so that one device has one name.
func loopNumber(dev string) (int, error) {
	digits, ok := strings.CutPrefix(strings.TrimPrefix(dev, "/dev/"), "loop")
	n, err := strconv.ParseUint(digits, 10, 20) // 20 bits: MINORBITS of the kernel
	if !ok || err != nil || strconv.FormatUint(n, 10) != digits {
		return 0, ErrNotLoop
	}
	return int(n), nil
}

// loopNumbers returns the numbers of all loop devices of this machine, attached or not, in order.
func loopNumbers() ([]int, error) {
	entries, err := os.ReadDir(sysBlock)
	if err != nil {
		return nil, err
	}
	var ns []int
	for _, e := range entries {
		if n, err := loopNumber(e.Name()); err == nil {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns, nil
}

// find returns the loop devices on the file of that absolute path.
func find(path string) ([]string, error) {
	ns, err := loopNumbers()
	if err != nil {
		return nil, err
	}
	devs := make([]string, len(ns))
	for i, n := range ns {
		devs[i] = devPath(n)
	}
	return findAmong(devs, path)
}

// findAmong returns those of the loop devices that are on the file of that absolute path.
func findAmong(devs []string, path string) ([]string, error) {
	var found []string
	for _, dev := range devs {
		n, err := loopNumber(dev)
		if err != nil {
			continue
		}
		file, _, err := backingFile(n)
		if errors.Is(err, ErrNotAttached) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if file == path {
			found = append(found, devPath(n))
		}
	}
	return found, nil
}

// backingFile returns the path of the file that loop device n is on, and whether that file has been
// deleted.
func backingFile(n int) (path string, deleted bool, err error) {
	b, err := os.ReadFile(sysPath(n, "loop/backing_file"))
	if gone(err) {
		if _, err := os.Stat(sysBlock); err != nil {
			return "", false, err // nothing is known of any device
		}
		return "", false, fmt.Errorf("%w: %w", ErrNotAttached, err)
	}
	if err != nil {
		return "", false, err
	}
	path, deleted = splitDeleted(strings.TrimSuffix(string(b), "\n"))
	if path == "" {
		// The kernel is about to detach it: the directory is still there, the file is not.
		return "", false, ErrNotAttached
	}
	return path, deleted, nil
}

// splitDeleted takes the kernel's mark of a deleted file off its path. A file whose own name ends
// like the mark is taken for a deleted one: the kernel's text does not tell the two apart.
func splitDeleted(text string) (path string, deleted bool) {
	return strings.CutSuffix(text, deletedSuffix)
}

// inspect reads everything about loop device n.
func inspect(n int) (Info, error) {
	path, deleted, err := backingFile(n)
	if err != nil {
		return Info{}, err
	}
	r := attributes{number: n}
	info := Info{
		Path:      devPath(n),
		Backing:   path,
		Deleted:   deleted,
		DirectIO:  r.uint("loop/dio") != 0,
		Autoclear: r.uint("loop/autoclear") != 0,
		ReadOnly:  r.uint("ro") != 0,
		BlockSize: r.uint("queue/logical_block_size"),
		Size:      r.uint("size") * sectorSize,
		Offset:    r.uint("loop/offset"),
		SizeLimit: r.uint("loop/sizelimit"),
		Sequence:  r.optional("diskseq"),
	}
	if r.err != nil {
		return Info{}, r.err
	}
	return info, nil
}

// attributes reads numbers from the directory of a loop device and keeps the first error.
type attributes struct {
	number int   // immutable
	err    error // used by one goroutine
}

// uint returns the value of an attribute, 0 after an error.
func (r *attributes) uint(attr string) uint64 {
	if r.err != nil {
		return 0
	}
	v, err := readUint(sysPath(r.number, attr))
	if gone(err) && strings.HasPrefix(attr, "loop/") {
		err = fmt.Errorf("%w: %w", ErrNotAttached, err) // detached since the caller looked
	}
	r.err = err
	return v
}

// optional is uint for an attribute that older kernels lack: it is 0 there.
func (r *attributes) optional(attr string) uint64 {
	if r.err != nil {
		return 0
	}
	v, err := readUint(sysPath(r.number, attr))
	if !errors.Is(err, fs.ErrNotExist) {
		r.err = err
	}
	return v
}

// gone reports whether an attribute is not there, or went away while it was open: the kernel takes
// those of a file away with it, at any instant.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) }

// readUint returns the decimal number in a file of one line.
func readUint(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return v, nil
}

// stopWriteThrottling turns the kernel's write-back throttling off for loop device n, where the
// kernel has it and it is on. It reads first because writing the attribute of a device without
// throttling would start it.
func stopWriteThrottling(n int) error {
	path := sysPath(n, "queue/wbt_lat_usec")
	b, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(b)) == "0" {
		return nil // absent or unreadable: this kernel does not throttle the device
	}
	return os.WriteFile(path, []byte("0"), 0)
}

// limitDiscard bounds the discard requests of loop device n, in bytes, unless the kernel has kept
// that bound since an earlier use.
func limitDiscard(n int, bytes uint64) error {
	path, text := sysPath(n, "queue/discard_max_bytes"), strconv.FormatUint(bytes, 10)
	if b, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(b)) == text {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0)
}
