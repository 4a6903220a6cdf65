// SPDX-License-Identifier: Apache-2.0

//go:build simulation

package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/simkernel"
	"github.com/zramfs/zramfs/store"
)

// Requests of the kernel, as in include/uapi/linux/fuse.h.
const (
	opLookup, opOpen, opRead, opWrite, opRelease, opFallocate = 1, 14, 15, 16, 18, 43

	dataNode  = 2
	punchHole = 3 // FALLOC_FL_PUNCH_HOLE with FALLOC_FL_KEEP_SIZE
)

// transferOf is fuse_read_in or fuse_write_in, with the data of a write.
func transferOf(off uint64, n int, data []byte) []byte {
	a := make([]byte, 40, 40+len(data))
	binary.LittleEndian.PutUint64(a[8:], off)
	binary.LittleEndian.PutUint32(a[16:], uint32(n))
	return append(a, data...)
}

func punch(off, n uint64) []byte {
	a := make([]byte, 32)
	binary.LittleEndian.PutUint64(a[8:], off)
	binary.LittleEndian.PutUint64(a[16:], n)
	binary.LittleEndian.PutUint32(a[24:], punchHole)
	return a
}

// spread draws from 1 to most, each magnitude as often as another.
func spread(rng *rand.Rand, most uint64) uint64 {
	n := uint64(2)
	for n < most && rng.IntN(5) != 0 {
		n *= 2
	}
	return 1 + rng.Uint64N(n)
}

// answerTime bounds how long a request waits: workers that die in a row are started every three
// seconds, and a request that was under way when more than ten died is given up.
const answerTime = 2 * time.Minute

// readTime bounds how long a read waits: not for memory, as writes do for up to a second.
const readTime = 300 * time.Millisecond

// giveUps is how many deaths a request survives; see fusefs.
const giveUps = 10

// ask sends a request for some pages and waits for its answer.
func (m *machine) ask(op uint32, pages int, argument []byte) (r *simkernel.Request, givenUp bool) {
	deaths := m.deaths
	r, givenUp = m.send(m.session.Files().Data, op, dataNode, argument)
	if waited := m.w.Elapsed() - r.Began; op == opRead && waited > readTime && !m.mayWait(r, deaths) {
		m.w.Fail("a read waits for %v", waited)
	}
	m.ops++
	m.pageOps += pages
	m.model.open = min(64+m.ops/m.plan.opening, len(m.model.pages))
	return r, givenUp
}

// send sends a request over a connection and waits for its answer. It reports whether the workers
// may have given the request up.
func (m *machine) send(connection *os.File, op uint32, node uint64, argument []byte) (r *simkernel.Request, givenUp bool) {
	d := m.w.Device(connection)
	deaths := m.deaths
	r = d.Send(op, node, argument)
	m.asked[r] = true
	defer delete(m.asked, r)
	for jumps := -1; !r.Answered(); {
		if jumps == m.jumps { // else the clock has jumped during the wait
			m.w.Fail("a request (opcode %d) is not answered within %v; %s", op, answerTime, d.Describe())
		}
		jumps = m.jumps
		simkernel.UntilOr(r.Answered, answerTime)
	}
	return r, r.Errno == unix.EIO && m.deaths-deaths > giveUps
}

// use is one user of the device: it sends one request after the other.
func (m *machine) use() {
	rng := m.w.Random()
	for !m.ending {
		if at := m.w.Elapsed(); at < m.night {
			simkernel.Sleep(m.night - at)
		}
		switch n := rng.IntN(20); {
		case n < 8:
			m.writes(rng.IntN(5) == 0)
		case n < 17:
			m.reads(rng.IntN(5) == 0)
		default:
			m.discards()
		}
		if rng.IntN(200) == 0 {
			simkernel.Sleep(time.Duration(spread(rng, 1000)) * time.Millisecond)
		}
	}
	m.users--
}

// mayFail reports whether a request may end without memory: there was little, or a second that the
// request waits for it has passed while the machine or a thread of it stood still.
func (m *machine) mayFail(r *simkernel.Request) bool { return m.limited || m.disturbed > r.Began }

// mayWait reports whether a request may wait that needs no memory: behind those that the backing
// device is to make room for, for a worker, or with all others.
func (m *machine) mayWait(r *simkernel.Request, deaths int) bool {
	return m.plan.backing != 0 || m.deaths != deaths || m.held > 0 || max(m.served, m.disturbed) > r.Began
}

// part draws a piece of n pages, whole or by sectors.
func (m *machine) part(n int, partial bool) (off, length int) {
	if !partial {
		return 0, n * store.PageSize
	}
	const sector = 512
	rng, all := m.w.Random(), n*store.PageSize/sector
	from := rng.IntN(all)
	return from * sector, (1 + rng.IntN(all-from)) * sector
}

