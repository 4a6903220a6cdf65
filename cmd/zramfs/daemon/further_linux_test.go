// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"testing"

	"github.com/zramfs/zramfs/fusefs"
)

// A further device may end while a worker is about to be ready, before the keeper can tell the
// worker.
func TestWorkerLearnsOfFurtherDevicesOnceReady(t *testing.T) {
	k := &keeper{further: furtherDevices{there: fusefs.Further(0).With(3)}}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{image: &image{}, orders: to}
	p.image.superblock.Store(new([]byte))
	k.inUse(p)
	orders := make(chan order, 4)
	go func() {
		receive(from, func(o order) { orders <- o })
		close(orders)
	}()
	if o, err := receiveOne(orders); err != nil || o.Further == nil || *o.Further != fusefs.Further(0).With(3) {
		t.Errorf("told %+v, %v", o, err)
	}
	if err := errors.Join(to.Close(), from.Close()); err != nil {
		t.Error(err)
	}
}
