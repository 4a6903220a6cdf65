// SPDX-License-Identifier: Apache-2.0

package driver

import "testing"

// What handing a function to the context's thread costs.
func BenchmarkDo(b *testing.B) {
	_, c := open(b, SimulatedDevice{}, Options{})
	for b.Loop() {
		if err := c.Do(func(*Thread) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// What a range costs to get and put back where nothing has to be allocated.
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