func (m *machine) writes(partial bool) {
	first, n := m.model.claim(m.plan.transfer, true)
	if n == 0 {
		simkernel.Yield()
		return
	}
	off, length := m.part(n, partial)
	data := make([]byte, 0, n*store.PageSize)
	for range n {
		data = append(data, m.model.content()...)
	}
	data = data[off : off+length]
	ends := m.changes(first, off, data)
	m.script.note("write %d bytes at page %d + %d", length, m.model.page(first), off)
	r, givenUp := m.ask(opWrite, n, transferOf(m.model.page(first)*store.PageSize+uint64(off), length, data))
	switch {
	case r.Errno == 0:
		if len(r.Data) != 8 || binary.LittleEndian.Uint32(r.Data) != uint32(length) {
			m.w.Fail("a write of %d bytes is answered by %x", length, r.Data)
		}
	case r.Errno == unix.ENOSPC && m.mayFail(r), givenUp:
	default:
		m.w.Fail("a write of %d bytes at page %d fails: %v", length, m.model.page(first), r.Errno)
	}
	for _, end := range ends {
		end(r.Errno == 0)
	}
	m.model.release(first, n, true)
}

// changes tells the model of a change from off bytes behind the first page on.
func (m *machine) changes(first, off int, data []byte) (ends []func(ok bool)) {
	for len(data) > 0 {
		i, at := first+off/store.PageSize, off%store.PageSize
		n := min(store.PageSize-at, len(data))
		ends = append(ends, m.model.change(i, at, data[:n]))
		off, data = off+n, data[n:]
	}
	return ends
}

func (m *machine) reads(partial bool) {
	first, n := m.model.claim(m.plan.transfer, false)
	if n == 0 { // it is being written: read it all the same
		m.read(first, 1, partial)
		return
	}
	m.read(first, n, partial)
	m.model.release(first, n, false)
}

func (m *machine) read(first, n int, partial bool) {
	m.model.look(first, n)
	defer m.model.looked(first, n)
	off, length := m.part(n, partial)
	r, givenUp := m.ask(opRead, n, transferOf(m.model.page(first)*store.PageSize+uint64(off), length, nil))
	if givenUp {
		return
	}
	if r.Errno != 0 || len(r.Data) != length {
		m.w.Fail("a read of %d bytes at page %d is answered by error %d and %d bytes", length, m.model.page(first), r.Errno, len(r.Data))
	}
	for data := r.Data; len(data) > 0; {
		i, at := first+off/store.PageSize, off%store.PageSize
		n := min(store.PageSize-at, len(data))
		if err := m.model.hold(i, at, data[:n]); err != nil {
			m.w.Fail("%v", err)
		}
		off, data = off+n, data[n:]
	}
}

func (m *machine) discards() {
	first, n := m.model.claim(64, true)
	if n == 0 {
		simkernel.Yield()
		return
	}
	off, length := m.part(n, m.w.Random().IntN(3) == 0)
	ends := m.changes(first, off, make([]byte, length))
	m.script.note("punch %d bytes at page %d + %d", length, m.model.page(first), off)
	r, givenUp := m.ask(opFallocate, n, punch(m.model.page(first)*store.PageSize+uint64(off), uint64(length)))
	if r.Errno != 0 && !givenUp && (r.Errno != unix.ENOSPC || !m.mayFail(r)) {
		m.w.Fail("a punch of %d bytes at page %d fails: %v", length, m.model.page(first), r.Errno)
	}
	for _, end := range ends {
		end(r.Errno == 0)
	}
	m.model.release(first, n, true)
}

// compare reads all pages, while nothing changes them.
func (m *machine) compare() {
	cluster := int(m.model.cluster)
	for i := 0; i < len(m.model.pages); {
		n := min(m.plan.transfer, cluster-i%cluster, len(m.model.pages)-i)
		m.read(i, n, false)
		i += n
	}
}

// operate is an operator of a worker's device: it does what commands ask for.
func (m *machine) operate(v *simulatedWorker) {
	rng, s := m.w.Random(), v.store
	for next := m.ops; !v.stop; {
		next += int(spread(rng, 600))
		simkernel.UntilOr(func() bool { return m.ops >= next }, time.Duration(spread(rng, 3600))*time.Second)
		switch rng.IntN(7) {
		case 0:
			m.script.note("recompress")
			cfg := store.RecompressConfig{Algorithm: m.plan.others[rng.IntN(len(m.plan.others))], Idle: rng.IntN(4) == 0, MaxPages: spread(rng, 200)}
			_, err := s.Recompress(context.Background(), cfg)
			m.allow("recompress", err, store.ErrFull, store.ErrClosed)
		case 1:
			m.script.note("compact")
			s.CompactNow(nil)
		case 2:
			s.MarkIdle(0)
		case 3:
			m.check(s)
		case 4:
			m.writeBack(s)
		case 5:
			m.put(v)
		case 6:
			m.join(s, int(spread(rng, 4)))
		}
	}
}

// check holds all requests, those too that do not wait for memory.
func (m *machine) check(s *store.Store) {
	m.script.note("check")
	m.held++
	simkernel.Coarsely(func() { s.Check(func(err error) { m.w.Fail("check: %v", err) }) })
	m.held, m.disturbed = m.held-1, max(m.disturbed, m.w.Elapsed())
}

