// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryUse is what the first fields of mm_stat tell, in bytes.
type memoryUse struct {
	Original   uint64 `json:"orig_data_size"`
	Compressed uint64 `json:"compr_data_size"`
	Used       uint64 `json:"mem_used_total"`
	// Overhead is Used over Compressed: what the allocator, and the index where it
	// is counted, add.
	Overhead float64 `json:"used_per_compressed_byte"`
	// Cost is Used over Original: the memory that a stored byte takes.
	Cost float64 `json:"used_per_stored_byte"`
}

// ratio returns how much smaller the data became, allocator left out.
func (m memoryUse) ratio() float64 { return quotient(m.Original, m.Compressed) }

// readMemory reads a device's mm_stat; it returns nil where there is none.
func readMemory(device *device) (*memoryUse, error) {
	if device.mmStat == "" {
		return nil, nil
	}
	text, err := os.ReadFile(device.mmStat)
	if err != nil {
		return nil, fmt.Errorf("read memory of %s: %w", device.name, err)
	}
	use, err := parseMemory(string(text))
	if err != nil {
		return nil, fmt.Errorf("read memory of %s: %w", device.name, err)
	}
	return &use, nil
}

func parseMemory(text string) (memoryUse, error) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return memoryUse{}, fmt.Errorf("parse mm_stat: %d fields in %q", len(fields), text)
	}
	var values [3]uint64
	for i := range values {
		var err error
		if values[i], err = strconv.ParseUint(fields[i], 10, 64); err != nil {
			return memoryUse{}, fmt.Errorf("parse mm_stat: %w", err)
		}
	}
	use := memoryUse{Original: values[0], Compressed: values[1], Used: values[2]}
	use.Overhead = quotient(use.Used, use.Compressed)
	use.Cost = quotient(use.Used, use.Original)
	return use, nil
}

// quotient returns 0 when there is nothing to divide by.
func quotient(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
