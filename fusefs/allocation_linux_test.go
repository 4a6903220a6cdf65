// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"
	"testing"
)

// TestPagePathAllocatesNothing counts what requests allocate on their way: nothing, at any length
// and alignment.
func TestPagePathAllocatesNothing(t *testing.T) {
	const size, longest = 16 << 20, 1 << 20
	f := newTestFileSystem(t, size)
	buf := make([]byte, longest)
	rng := rand.New(rand.NewPCG(10, 11))
	for i := range buf {
		buf[i] = byte(rng.Uint32N(20)) // compresses, and not into one word
	}
	answer := make([]byte, longest)
	argument := make([]byte, argumentSize)
	for name, c := range map[string]struct {
		off uint64
		n   int
	}{
		"a page":         {8192, pageSize},
		"a MiB":          {1 << 20, longest},
		"part of a page": {100, 200},
		"parts":          {4000, 9000},
		"at the end":     {size - 100, 200},
	} {
		thread := pageThread{beforeWait: func(bool) {}}
		serve := func(op uint32) syscall.Errno {
			binary.LittleEndian.PutUint64(argument[8:], c.off)
			binary.LittleEndian.PutUint64(argument[16:], uint64(c.n)) // both take it for their size
			binary.LittleEndian.PutUint32(argument[24:], punchHole)
			_, errno := f.servePage(&thread, op, argument, buf[:c.n], answer)
			return errno
		}
		for verb, request := range map[string]func() syscall.Errno{
			"write": func() syscall.Errno { return serve(opWrite) },
			"read":  func() syscall.Errno { return serve(opRead) },
			"punch": func() syscall.Errno { return max(serve(opWrite), serve(opFallocate)) },
		} {
			errno := request() // whatever is made on first use
			got := testing.AllocsPerRun(50, func() { errno = max(errno, request()) })
			if got != 0 || errno != 0 {
				t.Errorf("%s of %s allocates %v times, error %v", verb, name, got, errno)
			}
		}
	}
}
