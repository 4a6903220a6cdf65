// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/store"
)

// An extra device may end while a worker is about to be ready, before the keeper can tell the
// worker.
func TestWorkerLearnsOfExtraDevicesOnceReady(t *testing.T) {
	k := &keeper{extraDevices: extraDevices{there: fusefs.ExtraDevices(0).With(3)}}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{image: &image{}, orders: to}
	p.image.superblock.Store(new([]byte))
	k.inUse(p)
	orders := make(chan keeperMsg, 4)
	go func() {
		receive(from, func(o keeperMsg) { orders <- o })
		close(orders)
	}()
	if o, err := receiveOne(orders); err != nil || o.ExtraDevices == nil || *o.ExtraDevices != fusefs.ExtraDevices(0).With(3) {
		t.Errorf("told %+v, %v", o, err)
	}
	if err := errors.Join(to.Close(), from.Close()); err != nil {
		t.Error(err)
	}
}

// An image is made once: a worker that follows another one has what that stored, also where the
// image is of a later program, whose superblock the keeper cannot read.
func TestImageIsMadeOnce(t *testing.T) {
	logs, _ := quietLogs(t)
	memory, err := store.NewMemory(store.MemoryMemfd)
	if err != nil {
		t.Fatal(err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	orders := make(chan keeperMsg, 4)
	go receive(from, func(o keeperMsg) { orders <- o })
	k, p := &keeper{logger: logs.Logger()}, &process{image: &image{memory: memory}, orders: to}
	for _, want := range []bool{true, false, false} {
		k.serve(p, restarts{})
		if o, err := receiveOne(orders); err != nil || o.Serve == nil || o.Serve.Create != want {
			t.Errorf("told %+v, %v; the image is to be made: %v", o.Serve, err, want)
		}
		k.inUse(p)
		if o, err := receiveOne(orders); err != nil || o.ExtraDevices == nil {
			t.Errorf("told %+v, %v", o, err)
		}
	}
	if p.image.superblock.Load() != nil {
		t.Error("there is a superblock")
	}
	if err := errors.Join(to.Close(), from.Close(), memory.Close()); err != nil {
		t.Error(err)
	}
}

// The worker that serves is told which devices are left when one ends, and the keeper goes on where
// none serves.
func TestWorkerLearnsOfTheEndOfAExtraDevice(t *testing.T) {
	logs, said := quietLogs(t)
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{logger: logs.Logger(), extraDevices: extraDevices{there: fusefs.ExtraDevices(0).With(3).With(5).With(6), keepers: map[int]*extraKeeper{}}}
	end := func(number int) {
		cmd := exec.Command("true")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		k.awaitExtra(number, cmd, ended)
		<-ended
	}
	end(5)
	k.inService.Store(&process{orders: to})
	end(3)
	if got := said(); !slices.Equal(got, []string{"INFO a device has ended number=5 how=\"ended by itself\"", "INFO a device has ended number=3 how=\"ended by itself\""}) {
		t.Errorf("logged %q", got)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	orders := make(chan keeperMsg, 4)
	receive(from, func(o keeperMsg) { orders <- o })
	if len(orders) != 1 {
		t.Fatalf("told %d times", len(orders))
	}
	if o := <-orders; o.ExtraDevices == nil || *o.ExtraDevices != fusefs.ExtraDevices(0).With(6) {
		t.Errorf("told %+v", o)
	}
	if err := from.Close(); err != nil {
		t.Error(err)
	}
}
