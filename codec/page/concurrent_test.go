// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// F012 at this level: any number of goroutines may use one decoder, each with pages of its own.
func TestF012OneDecoderForAll(t *testing.T) {
	const workers = 64
	eachPair(t, func(t *testing.T, p pair) {
		var group sync.WaitGroup
		for w := range workers {
			page := codectest.Generated()[w]
			object := p.object(t, page)
			if object == nil {
				continue
			}
			group.Go(func() {
				back := make([]byte, Size)
				for range 1000 / codectest.Stride() {
					if err := p.dec.Decompress(back, object); err != nil || !bytes.Equal(back, page) {
						t.Errorf("worker %d: came back different: %v", w, err)
						return
					}
				}
			})
		}
		group.Wait()
	})
}