// join joins some neighbours while users are at work, which the device does at night alone.
func (m *machine) join(s *store.Store, clusters int) {
	m.script.note("join")
	a, err := codec.Parse("page:dense")
	m.allow("parse", err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	joiner := s.NewClusterer(a, func(store.Recompressed) {
		if clusters--; clusters <= 0 {
			cancel()
		}
	})
	did, err := joiner.Run(ctx, 0)
	m.allow("join", err, store.ErrFull, store.ErrClosed, context.Canceled)
	m.did.joined += did.Pages
}

func (m *machine) writeBack(s *store.Store) {
	if m.plan.backing == 0 {
		return
	}
	m.script.note("write back")
	_, err := s.WriteBack(store.WritebackConfig{Pages: []store.Selection{{End: 1 << 32}}})
	m.allow("write back", err, store.ErrBackingFull, store.ErrFull, store.ErrClosed)
}

// allow demands that what an operator did has ended well, or by one of these errors.
func (m *machine) allow(what string, err error, allowed ...error) {
	for _, a := range allowed {
		if errors.Is(err, a) {
			return
		}
	}
	if err != nil {
		m.w.Fail("%s: %v", what, err)
	}
}

// put imports a page that another process has compressed.
func (m *machine) put(v *simulatedWorker) {
	first, n := m.model.claim(1, true)
	if n == 0 {
		return
	}
	page, content := m.model.page(first), m.model.content()
	end := m.model.change(first, 0, content)
	v.puts[first] = true
	compressor, err := m.plan.algorithm.NewCompressor()
	if err != nil {
		m.w.Fail("%v", err)
	}
	packed := make([]byte, store.PageSize)
	id, length, err := compressor.Compress(packed, content)
	if err != nil {
		m.w.Fail("%v", err)
	}
	if packed = packed[:length]; id == codec.Raw {
		packed = bytes.Clone(content)
	}
	began := m.w.Elapsed()
	worker := v.store.Acquire()
	err = worker.Put(page, id, store.Seal(page, id, packed), packed)
	worker.Release()
	if err != nil && !(errors.Is(err, store.ErrFull) && (m.limited || m.disturbed > began)) {
		m.w.Fail("put page %d: %v", page, err)
	}
	end(err == nil)
	delete(v.puts, first)
	m.model.release(first, 1, true)
	m.script.note("put page %d", page)
}

// interfere is what happens to the machine, now and then.
func (m *machine) interfere() {
	rng := m.w.Random()
	for next := 0; !m.ending; {
		next += int(spread(rng, uint64(m.plan.calm)))
		simkernel.Until(func() bool { return m.ops >= next || m.ending })
		if !m.serving || len(m.workers) == 0 || m.ending {
			continue
		}
		v := m.workers[rng.IntN(len(m.workers))]
		switch rng.IntN(15) {
		case 14:
			d := time.Duration(1+spread(rng, 30)) * time.Minute
			m.night = m.w.Elapsed() + d
			m.script.note("all users sleep for %v", d)
		case 12, 13:
			n := spread(rng, 200)
			m.script.note("%s is to die within copy %d", v.process.Name(), n)
			v.process.KillInCopy(int(n))
		case 0, 1, 2, 3:
			n := spread(rng, 50_000)
			m.script.note("%s is to die after %d statements", v.process.Name(), n)
			v.process.KillIn(n)
		case 4:
			m.ambush += 1 + rng.IntN(3)
			v.process.KillIn(spread(rng, 1000))
			m.script.note("%s is to die, and %d that follow", v.process.Name(), m.ambush)
		case 5:
			d := time.Duration(spread(rng, 3000)) * time.Millisecond
			m.w.Freeze(v.process, d)
			m.stood = max(m.stood, m.w.Elapsed()+d)
			m.disturbed = max(m.disturbed, m.stood)
			m.script.note("a thread is stopped")
		case 6:
			m.w.SetMean(int32(spread(rng, 2000)))
		case 7:
			m.script.note("the clock jumps")
			m.jumps++
			m.w.Jump(time.Duration(spread(rng, 100_000)) * time.Second)
			m.stood = max(m.stood, m.w.Elapsed())
			m.disturbed = max(m.disturbed, m.stood)
		case 8, 9:
			if m.plan.scarce {
				m.scarcity(rng)
			}
		default:
			m.upgrade()
		}
	}
	m.w.Memory.Scarce, m.ambush = 0, 0
	m.interfered = true
}

// scarcity takes memory from the machine for a while: writes may fail from now on.
func (m *machine) scarcity(rng *rand.Rand) {
	m.script.note("memory is scarce")
	m.limited = true
	m.w.Memory.Scarce = int(spread(rng, 64))
	until := m.ops + int(spread(rng, 2000))
	simkernel.UntilOr(func() bool { return m.ops > until || m.ending }, time.Minute)
	m.w.Memory.Scarce = 0
	m.script.note("memory is there again")
	// Requests that waited for it are answered before it is scarce again: answerTime is for one
	// such time.
	back := m.w.Elapsed()
	simkernel.Until(func() bool {
		waits := false
		for r := range m.asked {
			waits = waits || r.Began < back
		}
		return !waits || m.ending
	})
}
