// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
)

// firstCross is the smallest batch of the search: the engine takes no smaller one.
const firstCross = 256

// lastCross is the largest batch of the search below whole GB.
const lastCross = 1 << 17

// crossover finds the smallest batch, in powers of two, from which on the engine alone is faster
// than the CPU alone. It also compares them at 1, 2, 3 and 5 GB.
func (c *bulkCheck) crossover(name string, op bulk.Op, e *gpu.Engine, planner *bulk.Planner) error {
	what := fmt.Sprintf("%s: %s, %s", name, op, e.Path())
	found := 0
	for size := firstCross; size <= min(lastCross, c.made.N); size *= 2 {
		cpu, engine, err := c.sideBySide(planner, op, size, c.tries)
		if err != nil {
			return err
		}
		if engine <= cpu {
			found = 0
		} else if found == 0 {
			found = size
		}
	}
	text := "the GPU is not faster at any size"
	if found > 0 {
		text = fmt.Sprintf("%.1f MB", float64(found)*pageSize/1e6)
	}
	c.tell(finding{Criterion: "G.117", What: what + ": crossover", Value: float64(found), Unit: "pages", Text: text})
	for _, gb := range []int{1, 2, 3, 5} {
		size := gb * 1e9 / pageSize
		if size > c.made.N {
			break
		}
		cpu, engine, err := c.sideBySide(planner, op, size, 2)
		if err != nil {
			return err
		}
		c.least("G.117", fmt.Sprintf("%s: GPU beside CPU at %d GB", what, gb), engine/cpu, "", 1)
	}
	return nil
}

// sideBySide measures each alone, in GB/s.
func (c *bulkCheck) sideBySide(planner *bulk.Planner, op bulk.Op, size, times int) (cpu, engine float64, err error) {
	planner.SetMode(bulk.CPUAlone)
	if cpu, _, err = c.best(planner, op, size, times); err != nil {
		return 0, 0, err
	}
	planner.SetMode(bulk.EnginesAlone)
	engine, _, err = c.best(planner, op, size, times)
	return cpu, engine, err
}
