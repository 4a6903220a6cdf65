// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector makes stacks larger.

package codec

import (
	"runtime/debug"
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
)

// A call that needs more stack than is allowed here ends the test binary.
func TestF020StackUnder64KiB(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 10))
	eachAlgorithm(t, every(), func(t *testing.T, _ string, w *worker) {
		done := make(chan error) // a new goroutine begins with the smallest stack
		for _, page := range codectest.Generated()[:100] {
			go func() {
				_, _, err := w.roundTrip(page)
				done <- err
			}()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}
