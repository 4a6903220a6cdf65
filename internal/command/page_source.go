// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/sample"
)

// readPageSource reads the flags for a source of pages. At most one may be given; one is required
// except for bench, which generates pages by default.
func readPageSource(c *cli.Context, name string, flags ...string) (from sample.Source, err error) {
	var given []string
	for _, flag := range flags {
		if c.IsSet(flag) {
			given = append(given, "--"+flag)
		}
	}
	from.All, from.File, from.Generated = c.Bool(flagAll), c.String(flagFile), c.Bool(flagGenerated)
	switch {
	case len(given) > 1:
		return from, usageError("%s: mutually exclusive arguments: %s", name, strings.Join(given, " "))
	case c.IsSet(flagFile) && from.File == "":
		return from, usageError("%s: --file is empty", name)
	case c.IsSet(flagPID):
		from.PIDs, err = readPIDs(c, name)
		return from, err
	}
	if name == "bench" && len(given) == 0 {
		from.Generated = true
	}
	if !from.All && from.File == "" && !from.Generated {
		return from, usageError("%s: name a source of pages: --%s", name, strings.Join(flags, ", --"))
	}
	return from, nil
}

// readPIDs reads --pid, without repeated processes.
func readPIDs(c *cli.Context, name string) (pids []int, err error) {
	seen := map[int]bool{}
	for _, pid := range c.IntSlice(flagPID) {
		if pid <= 0 {
			return nil, usageError("%s: %d is not the number of a process", name, pid)
		}
		if !seen[pid] {
			pids = append(pids, pid)
		}
		seen[pid] = true
	}
	if len(pids) == 0 {
		return nil, usageError("%s: --pid is empty", name)
	}
	return pids, nil
}
