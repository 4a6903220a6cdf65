// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An answer that the kernel does not take is sent again until it does, and EIO in its place where
// it never does. The kernel is a socket here whose buffer is full.
func TestAnswersAreSentAgain(t *testing.T) {
	answer := make([]byte, outHeaderSize+pageSize)
	for name, room := range map[string]int{"all of it": len(answer), "an error alone": outHeaderSize} {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		theirs := os.NewFile(uintptr(ends[1]), "kernel")
		refused := 0
		fs := &fileSystem{logf: func(string, ...any) { refused++ }}
		thread := &thread{c: &connection{device: ends[0], fs: fs}}
		for err = nil; err == nil; { // fill it
			_, err = unix.Write(ends[0], make([]byte, 1<<10))
		}
		putOutHeader(answer, 77, 0, pageSize)
		sent := make(chan struct{})
		go func() {
			thread.send(answer)
			close(sent)
		}()
		if room == len(answer) {
			time.Sleep(10 * time.Millisecond)
		} else {
			time.Sleep((sendTries + 30) * sendPause)
		}
		got := make([]byte, 2*len(answer))
		for {
			n, err := theirs.Read(got)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n != 1<<10 {
				got = got[:n]
				break
			}
		}
		<-sent
		errno := -int32(binary.LittleEndian.Uint32(got[4:]))
		if wantRefused := room == outHeaderSize; len(got) != room || (refused > 0) != wantRefused || !bytes.Equal(got[uniqueOffset:outHeaderSize], answer[uniqueOffset:outHeaderSize]) || (errno == int32(unix.EIO)) != wantRefused {
			t.Errorf("%s: %d bytes came, with error %d", name, len(got), errno)
		}
		if err := theirs.Close(); err != nil {
			t.Error(err)
		}
		if err := unix.Close(ends[0]); err != nil {
			t.Error(err)
		}
	}
}
