// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"
	"io"
)

// A Source names the pages to sample. Exactly one of its first four fields is set.
type Source struct {
	PIDs      []int
	All       bool
	File      string
	Generated bool
	Limit     int // pages of a sample, at most
}

// Take returns a sample. It shows its progress where terminal is one.
func (p Source) Take(ctx context.Context, terminal io.Writer) (Sample, error) {
	switch {
	case p.File != "":
		return sampleFile(p.File, p.Limit)
	case p.Generated:
		return Generate(p.Limit), nil
	}
	s := sampler{limit: p.Limit, all: p.All, time: TimeLimit, terminal: terminal}
	if !p.All {
		return s.sampleProcesses(ctx, p.PIDs)
	}
	pids, err := allProcesses()
	if err != nil {
		return Sample{}, fmt.Errorf("look for processes: %w", err)
	}
	return s.sampleProcesses(ctx, pids)
}
