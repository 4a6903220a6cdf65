// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zramfs/zramfs/internal/chronicle"
	devicejournal "github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/monitor"
)

// Pages open and close while looks are sent: each gets one, and none is left. The race detector
// looks on.
func TestReadersComeAndGoAmongLooks(t *testing.T) {
	s, _ := sampler(t, options{loopback: true}, healthy())
	look, stop := s.look(0), make(chan struct{})
	var sending, reading sync.WaitGroup
	sending.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.send(look)
			}
		}
	})
	for range 4 {
		reading.Go(func() {
			for range 200 {
				c := s.subscribe()
				select {
				case text := <-c:
					if len(text) == 0 {
						t.Error("an empty look")
					}
				case <-time.After(10 * time.Second):
					t.Error("a reader got no look")
					return
				}
				s.unsubscribe(c)
			}
		})
	}
	reading.Wait()
	close(stop)
	sending.Wait()
	if n := s.watchers(); n != 0 {
		t.Errorf("%d readers are left", n)
	}
}

// Pages that are opened again and again get the last look, and cause no more than one a second.
func TestPagesCauseFewLooks(t *testing.T) {
	s, _ := sampler(t, options{})
	var looks atomic.Int32
	s.take = func(...string) ([]monitor.Sample, error) {
		looks.Add(1)
		return []monitor.Sample{healthy()}, nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, begin := make(chan struct{}), time.Now()
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	for range 200 {
		page := s.subscribe()
		<-page // at once
		s.unsubscribe(page)
	}
	stop()
	<-ended
	if n, most := int(looks.Load()), 2+int(time.Since(begin)/fresh); n > most {
		t.Errorf("%d looks, want %d at the most", n, most)
	}
}

// A full disk is told once an hour, and not each time that the history is to be written.
func TestFullDiskIsToldSeldom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	c, err := chronicle.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	unwritable(t, path)
	var told atomic.Int32
	logf := func(string, ...any) { told.Add(1) }
	synctest.Test(t, func(t *testing.T) {
		s := NewSampler(c, monitor.Build{}, logf)
		s.take = func(...string) ([]monitor.Sample, error) { return []monitor.Sample{healthy()}, nil }
		s.read = func(string, time.Duration) ([]devicejournal.Event, error) { return nil, nil }
		ctx, stop := context.WithTimeout(t.Context(), retell+retell/2)
		defer stop()
		s.Run(ctx)
	})
	if n := told.Load(); n != 2 {
		t.Errorf("told %d times in one hour and a half", n)
	}
	_ = c.Close() // it fails as well
}

// unwritable has all writes to an open file of this process fail.
func unwritable(t *testing.T, path string) {
	t.Helper()
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }() // its copies stay
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		fd, err := strconv.Atoi(filepath.Base(name))
		if to, _ := os.Readlink(name); err == nil && to == path && fd != int(reader.Fd()) {
			if err := syscall.Dup3(int(reader.Fd()), fd, syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s is not open", path)
}
