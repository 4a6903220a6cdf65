// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	endian "encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/internal/pages"
)

// verifyOrder tells a verifier what to work on.
type verifyOrder struct {
	Path    string
	From    int // of the device, a multiple of the page size
	Bytes   int
	Threads int // each works on its share alone
	Seed    uint64
}

// verifyReply is what has happened since the reply before.
type verifyReply struct {
	Requests int64
	Longest  time.Duration // that any one took
	Wrong    []string      // errors and mismatches, the first ten
	Counts   [2]int        // of errors, of mismatches
}

const (
	// verifyLongest is the most pages of one request: on a loop device the kernel
	// splits it into several.
	verifyLongest = 160
	// verifyLap and verifyEnd are the commands, a line each. After the end, which
	// reads everything once more, nothing is done.
	verifyLap = "lap"
	verifyEnd = "end"
)

// verifierPart is the client that works on a device with several threads and knows
// what every byte must be: each page that is written names itself and its version.
var verifierPart = register("verifier", func(args []string) error {
	var order verifyOrder
	if err := json.Unmarshal([]byte(args[0]), &order); err != nil {
		return err
	}
	v, err := newVerifier(order)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, o := range v.owners {
		running.Go(o.work)
	}
	answers := json.NewEncoder(os.Stdout)
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		if commands.Text() == verifyEnd {
			v.stop.Store(true)
			running.Wait()
			for _, o := range v.owners {
				o.readAll()
			}
		}
		if err := answers.Encode(v.lap()); err != nil {
			return err
		}
	}
	v.stop.Store(true)
	return nil
})

// A verifier is a device and its owners.
type verifier struct {
	fd     int
	block  bool // a block device: whole pages only
	stop   atomic.Bool
	owners []*owner
	base   [][]byte

	requests atomic.Int64
	longest  atomic.Int64
	mu       sync.Mutex
	wrong    []string // guarded by mu
	counts   [2]int   // guarded by mu
}

func newVerifier(order verifyOrder) (*verifier, error) {
	v := &verifier{base: pages.Mix(1024, order.Seed)}
	var st unix.Stat_t
	if err := unix.Stat(order.Path, &st); err != nil {
		return nil, err
	}
	flags := unix.O_RDWR | unix.O_CLOEXEC
	if v.block = st.Mode&unix.S_IFMT == unix.S_IFBLK; v.block {
		flags |= unix.O_DIRECT
	}
	var err error
	if v.fd, err = unix.Open(order.Path, flags, 0); err != nil {
		return nil, err
	}
	share := order.Bytes / order.Threads &^ (pageSize - 1)
	for i := range order.Threads {
		buf, err := unix.Mmap(-1, 0, verifyLongest*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return nil, err
		}
		v.owners = append(v.owners, &owner{
			v: v, lo: order.From + i*share, want: make([]byte, share), buf: buf, rng: rand.New(rand.NewPCG(order.Seed, uint64(i))),
		})
	}
	return v, nil
}

// lap says what has happened since the last one.
func (v *verifier) lap() verifyReply {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := verifyReply{v.requests.Swap(0), time.Duration(v.longest.Swap(0)), v.wrong, v.counts}
	v.wrong, v.counts = nil, [2]int{}
	return r
}

// fail notes an error (0) or a mismatch (1).
func (v *verifier) fail(kind int, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts[kind]++
	if len(v.wrong) < 10 {
		v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
	}
}

// An owner is one thread and its share of the device.
type owner struct {
	v       *verifier
	lo      int    // of the share
	want    []byte // what it holds
	buf     []byte // for direct I/O
	rng     *rand.Rand
	version uint64
}

func (o *owner) work() {
	for !o.v.stop.Load() {
		off, n := o.pick()
		switch o.rng.IntN(8) {
		case 0:
			o.discard(off, n)
		case 1, 2, 3:
			o.write(off, n)
		default:
			o.read(off, n)
		}
	}
}

// pick chooses bytes of the share: mostly few pages, and on a file also parts.
func (o *owner) pick() (off, n int) {
	count := 1 + o.rng.IntN(4)
	if o.rng.IntN(4) == 0 {
		count = 1 + o.rng.IntN(verifyLongest)
	}
	total := len(o.want) / pageSize
	count = min(count, total)
	off, n = o.rng.IntN(total-count+1)*pageSize, count*pageSize
	if !o.v.block && o.rng.IntN(3) == 0 {
		cut := o.rng.IntN(pageSize)
		off, n = off+cut, n-cut-o.rng.IntN(pageSize-cut)
	}
	return off, n
}

// timed does one request and keeps the account.
func (o *owner) timed(what string, off, n int, request func() (int, error)) bool {
	began := time.Now()
	done, err := request()
	took := int64(time.Since(began))
	o.v.requests.Add(1)
	for old := o.v.longest.Load(); took > old && !o.v.longest.CompareAndSwap(old, took); {
		old = o.v.longest.Load()
	}
	if err != nil || done != n {
		o.v.fail(0, "%s of %d bytes at %d: %d, %v", what, n, o.lo+off, done, err)
		return false
	}
	return true
}

// write writes the next version of each page that the bytes are of.
func (o *owner) write(off, n int) {
	o.version++
	p := o.buf[:n]
	for at := off; at < off+n; {
		page := (o.lo + at) / pageSize
		from := (o.lo + at) % pageSize
		content := bytes.Clone(o.v.base[o.rng.IntN(len(o.v.base))])
		if o.rng.IntN(16) != 0 { // else it may be of one word
			endian.LittleEndian.PutUint64(content, uint64(page))
			endian.LittleEndian.PutUint64(content[8:], o.version)
		}
		at += copy(p[at-off:], content[from:])
	}
	if o.timed("write", off, n, func() (int, error) { return unix.Pwrite(o.v.fd, p, int64(o.lo+off)) }) {
		copy(o.want[off:], p)
	}
}

func (o *owner) read(off, n int) {
	p := o.buf[:n]
	if !o.timed("read", off, n, func() (int, error) { return unix.Pread(o.v.fd, p, int64(o.lo+off)) }) {
		return
	}
	if want := o.want[off : off+n]; !bytes.Equal(p, want) {
		o.v.fail(1, "read of %d bytes at %d: %v; version %d is the last", n, o.lo+off, difference(p, want, o.lo+off), o.version)
	}
}

func (o *owner) discard(off, n int) {
	request := func() (int, error) { return n, unix.Fallocate(o.v.fd, punchHole, int64(o.lo+off), int64(n)) }
	if o.v.block {
		request = func() (int, error) {
			span := [2]uint64{uint64(o.lo + off), uint64(n)}
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(o.v.fd), unix.BLKDISCARD, uintptr(unsafe.Pointer(&span)))
			if errno != 0 {
				return 0, errno
			}
			return n, nil
		}
	}
	if o.timed("discard", off, n, request) {
		clear(o.want[off : off+n])
	}
}

func (o *owner) readAll() {
	for off := 0; off < len(o.want); off += len(o.buf) {
		o.read(off, min(len(o.buf), len(o.want)-off))
	}
}
