// SPDX-License-Identifier: Apache-2.0

package bulk_test

import (
	"context"
	"fmt"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
)

// A batch of 1,000 pages in, their objects and a report out; and back again.
func Example() {
	algorithm, err := codec.Parse("lz4")
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu, err := bulk.NewCPU(algorithm, 0) // a worker on each core
	if err != nil {
		fmt.Println(err)
		return
	}
	planner, err := bulk.NewPlanner(cpu, nil, bulk.Config{Items: 1000}) // nil: no other engines
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = planner.Close() }() // closes its engines: there are none

	objects := bulk.NewBatch(bulk.Compress, 1000)
	objects.Pages = make([]byte, 1000*codec.PageSize)
	for i := range objects.Pages {
		objects.Pages[i] = byte(i / 64)
	}
	var report bulk.Report
	if err := planner.Run(context.Background(), objects, &report); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Op, report.Items, "pages,", report.Verdicts[bulk.Done], "done, shorter:", report.Objects < 1000*codec.PageSize)
	fmt.Println("by the CPU:", report.Share("cpu"), "with a time:", report.Elapsed > 0)

	pages := *objects // the same objects, where they are
	pages.Op, pages.Pages = bulk.Decompress, make([]byte, 1000*codec.PageSize)
	if err := planner.Run(context.Background(), &pages, &report); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Op, "equal:", string(pages.Pages) == string(objects.Pages))
	// Output:
	// compress 1000 pages, 1000 done, shorter: true
	// by the CPU: 1 with a time: true
	// decompress equal: true
}
