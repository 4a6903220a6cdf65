// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"zramfs/cmd/zramfs/daemon"
	"zramfs/loopsetup"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "say whether a device is well",
		ArgsUsage: "[DIR]",
		Description: "Without DIR every device is described. The exit code is 0 if all are healthy, 1 if one is degraded, " +
			"3 if none is running.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
		},
		Action: statusAction,
	}
}

// report is what status says of one device; its JSON is an element of the array that status --json prints.
type report struct {
	Dir      string         `json:"dir"`
	Health   string         `json:"health"` // healthy or degraded
	Problems []problem      `json:"problems"`
	Loop     *loopReport    `json:"loop"`  // the loop device that counts; null as long as none is attached
	Loops    []loopReport   `json:"loops"` // all of them, in the order of their places in the data file
	Swap     *swapReport    `json:"swap"`  // all swap areas together; null when it is not used as swap
	Status   *daemon.Status `json:"status"`
}

// loopReport is one loop device.
type loopReport struct {
	Path      string `json:"path"`
	DirectIO  bool   `json:"direct_io"`
	Autoclear bool   `json:"autoclear"`
	BlockSize uint64 `json:"block_size"`
	Offset    uint64 `json:"offset"`
	Size      uint64 `json:"size"`
	// Swap is the swap area on it; null when there is none.
	Swap *swapReport `json:"swap"`
}

// swapReport is a swap area, or several, as the kernel counts it.
type swapReport struct {
	Size     uint64 `json:"size"`
	Used     uint64 `json:"used"`
	Priority int    `json:"priority"`
}

func statusAction(c *cli.Context) error {
	if c.NArg() > 1 {
		return usageError("status: one DIR at most")
	}
	all, err := findDevices()
	if err != nil {
		return err
	}
	devices, err := pickDevices(all, c.Args().Slice())
	if err != nil && !errors.Is(err, errNotRunning) {
		return err
	}
	reports := make([]report, len(devices))
	for i, d := range devices {
		reports[i] = newReport(d)
	}
	if err := printReports(c, reports); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return exitWith(healthCode(reports))
}

func healthCode(reports []report) int {
	code := exitNotRunning
	for _, r := range reports {
		if len(r.Problems) > 0 {
			return exitFailure
		}
		code = exitOK
	}
	return code
}

func newReport(d device) report {
	r := report{Dir: d.Dir, Health: "healthy", Problems: diagnose(d), Status: d.Status}
	if len(r.Problems) > 0 {
		r.Health = "degraded"
	}
	r.Loops = make([]loopReport, len(d.Loops)) // not nil: it is printed as a JSON array
	for i, l := range d.Loops {
		r.Loops[i] = loopReport{Path: l.Path, DirectIO: l.DirectIO, Autoclear: l.Autoclear, BlockSize: l.BlockSize,
			Offset: l.Offset, Size: l.Size, Swap: newSwapReport(d.swapOn(l.Path))}
		if l.Path == d.name() {
			r.Loop = &r.Loops[i]
		}
	}
	r.Swap = newSwapReport(d.swap())
	return r
}

func newSwapReport(s *loopsetup.Swap) *swapReport {
	if s == nil {
		return nil
	}
	return &swapReport{Size: s.Size, Used: s.Used, Priority: s.Priority}
}

func printReports(c *cli.Context, reports []report) error {
	w := c.App.Writer
	if c.Bool("json") {
		return printJSON(w, map[string][]report{"zramfs": reports})
	}
	if len(reports) == 0 {
		where := ""
		if c.Args().Present() {
			where = " at " + c.Args().First()
		}
		_, err := fmt.Fprintf(w, "zramfs is not running%s\n", where)
		return err
	}
	for i, r := range reports {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := r.print(w); err != nil {
			return err
		}
	}
	return nil
}

// print writes the report in words: what is wrong and how to mend it first, then a line for each side of the device.
func (r report) print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s%s\n", r.Dir, r.Health, r.uptime())
	for _, p := range r.Problems {
		fmt.Fprintf(&out, "  %s\n", p)
	}
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, side := range r.sides() {
		if side.text != "" {
			fmt.Fprintf(lines, "  %s\t%s\n", side.name, side.text)
		}
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, out.String())
	return err
}
