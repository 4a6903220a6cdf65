// SPDX-License-Identifier: Apache-2.0

package loopsetup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// The operations an Error names.
const (
	OpAttach   = "attach"
	OpClose    = "close"
	OpDetach   = "detach"
	OpClaimed  = "look for the user of"
	OpKeep     = "keep"
	OpResize   = "resize"
	OpFind     = "find loop devices of"
	OpInspect  = "inspect"
	OpIdentify = "identify the file of"
	OpFormat   = "write swap header of"
	OpSwapOn   = "swapon"
	OpSwapOff  = "swapoff"
	OpSwaps    = "read"
)

// Conditions that a caller can tell apart with errors.Is. Errors also wrap the kernel's error
// number, so errors.Is(err, fs.ErrPermission) or errors.Is(err, fs.ErrNotExist) work too.
var (
	// ErrNoDriver means that the running kernel has no loop driver.
	ErrNoDriver = errors.New("the kernel has no loop driver (try: modprobe loop)")
	// ErrNoDirectIO means that the device was attached but the kernel refused direct I/O on the
	// backing file; it is detached again.
	ErrNoDirectIO = errors.New("the file system of the backing file does not allow direct I/O")
	// ErrNotLoop means that a name is not that of a loop device.
	ErrNotLoop = errors.New("not a loop device (want a name such as /dev/loop0)")
	// ErrNotAttached means that a loop device has no backing file.
	ErrNotAttached = errors.New("no file is attached")
	// ErrSwapHeader means that there is no swap header that this kernel can use.
	ErrSwapHeader = errors.New("no usable swap header")
	// ErrNotSwap means that a device is not an active swap area.
	ErrNotSwap = errors.New("not an active swap area")
	// ErrInvalid means that an argument is outside the accepted range; the text around it says
	// which values are accepted.
	ErrInvalid = errors.New("invalid argument")
)

// Error is the type of every error of this package: the operation, its file or device, and the
// cause.
type Error struct {
	Op   string // one of the Op constants
	Path string // the file or device, as the caller named it; empty where the operation has none
	Err  error  // the cause, never nil
}

// Error returns the operation, the path and the cause in one line.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + e.Path + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// newError returns nil for a nil cause, so that it can wrap any return.
func newError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Path: path, Err: err}
}

// defaultBlockSize is the size of a zramfs page: with it the kernel never sends less than one page.
const defaultBlockSize = 4096

// Config says how Attach sets up a device. nil means the zero value.
type Config struct {
	// BlockSize is the logical block size of the device in bytes: a power of two from 512 to the
	// kernel's page size. 0 means 4096.
	BlockSize uint32
	// NoDirectIO leaves direct I/O off: the kernel then caches every page a second time. Not for
	// swap.
	NoDirectIO bool
	// Legacy sets the device up by the calls of kernels before 5.8, which Attach otherwise uses
	// only if LOOP_CONFIGURE is missing. A process that is killed between these calls can leave the
	// device attached.
	Legacy bool
	// Offset is where in the file the device begins, in bytes: a multiple of the block size.
	Offset uint64
	// SizeLimit is the size of the device in bytes: a multiple of the block size, at most the size
	// of the file behind Offset. 0 means all of that.
	SizeLimit uint64
	// DiscardMax bounds one discard request in bytes: a multiple of the block size. The kernel
	// splits larger ones. 0 keeps the device's bound. The kernel keeps it with the device, also for
	// the next file.
	DiscardMax uint64
}

