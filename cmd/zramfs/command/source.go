// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// A pageSource is where the flags say that pages come from: one of the fields up to generated.
type pageSource struct {
	pids      []int
	all       bool
	file      string
	generated bool
	limit     int // pages
}

// readPageSource reads those flags, of which one may be given and, unless pages can be generated,
// must be.
func readPageSource(c *cli.Context, name string, flags ...string) (pageSource, error) {
	var from pageSource
	var given []string
	for _, flag := range flags {
		if c.IsSet(flag) {
			given = append(given, "--"+flag)
		}
	}
	from.all, from.file, from.generated = c.Bool(flagAll), c.String(flagFile), c.Bool(flagGenerated)
	switch {
	case len(given) > 1:
		return from, usageError("%s: mutually exclusive arguments: %s", name, strings.Join(given, " "))
	case c.IsSet(flagFile) && from.file == "":
		return from, usageError("%s: --file is empty", name)
	case c.IsSet(flagPID):
		return from, from.readPIDs(c, name)
	}
	if name == "bench" && len(given) == 0 {
		from.generated = true
	}
	if !from.all && from.file == "" && !from.generated {
		return from, usageError("%s: say what to look at: --%s", name, strings.Join(flags, ", --"))
	}
	return from, nil
}

func (p *pageSource) readPIDs(c *cli.Context, name string) error {
	seen := map[int]bool{}
	for _, pid := range c.IntSlice(flagPID) {
		if pid <= 0 {
			return usageError("%s: %d is not the number of a process", name, pid)
		}
		if !seen[pid] {
			p.pids = append(p.pids, pid)
		}
		seen[pid] = true
	}
	if len(p.pids) == 0 {
		return usageError("%s: --pid is empty", name)
	}
	return nil
}

// take returns the pages. It shows its progress on a terminal.
func (p pageSource) take(ctx context.Context, terminal io.Writer) (pageSample, error) {
	switch {
	case p.file != "":
		return sampleFile(p.file, p.limit)
	case p.generated:
		return generatedSample(p.limit), nil
	}
	s := sampler{limit: p.limit, all: p.all, time: sampleTime, terminal: terminal}
	if !p.all {
		return s.sampleProcesses(ctx, p.pids)
	}
	pids, err := allProcesses()
	if err != nil {
		return pageSample{}, fmt.Errorf("look for processes: %w", err)
	}
	return s.sampleProcesses(ctx, pids)
}
