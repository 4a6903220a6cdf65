// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"encoding/binary"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

// device is a simulated GPU with buffers that know their names.
type device struct {
	testing.TB
	sim.Device
}

// stepLimit is several times what a warp takes for the pages that it gets here.
const stepLimit = 1 << 19

func newDevice(tb testing.TB) *device {
	return &device{tb, sim.Device{Memory: sim.NewMemory(1 << 30), Strict: true, StepLimit: stepLimit}}
}

// build makes a kernel, which must not fail.
func build(tb testing.TB, make func() (*ptx.Kernel, error)) *ptx.Kernel {
	tb.Helper()
	k, err := make()
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// input makes a read-only buffer of these bytes.
func (d *device) input(name string, stride int, content []byte) uint64 {
	d.Helper()
	return d.alloc(sim.Spec{Name: name, Size: len(content), Stride: stride, Access: sim.ReadOnly}, content)
}

// output makes an uninitialised buffer.
func (d *device) output(name string, stride, n int) uint64 {
	d.Helper()
	return d.alloc(sim.Spec{Name: name, Size: stride * n, Stride: stride}, nil)
}

func (d *device) alloc(s sim.Spec, content []byte) uint64 {
	d.Helper()
	address, err := d.Memory.Alloc(s)
	if err != nil {
		d.Fatal(err)
	}
	if err := d.Memory.CopyIn(address, content); err != nil {
		d.Fatal(err)
	}
	return address
}

func (d *device) read(address uint64, n int) []byte {
	d.Helper()
	b := make([]byte, n)
	if err := d.Memory.CopyOut(b, address); err != nil {
		d.Fatal(err)
	}
	return b
}

func words(all []uint32) []byte {
	var b []byte
	for _, v := range all {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// place puts each object into a buffer of its own, at all offsets in a sector, which ends with the
// quad that the object ends in. It returns the arrays that a kernel wants of them.
func (d *device) place(objects [][]byte) (addresses, lengths uint64) {
	d.Helper()
	var at []byte
	var sizes []uint32
	for i, object := range objects {
		skew := i * 7 % sectorBytes
		memory := make([]byte, (skew+len(object)+quadBytes-1)/quadBytes*quadBytes+quadBytes)
		for j := range memory {
			memory[j] = 0xEE
		}
		copy(memory[skew:], object)
		base := d.input("object", 0, memory[:max(len(memory)-quadBytes, quadBytes)])
		at = binary.LittleEndian.AppendUint64(at, base+uint64(skew))
		sizes = append(sizes, uint32(len(object)))
	}
	return d.input("addresses", 8, at), d.input("lengths", 4, words(sizes))
}

// launch runs a kernel with fewer blocks than there is work for, so that warps do several pages.
func (d *device) launch(k *ptx.Kernel, n int, args ...uint64) (sim.Stats, error) {
	warps := k.Threads() / lanes
	return d.Launch(k, max(1, n/(3*warps)), k.Threads(), args...)
}

func (d *device) mustLaunch(k *ptx.Kernel, n int, args ...uint64) sim.Stats {
	d.Helper()
	stats, err := d.launch(k, n, args...)
	if err != nil {
		d.Fatal(err)
	}
	return stats
}
