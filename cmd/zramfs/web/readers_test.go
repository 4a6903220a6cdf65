// SPDX-License-Identifier: Apache-2.0

package web

import (
	"sync"
	"testing"
	"time"
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
				c, ok := s.subscribe()
				if !ok {
					t.Error("four readers are too many")
					return
				}
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
