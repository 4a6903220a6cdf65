// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/gpu"
	"github.com/zramfs/zramfs/gpu/driver"
)

// A batch in, its result with timings out, from a device that is simulated; driver.CUDA instead of
// the simulator's Driver finds a real one.
func Example() {
	engines, err := gpu.OpenAll(driver.NewSimulator(driver.SimulatedDevice{}).Driver, gpu.Options{Batch: 32, Path: gpu.Copied, Compress: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	algorithm, err := codec.Parse("lz4")
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu, err := bulk.NewCPU(algorithm, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	planner, err := bulk.NewPlanner(cpu, []bulk.Engine{engines[0]}, bulk.Config{Mode: bulk.EnginesAlone})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := planner.Close(); err != nil {
			fmt.Println(err)
		}
	}()

	batch := bulk.NewBatch(bulk.Compress, 100)
	batch.Pages = bytes.Repeat([]byte("a page of memory, or what is like one... "), 10_000)[:100*codec.PageSize]
	var report bulk.Report
	if err := planner.Run(context.Background(), batch, &report); err != nil {
		fmt.Println(err)
		return
	}
	done := report.Engines[1]
	fmt.Println(done.Name, "compressed more than half:", done.Items > 50, "with times:", done.Times.H2D > 0 && done.Times.Kernel > 0 && done.Times.D2H > 0)
	fmt.Println("at a ratio above 10:", done.Ratio() > 10, "at some speed:", done.BytesPerSecond() > 0)

	back := *batch
	back.Op, back.Pages = bulk.Decompress, make([]byte, len(batch.Pages))
	if err := planner.Run(context.Background(), &back, &report); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("and back, equal:", bytes.Equal(back.Pages, batch.Pages))
	// Output:
	// gpu0 compressed more than half: true with times: true
	// at a ratio above 10: true at some speed: true
	// and back, equal: true
}
