// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
