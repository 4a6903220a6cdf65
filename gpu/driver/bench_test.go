// SPDX-License-Identifier: Apache-2.0

package driver

import "testing"

// The cost of handing a function to the context's thread.
func BenchmarkDo(b *testing.B) {
	_, c := open(b, SimulatedDevice{}, Options{})
	for b.Loop() {
		if err := c.Do(func(*Thread) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of getting a range and putting it back where nothing has to be allocated.
func BenchmarkDevicePool(b *testing.B) {
	_, c := open(b, SimulatedDevice{}, Options{})
	p := NewDevicePool(c, 1<<20)
	for b.Loop() {
		at, err := p.Get(4096)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Put(at); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
}
