// SPDX-License-Identifier: Apache-2.0

package simkernel

import (
	"testing"
	"time"
)

// A task that takes a lock for reading again while a writer waits for it stands still, as with
// package sync, and so the run fails.
func TestReaderStandsBehindWaitingWriter(t *testing.T) {
	for name, again := range map[string]func(m *RWMutex) bool{
		"RLock":    func(m *RWMutex) bool { m.RLock(); return true },
		"TryRLock": (*RWMutex).TryRLock,
	} {
		got := false
		err := New(1).Run(func() {
			var m RWMutex
			m.RLock()
			Go(m.Lock)
			Sleep(time.Second)
			got = again(&m)
		})
		if got || (err != nil) != (name == "RLock") {
			t.Errorf("%s gets it: %t, %v", name, got, err)
		}
	}
}

// Readers that have waited for one writer go before the next one.
func TestReadersGoBetweenWriters(t *testing.T) {
	for seed := range uint64(20) {
		order, err := orderOf(seed)
		if err != nil || order != "wrrW" {
			t.Errorf("seed %d: %q, %v", seed, order, err)
		}
	}
}

// orderOf is the order in which two writers and two readers get a lock.
func orderOf(seed uint64) (order string, err error) {
	err = New(seed).Run(func() {
		var m RWMutex
		take := func(name string, lock, unlock func()) {
			Go(func() {
				lock()
				order += name
				Sleep(time.Second)
				unlock()
			})
			Sleep(time.Millisecond)
		}
		take("w", m.Lock, m.Unlock)
		take("r", m.RLock, m.RUnlock)
		take("W", m.Lock, m.Unlock)
		take("r", m.RLock, m.RUnlock)
		Sleep(time.Minute)
	})
	return order, err
}
