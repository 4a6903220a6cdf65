// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An answer that the kernel does not take is sent again until it does, and EIO in its place where
// it never does. The kernel is a socket here whose buffer is full. Both wait for a tenth of a
// second, so a test on a busy machine tries again.
func TestAnswersAreSentAgain(t *testing.T) {
	for name, late := range map[string]bool{"taken soon": false, "not taken": true} {
		seen := ""
		for range 20 {
			switch got, refused := sendToFull(t, late); {
			case refused == late && (len(got) == outHeaderSize) == late && len(got) > 0:
				seen = "as wanted"
			case !refused || len(got) > outHeaderSize:
				t.Fatalf("%s: refused %t, and %d bytes came", name, refused, len(got))
			default:
				continue // this test was too slow
			}
			break
		}
		if seen == "" {
			t.Errorf("%s: not once in 20 times", name)
		}
	}
}

// sendToFull has a thread send an answer of a page to a socket that is full. It empties the socket
// soon or, if late, once the thread has given up, and returns what came then, and whether the
// thread gave up.
func sendToFull(t *testing.T, late bool) (got []byte, refused bool) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "kernel")
	gaveUp := make(chan struct{}, 1)
	thread := &thread{c: &connection{device: ends[0], fs: &fileSystem{logf: func(string, ...any) { gaveUp <- struct{}{} }}}}
	for err == nil { // fill it
		_, err = unix.Write(ends[0], make([]byte, 1<<10))
	}
	answer, sent := make([]byte, outHeaderSize+pageSize), make(chan struct{})
	putOutHeader(answer, 77, 0, pageSize)
	go func() {
		thread.send(answer)
		close(sent)
	}()
	if late {
		<-gaveUp
	} else {
		time.Sleep(5 * sendPause)
	}
	for n, room := 1<<10, make([]byte, 2*len(answer)); n == 1<<10; got = room[:n] {
		if err := theirs.SetReadDeadline(time.Now().Add(2 * sendTries * sendPause)); err != nil {
			t.Fatal(err)
		}
		if n, err = theirs.Read(room); errors.Is(err, os.ErrDeadlineExceeded) {
			n = 0 // EIO was not taken, either
		} else if err != nil {
			t.Fatal(err)
		}
	}
	<-sent
	refused = late || len(gaveUp) > 0
	if unique := binary.LittleEndian.Uint64(answer[uniqueOffset:]); len(got) > 0 && binary.LittleEndian.Uint64(got[uniqueOffset:]) != unique {
		t.Errorf("%x is no answer to %d", got[:outHeaderSize], unique)
	}
	if errno := unix.EIO; len(got) == outHeaderSize && -int32(binary.LittleEndian.Uint32(got[4:])) != int32(errno) {
		t.Errorf("the answer is %x, want %v", got, errno)
	}
	if err := errors.Join(theirs.Close(), unix.Close(ends[0])); err != nil {
		t.Error(err)
	}
	return got, refused
}
