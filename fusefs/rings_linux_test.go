// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/fusefs/internal/ring"
	"github.com/zramfs/zramfs/internal/require"
)

// A processor has come up since the session was made: the next server lays the rings
// out as the last one did, or it could not go on.
func TestRingsStayAsTheyWere(t *testing.T) {
	require.Uring(t)
	cpus, err := ring.ReadCPUs()
	if err != nil {
		t.Fatal(err)
	}
	before, err := cpus.WithOnline(cpus.Online()[:1])
	if err != nil {
		t.Fatal(err)
	}
	const entries = 4
	size := ring.Config{CPUs: before, Entries: entries, Payload: leftTransfer}.Size()
	l := newLeftOf(t, requestsShape{attributes: 1, data: 2, transfer: leftTransfer,
		entries: entries, rings: (size + pageSize - 1) &^ (pageSize - 1), online: processorSetOf(before.Online())})
	s := l.successor()
	if got := len(s.data.workers); got != 1 {
		t.Errorf("%d workers where one was", got)
	}
	if err := s.data.rings.Close(); err != nil {
		t.Error(err)
	}
}

func TestProcessorSet(t *testing.T) {
	for _, list := range [][]int{nil, {0}, {0, 1, 63, 64, 2047}} {
		got := processorSetOf(append(list, 2048, 8191)).list() // there is no room for these
		if len(got) != len(list) {
			t.Fatalf("%v became %v", list, got)
		}
		for i := range list {
			if got[i] != list[i] {
				t.Errorf("%v became %v", list, got)
			}
		}
	}
}

// A process that cannot make rings says so while its predecessor still serves; once that has
// stopped no process could carry on. Here no descriptor is left.
func TestCheckTriesARing(t *testing.T) {
	require.Uring(t)
	for name, c := range map[string]struct {
		rings int
		ok    bool
	}{
		"with rings": {pageSize, false}, "without": {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeftOf(t, requestsShape{attributes: 1, data: 2, transfer: leftTransfer, entries: c.rings / pageSize, rings: c.rings})
			if err := l.session.Files().Check(); err != nil {
				t.Fatal(err)
			}
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
				t.Fatal(err)
			}
			err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max})
			found := l.session.Files().Check()
			if err := errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
				t.Fatal(err)
			}
			if c.ok != (found == nil) {
				t.Errorf("Check said %v", found)
			}
		})
	}
}

// Rings that fail end serving with an error: else users of the device would wait, without a
// message.
func TestFailedRingsEndServing(t *testing.T) {
	require.Uring(t)
	d := newDevice(t, serveConfig{Disksize: smallDisk, Transport: TransportUring})
	f, err := os.Open(d.path("dev", "zram0"))
	if err != nil {
		t.Fatal(err)
	}
	if s := d.ask(commandBreak); s.Error != "" {
		t.Fatal(s.Error)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := f.ReadAt(make([]byte, pageSize), 0)
		asked <- errors.Join(err, f.Close())
	}()
	if s := d.ask(commandFailed); !strings.Contains(s.Error, "enter ring") {
		t.Errorf("it has ended with %q", s.Error)
	}
	if err := <-asked; err == nil {
		t.Error("the request was answered")
	}
}

// breakRings puts something else in the place of every io_uring of the process.
func breakRings() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	links, err := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		var fd int
		if to, _ := os.Readlink(link); to != "anon_inode:[io_uring]" {
			continue
		}
		if fd, err = strconv.Atoi(filepath.Base(link)); err == nil {
			err = unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(err, null.Close())
}

// Stopping a server that has stopped, or is stopping, has no effect: rings are brought to rest
// once.
func TestStopTwice(t *testing.T) {
	require.Uring(t)
	d := newDevice(t, serveConfig{Disksize: smallDisk, Transport: TransportUring})
	if _, err := os.Stat(d.path("dev", "zram0")); err != nil { // the kernel has to know it
		t.Fatal(err)
	}
	if s := d.ask(commandTwice); s.Error != "" {
		t.Error(s.Error)
	}
}

func stopTwice(d served) error {
	all := make(chan error)
	for range 4 {
		go func() { all <- d.server.Stop() }()
	}
	err := errors.Join(<-all, <-all, <-all, <-all)
	return errors.Join(err, d.session.Abort(), d.session.TakeAway())
}
