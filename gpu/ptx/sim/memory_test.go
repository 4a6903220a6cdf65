// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/gpu/ptx"
	"github.com/zramfs/zramfs/gpu/ptx/sim"
)

func TestMemoryIsLimited(t *testing.T) {
	m := sim.NewMemory(1000)
	a, err := m.Alloc(sim.Spec{Name: "a", Size: 600})
	if err != nil {
		t.Fatal(err)
	}
	if a%256 != 0 {
		t.Errorf("address %#x", a)
	}
	for _, size := range []int{401, 0, -1, 5 << 30} {
		if _, err := m.Alloc(sim.Spec{Name: "b", Size: size}); !errors.Is(err, sim.ErrOutOfMemory) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	b, err := m.Alloc(sim.Spec{Name: "b", Size: 400})
	if err != nil {
		t.Fatal(err)
	}
	if free, total := m.Info(); free != 0 || total != 1000 || m.Allocations() != 2 {
		t.Errorf("%d of %d free after %d allocations", free, total, m.Allocations())
	}
	if got := strings.Join(m.Leaks(), ", "); got != "a (600 bytes), b (400 bytes)" {
		t.Error(got)
	}
	for _, addr := range []uint64{a, b} {
		if err := m.Free(addr); err != nil {
			t.Error(err)
		}
	}
	if free, _ := m.Info(); free != 1000 || len(m.Leaks()) != 0 {
		t.Errorf("%d free, left over: %v", free, m.Leaks())
	}
}

func TestWrongFrees(t *testing.T) {
	m := sim.NewMemory(1000)
	a, _ := m.Alloc(sim.Spec{Name: "a", Size: 100})
	for _, addr := range []uint64{a + 256, a - 1, 0, 1 << 63} {
		if err := m.Free(addr); !errors.Is(err, sim.ErrOutOfBounds) {
			t.Errorf("%#x: %v", addr, err)
		}
	}
	if err := m.Free(a); err != nil {
		t.Fatal(err)
	}
	if err := m.Free(a); !errors.Is(err, sim.ErrOutOfBounds) || !strings.Contains(err.Error(), "a+0") {
		t.Errorf("twice: %v", err)
	}
}

func TestCopiesAreChecked(t *testing.T) {
	m := sim.NewMemory(1000)
	a, _ := m.Alloc(sim.Spec{Name: "a", Size: 100, Stride: 10})
	ten := make([]byte, 10)
	for _, offset := range []uint64{91, 100, ^uint64(0), 1 << 31} {
		for _, err := range []error{m.CopyIn(a+offset, ten), m.CopyOut(ten, a+offset), m.Fill(a+offset, 1, 10), m.Copy(a, a+offset, 10), m.Discard(a+offset, 10), m.Copy(a+offset, a, 10)} {
			if !errors.Is(err, sim.ErrOutOfBounds) {
				t.Errorf("offset %d: %v", int64(offset), err)
			}
		}
	}
	if err := m.CopyIn(a+95, ten); err == nil || !strings.Contains(err.Error(), "10 bytes at a[9]+5 of 100 bytes") {
		t.Error(err)
	}
	if err := errors.Join(m.CopyIn(a+90, ten), m.CopyOut(nil, 0), m.Copy(0, 0, 0), m.Fill(a, 7, 90)); err != nil {
		t.Error(err)
	}
	if err := m.Free(a); err != nil {
		t.Fatal(err)
	}
	if err := m.CopyIn(7<<32, ten); !errors.Is(err, sim.ErrOutOfBounds) || !strings.Contains(err.Error(), "in no buffer") {
		t.Errorf("nowhere: %v", err)
	}
	if err := m.CopyOut(ten, a+12); !errors.Is(err, sim.ErrUseAfterFree) || !strings.Contains(err.Error(), "a[1]+2") {
		t.Errorf("after free: %v", err)
	}
}

func TestFreshMemoryIsPoisoned(t *testing.T) {
	m := sim.NewMemory(1000)
	a, _ := m.Alloc(sim.Spec{Name: "a", Size: 4})
	got := make([]byte, 4)
	if err := errors.Join(m.Fill(a+1, 1, 2), m.CopyOut(got, a)); err != nil || !bytes.Equal(got, []byte{0xcc, 1, 1, 0xcc}) {
		t.Errorf("%x, %v", got, err)
	}
}

// readKernel reads a word.
func readKernel(t testing.TB) *ptx.Kernel {
	return build(t, 32, func(b *ptx.Builder) { b.ParamGlobal("in").LoadU32() })
}

// writeKernel has one lane write a word.
func writeKernel(t testing.TB) *ptx.Kernel {
	return build(t, 32, func(b *ptx.Builder) {
		out := b.ParamGlobal("out")
		b.When(b.LaneID().Eq(n(0)), func() { out.StoreU32(n(0x01020304)) })
	})
}

// A copy on the device is initialised where its source is.
func TestCopiesCarryInitialisation(t *testing.T) {
	d := newDevice()
	from, to := alloc(t, d, sim.Spec{Name: "from", Size: 8}, []byte{1, 2, 3, 4}), alloc(t, d, sim.Spec{Name: "to", Size: 8}, nil)
	if err := d.Memory.Copy(to, from, 8); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Launch(readKernel(t), 1, 32, to); err != nil {
		t.Error(err)
	}
	if _, err := d.Launch(readKernel(t), 1, 32, to+4); !errors.Is(err, sim.ErrUninitialised) {
		t.Error(err)
	}
}

func TestDiscard(t *testing.T) {
	d := newDevice()
	a := alloc(t, d, sim.Spec{Name: "a"}, make([]byte, 12))
	if err := d.Memory.Discard(a+4, 4); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint64]error{0: nil, 4: sim.ErrUninitialised, 8: nil} {
		if _, err := d.Launch(readKernel(t), 1, 32, a+offset); !errors.Is(err, want) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
	if got := read(t, d, a+3, 2); !bytes.Equal(got, []byte{0, 0xcc}) {
		t.Errorf("%x", got)
	}
	if err := d.Memory.Discard(a+4, 9); !errors.Is(err, sim.ErrOutOfBounds) {
		t.Error(err)
	}
	host := []byte{1, 2, 3, 4}
	mapped, err := d.Memory.Map(sim.Spec{Name: "host"}, host)
	if err = errors.Join(err, d.Memory.Discard(mapped, 4)); err != nil || host[3] != 4 {
		t.Errorf("%x, %v", host, err)
	}
}

func TestProtect(t *testing.T) {
	d := newDevice()
	a := alloc(t, d, sim.Spec{Name: "a", Size: 8}, nil)
	for range 2 {
		if _, err := d.Launch(writeKernel(t), 1, 32, a); err != nil {
			t.Error(err)
		}
		if err := d.Memory.Protect(a, sim.ReadOnly); err != nil {
			t.Error(err)
		}
		if _, err := d.Launch(writeKernel(t), 1, 32, a); !errors.Is(err, sim.ErrReadOnly) {
			t.Error(err)
		}
		if err := d.Memory.Protect(a, sim.ReadWrite); err != nil {
			t.Error(err)
		}
	}
	if err := d.Memory.Protect(a+4, sim.ReadOnly); !errors.Is(err, sim.ErrOutOfBounds) {
		t.Error(err)
	}
}

// Host memory that was mapped is the host's own, until it is freed.
func TestMap(t *testing.T) {
	d := newDevice()
	host := make([]byte, 16)
	a, err := d.Memory.Map(sim.Spec{Name: "host"}, host)
	if err != nil {
		t.Fatal(err)
	}
	if free, total := d.Memory.Info(); free != total || d.Memory.Allocations() != 0 {
		t.Error("host memory counts as the device's")
	}
	if _, err := d.Launch(writeKernel(t), 1, 32, a+8); err != nil || host[8] != 4 || host[11] != 1 {
		t.Errorf("%x, %v", host, err)
	}
	if _, err := d.Launch(readKernel(t), 1, 32, a); err != nil {
		t.Error(err)
	}
	if _, err := d.Launch(readKernel(t), 1, 32, a+16); !errors.Is(err, sim.ErrOutOfBounds) {
		t.Error(err)
	}
	if err := d.Memory.Free(a); err != nil {
		t.Error(err)
	}
	if _, err := d.Launch(writeKernel(t), 1, 32, a); !errors.Is(err, sim.ErrUseAfterFree) {
		t.Error(err)
	}
	if _, err := d.Memory.Map(sim.Spec{Name: "nothing"}, nil); !errors.Is(err, sim.ErrOutOfMemory) {
		t.Error(err)
	}
}

// Many buffers come and go; what lives keeps its bytes, and the last dead keep their names.
func TestManyBuffers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m := sim.NewMemory(64 << 20)
	type kept struct {
		addr    uint64
		content []byte
	}
	var live []kept
	for range 10000 {
		if len(live) > 50 || len(live) > 0 && r.IntN(10) < 3 {
			i := r.IntN(len(live))
			k, got := live[i], make([]byte, len(live[i].content))
			if err := errors.Join(m.CopyOut(got, k.addr), m.Free(k.addr)); err != nil || !bytes.Equal(got, k.content) {
				t.Fatalf("%v: %x, want %x", err, got, k.content)
			}
			if label := m.Label(k.addr + 3); label != "buffer+3" {
				t.Fatalf("just freed: %s", label)
			}
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		content := make([]byte, 1+r.IntN(10000))
		for i := range content {
			content[i] = byte(r.Uint32())
		}
		addr, err := m.Alloc(sim.Spec{Name: "buffer", Size: len(content)})
		if err = errors.Join(err, m.CopyIn(addr, content)); err != nil {
			t.Fatal(err)
		}
		live = append(live, kept{addr, content})
	}
	for _, k := range live {
		if err := m.Free(k.addr); err != nil {
			t.Error(err)
		}
	}
	if free, total := m.Info(); free != total {
		t.Errorf("%d of %d bytes are free", free, total)
	}
}
