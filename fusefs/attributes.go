// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/store"
)

// An attribute is a file below block/zram0 or control. Formats are those of the kernel's
// drivers/block/zram/zram_drv.c, to the byte: scripts cut them by column.
type attribute struct {
	dir  uint64 // inode of the directory
	name string
	mode uint32                 // permissions
	show func() ([]byte, error) // nil if it cannot be read
	// set takes what one write has; nil if it cannot be written. The request has the number with
	// which a successor carries it out again.
	set func(request uint64, text []byte) error
	// take is show for a file whose reading has an effect, once for each handle; else nil.
	take func(request uint64) ([]byte, error)
	// long: carrying it out may take long, or wait for other requests, so that none may wait for
	// it. Some thread is always left to the others.
	long bool
	// polled: programs wait for its changes in poll(2), and a read from its beginning is of a new
	// version, for strangers too: it has to be as cheap as their other requests.
	polled bool
	// unlisted: the file is found by its name alone. A program that reads all files below a
	// directory, as grep -r and backups do, is not to have the effect of reading it.
	unlisted bool
	// stream is show for a file that is too long for a snapshot; else nil.
	stream func(from cursor, offset uint64, size int) (content []byte, next cursor, err error)
}

// readable reports whether the file can be opened for reading.
func (a attribute) readable() bool { return a.show != nil || a.take != nil || a.stream != nil }

// Permissions of attributes, those of the kernel's.
const (
	shown   = 0o444
	changed = 0o644
	ordered = 0o200
	hidden  = 0o600
)

// attributes are what the files of a device show and change.
type attributes struct {
	cfg      Config               // immutable
	loops    attribute            // immutable
	streams  int                  // requests on the data file that are worked on at a time; immutable
	inFlight func() int           // of them, those under way; immutable
	stopping func() bool          // the server is to stop; immutable
	opens    func() int           // handles on the data file; immutable
	closed   func(bool)           // makes opening the data file fail with EBUSY, or succeed again; immutable
	keep     func(Settings) error // keeps what was chosen for a successor; immutable
	pressure *pressure            // immutable

	setting sync.Mutex               // held while an attribute is set, but for recompress and writeback, which may take minutes
	chosen  atomic.Pointer[Settings] // changed by the holder of setting
	working atomic.Bool              // recompress or writeback is at work
}

// all returns the attribute files. In the kernel mem_limit and mem_used_max are write-only; here
// they show bytes, as disksize does.
func (a *attributes) all() []attribute {
	list := []attribute{
		a.order("algorithm_params", a.setParameters),
		{dir: deviceNode, name: "backing_dev", mode: changed, show: a.showBacking, set: a.setBacking, long: true},
		a.stats("bd_stat", bdStat),
		{dir: deviceNode, name: "block_state", mode: 0o400, stream: a.blockState},
		a.value("comp_algorithm", func(Settings) string { return compAlgorithm(a.cfg.Store.Algorithm()) }, a.setAlgorithm),
		a.order("compact", a.initialised(a.compact)).takesLong(),
		a.stats("debug_stat", debugStat),
		{dir: deviceNode, name: "disksize", mode: changed, show: func() ([]byte, error) { return []byte(decimal(a.size())), nil }, set: a.setDisksize},
		a.order("idle", a.initialised(a.markIdle)),
		a.text("initstate", a.initState),
		a.stats("io_stat", ioStat),
		a.value("max_comp_streams", func(Settings) string { return decimal(uint64(a.streams)) }, ignoreText),
		a.value("mem_limit", func(Settings) string { return decimal(a.counters().MemLimit) }, a.setMemLimit),
		a.value("mem_used_max", func(Settings) string { return decimal(a.counters().MemUsedMax) }, a.resetPeak),
		a.stats("mm_stat", mmStat),
		a.value("recomp_algorithm", recompAlgorithm, a.setRecompression),
		{dir: deviceNode, name: "recompress", mode: ordered, set: a.recompress, long: true},
		{dir: deviceNode, name: "reset", mode: ordered, set: a.reset},
		a.text("size", func() string { return decimal(a.size() / sector) }),
		a.stats("stat", func(s store.Stats) string { return blockStat(s, a.inFlight()) }),
		{dir: deviceNode, name: "writeback", mode: ordered, set: a.writeBack, long: true},
		a.value("writeback_limit", func(c Settings) string { return decimal(c.WritebackLimit) }, a.setWritebackLimit),
		a.value("writeback_limit_enable", showWritebackLimited, a.setWritebackLimited),
	}
	list = append(list, a.hotAttributes()...)
	list = append(list, attribute{dir: controlNode, name: "status", mode: shown, show: a.status}, a.loops)
	return append(list, attribute{dir: controlNode, name: pressureName, mode: shown, show: a.pressure.show, polled: true})
}

// value is an attribute that every user may read and the owner may change.
func (a *attributes) value(name string, format func(Settings) string, set func([]byte, *Settings) error) attribute {
	v := a.order(name, set)
	v.mode = changed
	v.show = func() ([]byte, error) { return []byte(format(*a.chosen.Load())), nil }
	return v
}

// order is an attribute that the owner may write. set is called for one write at a time. It may
// change what was chosen, which is kept if it returns no error.
func (a *attributes) order(name string, set func([]byte, *Settings) error) attribute {
	return attribute{dir: deviceNode, name: name, mode: ordered, set: func(_ uint64, text []byte) error {
		if err := a.begin(); err != nil {
			return err
		}
		defer a.setting.Unlock()
		return a.change(func(c *Settings) error { return set(text, c) })
	}}
}

func (v attribute) takesLong() attribute {
	v.long = true
	return v
}

// setTime bounds the wait for an attribute that is being set: recompress may take minutes, and a
// request that waits holds a thread that answers those for other attributes.
const (
	setTime  = 2 * time.Second
	setPause = 5 * time.Millisecond
)

// begin takes a.setting. It fails with EAGAIN, as recompress of the kernel does, while another
// attribute is being set for long.
func (a *attributes) begin() error {
	end := time.Now().Add(setTime)
	return a.beginUnless(func() bool { return time.Now().After(end) })
}

// beginOnce takes a.setting however long that takes: for what others do not wait for.
func (a *attributes) beginOnce() error { return a.beginUnless(func() bool { return false }) }

func (a *attributes) beginUnless(late func() bool) error {
	for ; !a.setting.TryLock(); time.Sleep(setPause) {
		switch {
		case a.stopping():
			return ErrLeft
		case late():
			return syscall.EAGAIN
		}
	}
	return nil
}

// change keeps what f chooses.
func (a *attributes) change(f func(*Settings) error) error {
	next := *a.chosen.Load()
	if err := f(&next); err != nil || next == *a.chosen.Load() {
		return err
	}
	if err := a.keep(next); err != nil {
		return err
	}
	a.chosen.Store(&next)
	return nil
}

// text is an attribute of the device that every user may read.
func (a *attributes) text(name string, format func() string) attribute {
	return attribute{dir: deviceNode, name: name, mode: shown, show: func() ([]byte, error) { return []byte(format()), nil }}
}

// stats is such an attribute that shows counters.
func (a *attributes) stats(name string, format func(store.Stats) string) attribute {
	return a.text(name, func() string { return format(a.counters()) })
}

// status shows control/status.
func (a *attributes) status() ([]byte, error) {
	if a.cfg.Status == nil {
		return nil, nil
	}
	noted, err := a.loops.show()
	if err != nil {
		return nil, err
	}
	return a.cfg.Status(strings.Fields(string(noted)))
}
