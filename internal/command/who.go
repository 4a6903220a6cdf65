// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/term"
)

func whoCommand() *cli.Command {
	return &cli.Command{
		Name:  "who",
		Usage: "show which processes have memory in swap",
		Description: "The processes with the most in swap come first. It counts private memory in every kind of swap, and pages that " +
			"processes share after a fork in each of them; shared memory and tmpfs do not count. COMMAND is the name that ps -o comm " +
			"shows: arguments may lie in swap themselves.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "lines", Aliases: []string{"l"}, DefaultText: "all", Usage: "show the first `N` processes"},
			&cli.BoolFlag{Name: "bytes", Aliases: []string{"b"}, Usage: "print sizes in bytes"},
			&cli.BoolFlag{Name: "noheadings", Aliases: []string{"n"}, Usage: "print neither headings nor the total"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: whoAction,
	}
}

// whoReport is the processes with memory in swap; its JSON is what --json prints.
type whoReport struct {
	Processes []swappedProcess `json:"processes"` // the first ones, as --lines says
	Count     int              `json:"count"`     // of all processes with memory in swap
	Total     uint64           `json:"total"`     // of all of them
}

// swappedProcess is one process in it.
type swappedProcess struct {
	PID     int    `json:"pid"`     // the process ID
	Swap    uint64 `json:"swap"`    // its memory in swap
	Command string `json:"command"` // its name, as ps -o comm shows it
	Cgroup  string `json:"cgroup"`  // of the memory controller; empty if the kernel shows none
}

func whoAction(c *cli.Context) error {
	if c.Args().Present() {
		return usageError("who: takes no argument %q", c.Args().First())
	}
	if c.IsSet("lines") && c.Int("lines") < 1 {
		return usageError("who: --lines %d: must be 1 at least", c.Int("lines"))
	}
	all, err := host.Local.SwappedProcesses()
	if err != nil {
		return err
	}
	r := newWhoReport(all, c.Int("lines"))
	if c.Bool(flagJSON) {
		err = printJSON(c.App.Writer, map[string]whoReport{"who": r})
	} else {
		_, err = io.WriteString(c.App.Writer, r.text(c.Bool("bytes"), c.Bool("noheadings")))
	}
	if err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// newWhoReport reports the first lines of all processes, or all for 0.
func newWhoReport(all []host.Swapped, lines int) whoReport {
	r := whoReport{Processes: []swappedProcess{}, Count: len(all)}
	for i, p := range all {
		r.Total += p.Bytes
		if lines == 0 || i < lines {
			r.Processes = append(r.Processes, swappedProcess{PID: p.PID, Swap: p.Bytes, Command: p.Name, Cgroup: p.Group})
		}
	}
	return r
}

func (r whoReport) text(bytes, noHeadings bool) string {
	t := term.Table{Columns: []term.Column{{Name: "PID", Right: true}, {Name: "IN-SWAP", Right: true}, {Name: "COMMAND"},
		{Name: "CGROUP", Elastic: true, Truncate: true}}}
	for _, p := range r.Processes {
		t.Rows = append(t.Rows, []string{strconv.Itoa(p.PID), formatCell(byteSize(p.Swap), bytes), p.Command, p.Cgroup})
	}
	text := t.Render(term.Style{NoHeadings: noHeadings, UTF8: term.UTF8(), Width: term.Width()})
	if noHeadings {
		return text
	}
	if r.Count == 0 {
		return "no process has memory in swap\n"
	}
	return text + fmt.Sprintf("%s in swap of %s\n", formatCell(byteSize(r.Total), bytes), term.Plural(r.Count, "process", "processes"))
}