// withDefaults returns cfg with its defaults, or an error for invalid values.
func (cfg *Config) withDefaults() (Config, error) {
	var c Config
	if cfg != nil {
		c = *cfg
	}
	if c.BlockSize == 0 {
		c.BlockSize = defaultBlockSize
	}
	if b := c.BlockSize; b < 512 || int64(b) > int64(os.Getpagesize()) || b&(b-1) != 0 {
		return c, fmt.Errorf("%w: block size %d is not a power of two from 512 to %d", ErrInvalid, b, os.Getpagesize())
	}
	for _, v := range []struct {
		name  string
		bytes uint64
	}{{"offset", c.Offset}, {"size limit", c.SizeLimit}, {"discard limit", c.DiscardMax}} {
		if v.bytes%uint64(c.BlockSize) != 0 || v.bytes > math.MaxInt64 {
			return c, fmt.Errorf("%w: %s %d is not a multiple of the block size %d below 2^63", ErrInvalid, v.name, v.bytes, c.BlockSize)
		}
	}
	return c, nil
}

// A Device is an attached loop device that this process holds open. Its methods may be called
// concurrently.
type Device struct {
	file     *os.File // immutable
	number   int      // immutable
	warnings []error  // immutable once attached
}

// Attach puts a free loop device on the file backing (a regular file or a block device) and returns
// it held open. It needs CAP_SYS_ADMIN. A nil cfg means the defaults: direct I/O and blocks of 4096
// bytes.
//
// The kernel offers a free device and takes it in two steps, so that others may come between;
// Attach tries again when that happens, for about a second. Where /dev lacks the node of a device,
// as in a container without udev, Attach makes it and leaves it there for the next use. The errors
// ErrNoDriver, ErrNoDirectIO and ErrInvalid can be told apart; after an error nothing is attached.
func Attach(backing string, cfg *Config) (*Device, error) {
	all, err := AttachAll(backing, []*Config{cfg})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// AttachAll is [Attach] for several devices on the same file, in the order of cfgs. The kernel
// waits some ten milliseconds for a change of one device's queue, so all queues are changed at the
// same time. After an error none is attached.
func AttachAll(backing string, cfgs []*Config) (all []*Device, err error) {
	var tuned sync.WaitGroup
	defer func() {
		tuned.Wait()
		if err == nil {
			return
		}
		for _, d := range all {
			err = errors.Join(err, d.Close())
		}
		all = nil
	}()
	for _, cfg := range cfgs {
		c, err := cfg.withDefaults()
		if err != nil {
			return all, newError(OpAttach, backing, err)
		}
		d, err := attach(backing, c)
		if err != nil {
			return all, newError(OpAttach, backing, err)
		}
		all = append(all, d)
		tuned.Go(func() { d.tune(c) })
	}
	return all, nil
}

// Path returns the path of the device, such as /dev/loop0.
func (d *Device) Path() string { return d.file.Name() }

// File returns the open device, for reading and writing. It stays usable until Close; only Close
// may close it.
func (d *Device) File() *os.File { return d.file }

// Warnings returns the optional settings that the kernel refused, one error each; the device works
// without them. They are the kernel's write-back throttling, which is turned off because it delays
// swap-out while reads are waiting, and Config.DiscardMax.
func (d *Device) Warnings() []error { return d.warnings }

// Close closes the device. The kernel then detaches it, at once or at the end of another use as an
// active swap area or a mounted file system. A second Close returns an error.
func (d *Device) Close() error { return newError(OpClose, d.Path(), d.file.Close()) }

// Detach takes the backing file off the loop device dev. A device in use stays until its last user
// closes it, and Detach returns nil all the same: Inspect then still shows it, with autoclear. For
// a device that does not exist or has no file the error is ErrNotAttached, for another kind of path
// ErrNotLoop.
func Detach(dev string) error {
	n, err := loopNumber(dev)
	if err != nil {
		return newError(OpDetach, dev, err)
	}
	return newError(OpDetach, dev, detach(n))
}

// Resize gives the loop device dev the size that its file backing has now. It needs the right to
// open dev. It asks the server of the file for that size: if that may hang, call Resize where it
// can be abandoned. The errors are those of Inspect.
func Resize(dev, backing string) error {
	n, err := loopNumber(dev)
	if err != nil {
		return newError(OpResize, dev, err)
	}
	return newError(OpResize, dev, resize(n, backing))
}

// Find returns the paths of the loop devices on the file backing in the order of their numbers;
// none is no error.
//
// The kernel knows the file by its real path, so backing must be free of symbolic links, as a path
// from the mount table is. Find does not resolve them: that would ask the server of the file, which
// may be dead or hang. A relative path is taken from the current directory. A device whose file has
// been deleted since is found too.
func Find(backing string) ([]string, error) {
	path, err := filepath.Abs(backing)
	if err != nil {
		return nil, newError(OpFind, backing, err)
	}
	devs, err := find(path)
	return devs, newError(OpFind, backing, err)
}

// FindAmong returns those of the loop devices devs that are on a file of the path backing now, in
// the order of devs; none is no error. It is for files that Find cannot tell apart: the kernel
// shows a file on a detached mount by its path below the root of that mount, so the first files of
// two such mounts have the same path. The caller has to have recorded the devices; Info.Sequence or
// Identify says whether a recorded device is still the same. Names of other devices, and devices
// that are not attached, are skipped.
func FindAmong(devs []string, backing string) ([]string, error) {
	found, err := findAmong(devs, backing)
	return found, newError(OpFind, backing, err)
}

// FileID identifies a file, as st_dev and st_ino of stat(2) do.
type FileID struct{ Device, Inode uint64 }

// Identify returns the file that the loop device dev is on, however it is mounted, and the path by
// which it was attached, 63 bytes of it at most (LOOP_GET_STATUS64 of loop(4)). It opens the
// device, which takes the rights of its node, usually root's; if the device has autoclear and no
// other user, closing it detaches it. The kernel may ask the server of the file for its attributes:
// if that may hang, call Identify in a goroutine of its own. The errors are those of Inspect.
func Identify(dev string) (id FileID, path string, err error) {
	n, err := loopNumber(dev)
	if err == nil {
		id, path, err = identify(n)
	}
	return id, path, newError(OpIdentify, dev, err)
}

// Info describes an attached loop device.
type Info struct {
	Path      string // the device, such as /dev/loop0
	Backing   string // the real path of its file, or its path below the root of a detached mount
	Deleted   bool   // the file has been deleted since it was attached
	DirectIO  bool   // requests bypass the page cache
	Autoclear bool   // the kernel detaches the device when its last user closes it
	ReadOnly  bool   // the device cannot be written
	BlockSize uint64 // logical block size in bytes
	Size      uint64 // size of the device in bytes
	Offset    uint64 // where in the file the device begins, in bytes
	SizeLimit uint64 // bytes of the file, 0 for no limit
	// Sequence differs for each file that is attached to any device since the machine was started
	// (diskseq, Linux 5.15): a device with a recorded number is still on the recorded file. 0 on
	// older kernels.
	Sequence uint64
}

// Inspect describes the loop device dev from /sys alone: it needs no privilege and no device node.
// For a device that does not exist or has no file the error is ErrNotAttached, for another kind of
// path ErrNotLoop.
func Inspect(dev string) (Info, error) {
	n, err := loopNumber(dev)
	if err != nil {
		return Info{}, newError(OpInspect, dev, err)
	}
	info, err := inspect(n)
	return info, newError(OpInspect, dev, err)
}

// FormatSwap makes w, an area of size bytes, a swap area by writing its first page, and returns the
// random UUID it was given. If w has a method Sync, as a file has, FormatSwap calls it. A header is
// valid only for kernels of the same page size; this one is for the running kernel. A rest of size
// that fills no page stays unused. The error is ErrInvalid for less than 10 pages, for more than
// 2^32 pages (16 TiB with pages of 4096 bytes), which the header cannot express, and for a label of
// more than 15 bytes or with a NUL.
func FormatSwap(w io.WriterAt, size uint64, label string) (uuid string, err error) {
	uuid, err = formatSwap(w, size, label, os.Getpagesize())
	return uuid, newError(OpFormat, nameOf(w), err)
}

// HasSwapHeader reports whether page, the first one of an area, is that of a swap area. It has the
// size that pages of the running kernel have.
func HasSwapHeader(page []byte) bool { return bytes.HasSuffix(page, []byte(swapMagic)) }

// nameOf returns the name of a file, and nothing for other things that can be read or written.
func nameOf(v any) string {
	if f, ok := v.(interface{ Name() string }); ok {
		return f.Name()
	}
	return ""
}

// Discard says when the kernel tells a swap area which pages it no longer needs, as the option
// --discard of swapon(8).
type Discard string

// The policies of Discard. The zero value means DiscardNone.
const (
	DiscardBoth  Discard = "both"  // the whole area at swapon, and freed pages while it is in use
	DiscardOnce  Discard = "once"  // the whole area at swapon only
	DiscardPages Discard = "pages" // freed pages only
	DiscardNone  Discard = "none"  // never
)

// ParseDiscard returns the policy that s names. The error is ErrInvalid for other words.
func ParseDiscard(s string) (Discard, error) {
	switch d := Discard(s); d {
	case DiscardBoth, DiscardOnce, DiscardPages, DiscardNone:
		return d, nil
	}
	return "", fmt.Errorf("%w: discard policy %q is none of both, once, pages, none", ErrInvalid, s)
}

// MaxPriority is the highest priority of a swap area (SWAP_FLAG_PRIO_MASK in the kernel's
// include/linux/swap.h).
const MaxPriority = 0x7fff

// SwapOn makes the formatted device dev an active swap area. The priority is from 0 to MaxPriority,
// areas of higher priority being used first, or -1 for one that the kernel chooses below all of
// these. It needs CAP_SYS_ADMIN. The errors are ErrInvalid for another priority or policy,
// ErrSwapHeader where the kernel finds no header, and EBUSY from the kernel for a device in use.
func SwapOn(dev string, priority int, d Discard) error {
	return newError(OpSwapOn, dev, swapOn(dev, priority, d))
}

// SwapOff brings every page on dev back into memory and ends its use as swap. That can take
// minutes. It needs CAP_SYS_ADMIN. The error is ErrNotSwap where dev is not an active swap area,
// and ENOMEM from the kernel where the pages do not fit into memory; dev then stays in use. Signals
// do not interrupt it unless they end the process, in which case dev stays in use too.
func SwapOff(dev string) error {
	return newError(OpSwapOff, dev, swapOff(dev))
}

// Swap is one active swap area.
type Swap struct {
	Path     string // the device or file; of a loop device always /dev/loopN
	Deleted  bool   // the path by which it was turned on has been removed
	Type     string // "partition" for a device, "file" for a file
	Size     uint64 // usable bytes: without the page that holds the header
	Used     uint64 // bytes in use
	Priority int    // as given to SwapOn, or negative where the kernel chose it

	// Found is set by Swaps for a file, and for a device that Path leads to.
	Found bool
	// Hidden is for callers that know of an area which Swaps does not return: Used is the most that
	// it may be, and Priority unknown. See [Hidden].
	Hidden bool
}

// Swaps returns the active swap areas in the order of /proc/swaps; none is no error. On a kernel
// without swap it is fs.ErrNotExist. The kernel writes the path by which an area was turned on,
// which may be one of another mount namespace, or removed: a loop device is known by its number.
func Swaps() ([]Swap, error) {
	s, err := swaps()
	return s, newError(OpSwaps, procSwaps, err)
}

// Hidden returns how much swap the kernel has beyond those of areas, as Swaps returned them, that
// were found, and how much of that is used, in bytes. It is 0 where /proc/swaps is the kernel's and
// its paths lead to the areas. A container may have another file there, or none.
func Hidden(areas []Swap) (size, used uint64) {
	size, used = swapTotals()
	var seen []string
	for _, a := range areas {
		if a.Found && !slices.Contains(seen, a.Path) { // one path stands for two devices in two namespaces
			seen = append(seen, a.Path)
			size, used = size-min(size, a.Size), used-min(used, a.Used)
		}
	}
	return size, used
}
