// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/zramfs/zramfs/gpu/driver"
	"github.com/zramfs/zramfs/gpu/kernels"
)

// load is a step: the driver translates every kernel.
func (r *rig) load() error {
	return r.onDevice(func(d *device) error {
		p := d.Properties()
		r.tell(finding{What: "built from commit", Text: commit})
		r.tell(finding{What: "device", Text: fmt.Sprintf("%s, %d.%d, %d multiprocessors, %d MHz, %d MiB, L2 %d MiB, %d copiers, %s",
			p.Name, p.Major, p.Minor, p.Multiprocessors, p.ClockKHz/1000, p.Memory>>20, p.L2>>20, p.Copiers, p.PCI)})
		for _, k := range kernels.All() {
			kernel, err := k.Build()
			if err != nil {
				return err
			}
			start := time.Now()
			err = d.Do(func(t *driver.Thread) error {
				info, err := t.Load(kernel)
				if err != nil {
					return err
				}
				r.tell(finding{Criterion: "F050", What: k.Name + " translated", Value: float64(time.Since(start).Milliseconds()), Unit: "ms",
					Text: fmt.Sprintf("%d registers, %d bytes spilled, %d shared", info.Registers, info.Local, info.Shared)})
				if (info.Registers >= 64 || info.Local > 0) && !r.simulated { // the simulator has every register that a kernel names
					return fmt.Errorf("%s: %+v: too many registers or spills", k.Name, info)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		r.proved("H1 F048 F050", "the driver takes every kernel", "under 64 registers, none in memory")
		return nil
	})
}

// addresses is a step: the fifteen address cases.
func (r *rig) addresses() error {
	return r.onDevice(func(d *device) error {
		for _, c := range kernels.AddressCases() {
			if err := r.addressCase(d, c); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			if err := d.release(); err != nil {
				return err
			}
		}
		r.proved("H2", "fifteen cases", fmt.Sprintf("%d blocks each", r.blocks))
		return nil
	})
}

// addressCase launches a case and checks its output.
func (r *rig) addressCase(d *device, c kernels.AddressCase) error {
	k, err := c.Build()
	if err != nil {
		return err
	}
	var in, want []uint32
	for block := range r.blocks {
		words := kernels.AddressInput(block)
		in, want = append(in, words...), append(want, c.Want(words)...)
	}
	from, err := d.place("in", bytesOf(in))
	if err != nil {
		return err
	}
	to, err := d.alloc("out", 4*len(in))
	if err != nil {
		return err
	}
	if err := d.clear(to, 4*len(in)); err != nil {
		return err
	}
	if _, err := d.launch(k, r.blocks, uint64(from), uint64(to)); err != nil {
		return err
	}
	got := make([]byte, 4*len(in))
	if err := d.download(got, to); err != nil {
		return err
	}
	if !slices.Equal(got, bytesOf(want)) {
		return errWrong
	}
	return nil
}

func bytesOf(words []uint32) []byte {
	b := make([]byte, 0, 4*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
