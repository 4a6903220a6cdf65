// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"path"
	"time"
)

// BlockTimes counts the requests that a block device has completed since it exists, and their
// time together: of each from when the block layer took it to its end.
type BlockTimes struct {
	Reads     uint64        `json:"reads"`
	Writes    uint64        `json:"writes"`
	ReadTime  time.Duration `json:"read_ns"` // in whole milliseconds
	WriteTime time.Duration `json:"write_ns"`
}

// BlockTimes returns the counters of a block device, named as /dev/loop3
// (Documentation/block/stat.rst of the kernel).
func (r Root) BlockTimes(device string) (BlockTimes, error) {
	text, err := r.Read(path.Join("sys/block", path.Base(device), "stat"))
	if err != nil {
		return BlockTimes{}, err
	}
	var b BlockTimes
	var readMs, writeMs, other uint64
	if _, err := fmt.Sscan(text, &b.Reads, &other, &other, &readMs, &b.Writes, &other, &other, &writeMs); err != nil {
		return BlockTimes{}, fmt.Errorf("counters of %s: %w", device, err)
	}
	b.ReadTime, b.WriteTime = time.Duration(readMs)*time.Millisecond, time.Duration(writeMs)*time.Millisecond
	return b, nil
}

// Since returns what was completed after an earlier look at the same devices.
func (b BlockTimes) Since(c BlockTimes) BlockTimes {
	return BlockTimes{b.Reads - c.Reads, b.Writes - c.Writes, b.ReadTime - c.ReadTime, b.WriteTime - c.WriteTime}
}

// Plus returns the counters of two devices together.
func (b BlockTimes) Plus(c BlockTimes) BlockTimes {
	return BlockTimes{b.Reads + c.Reads, b.Writes + c.Writes, b.ReadTime + c.ReadTime, b.WriteTime + c.WriteTime}
}
