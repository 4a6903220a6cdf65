// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/zramfs/zramfs/internal/procpages"
)

// copyPages returns a copy of at most maxPages resident anonymous pages of the
// stopped group, evenly spread over all that it has.
func (g group) copyPages(ctx context.Context, maxPages int) ([]byte, error) {
	pids, _, err := g.processes()
	if err != nil {
		return nil, err
	}
	var total int64
	for _, pid := range pids {
		count, err := countPages(ctx, pid)
		if err != nil {
			return nil, err
		}
		total += count
	}
	if total == 0 {
		return nil, errors.New("no resident anonymous pages")
	}
	sample := procpages.NewSample(int(min(total, int64(maxPages))), total, 0)
	for _, pid := range pids {
		if err := sample.Add(ctx, pid); err != nil {
			return nil, err
		}
	}
	return sample.Pages(), nil
}

// countPages returns how many pages of a process can be sampled.
func countPages(ctx context.Context, pid int) (count int64, err error) {
	memory, err := procpages.Open(pid)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	err = memory.Walk(ctx, func(int64) error {
		count++
		return nil
	})
	return count, err
}
