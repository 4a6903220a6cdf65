// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show whether a device is healthy",
		ArgsUsage: "[DIR]",
		Description: "Without DIR every device is described. With --quiet only problems are printed, a line each, and the exit code is 2 where it is " +
			"unknown whether a device is healthy: as node-problem-detector reads codes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
			&cli.BoolFlag{Name: flagQuiet, Aliases: []string{"q"}, Usage: "print only problems, a line each"},
		},
		Action: statusAction,
	}
}

// report describes one device; its JSON is an element of the array that status --json prints.
type report struct {
	Dir      string            `json:"dir"`      // mount point; empty where it is unknown
	Answer   string            `json:"answer"`   // ok, timeout, dead, elsewhere or error
	Health   string            `json:"health"`   // healthy or degraded
	Problems []swapdev.Problem `json:"problems"` // why it is degraded; empty for a healthy device
	Loop     *loopReport       `json:"loop"`     // the main loop device; null for none
	Loops    []loopReport      `json:"loops"`    // all of them, in the order of their places in the data file
	Swap     *swapReport       `json:"swap"`     // all swap areas together; null when it is not used as swap
	Usage    *swapdev.Usage    `json:"usage"`    // of the swap areas; null when it is not used as swap
	Zswap    host.ZswapUse     `json:"zswap"`    // in front of all swap areas of the machine; zeros when it is not used as swap
	Memory   *swapdev.Memory   `json:"memory"`   // that it takes, with zswap's part; null where it does not answer
	Slots    *slotsReport      `json:"slots"`    // when the kernel frees their slots; null if unknown
	// ReadTime and WriteTime are means since the device was made; 0 where the loop devices have
	// counted requests of other files too.
	ReadTime  swapdev.Split  `json:"read_time"`
	WriteTime swapdev.Split  `json:"write_time"`
	Status    *status.Status `json:"status"` // what the device says of itself; null where it does not answer

	title      string    // its name in messages
	now        time.Time // of the answer
	use        swapdev.SwapUse
	zswapWords string
	unseen     bool // it is unknown whether it is used as swap
	hidden     bool // /proc/swaps does not show all of its areas
}

// slotsReport is the policy for swap slots.
type slotsReport struct {
	Policy ballast.Policy `json:"policy"` // auto, free or keep
	PID    int            `json:"pid"`    // the process that holds the ballast, 0 for none
}

// loopReport is one loop device.
type loopReport struct {
	Path      string `json:"path"`       // path of the loop device
	DirectIO  bool   `json:"direct_io"`  // whether it uses direct I/O
	Autoclear bool   `json:"autoclear"`  // whether it goes with its last user
	BlockSize uint64 `json:"block_size"` // its logical block size
	Offset    uint64 `json:"offset"`     // where its slice of the data file begins
	Size      uint64 `json:"size"`       // size
	// Swap is the swap area on it, or null.
	Swap *swapReport `json:"swap"`
}

// swapReport is a swap area, or several, as the kernel counts it.
type swapReport struct {
	Size     uint64 `json:"size"`     // size of the area
	Used     uint64 `json:"used"`     // used slots, as in /proc/swaps
	Priority int    `json:"priority"` // priority
}

func statusAction(c *cli.Context) error {
	if c.NArg() > 1 {
		return usageError("status: one DIR at most%s", didYouMean(c, c.Args().Get(1), nil))
	}
	if c.Bool(flagQuiet) {
		return quietStatus(c)
	}
	dirs, err := dirsNamed(c, c.Args().Slice())
	if err != nil {
		return err
	}
	found, err := swapdev.Find(dirs...)
	if err != nil && !errors.Is(err, swapdev.ErrNotRunning) {
		return err
	}
	absent := swapdev.ErrNotRunning.Error()
	if err != nil {
		absent = err.Error()
	}
	reports := make([]report, len(found))
	for i, d := range found {
		reports[i] = newReport(d, time.Now())
	}
	if err := printReports(c, reports, absent); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return exitWith(healthCode(reports))
}

// quietStatus prints the problems of devices. It exits with exitUnknown where there is no device,
// or none can be looked for, since a monitor that asks expects one.
func quietStatus(c *cli.Context) error {
	if c.Bool("json") {
		return usageError("status: --%s and --json exclude each other", flagQuiet)
	}
	dirs, err := dirsNamed(c, c.Args().Slice())
	if err != nil {
		return err
	}
	found, err := swapdev.Find(dirs...)
	if err == nil && len(found) == 0 {
		err = swapdev.ErrNotRunning
	}
	if err != nil {
		return &exitError{code: exitUnknown, cause: err}
	}
	code := exitOK
	for _, d := range found {
		for _, p := range swapdev.Diagnose(d, time.Now()) {
			code = exitFailure
			if _, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", d.Word(), term.Printable(p.String())); err != nil {
				return fmt.Errorf("write standard output: %w", err)
			}
		}
	}
	return exitWith(code)
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

func newReport(d swapdev.Device, now time.Time) report {
	r := report{Dir: d.Dir, Answer: d.Answer(), Health: "healthy", Problems: swapdev.Diagnose(d, now), Status: d.Status, title: d.Title(), now: now}
	if len(r.Problems) > 0 {
		r.Health = "degraded"
	}
	if m := d.Memory(); d.Status != nil {
		r.Memory = &m
	}
	r.Loops = make([]loopReport, len(d.Loops)) // not nil: it is printed as a JSON array
	for i, l := range d.Loops {
		r.Loops[i] = loopReport{Path: l.Path, DirectIO: l.DirectIO, Autoclear: l.Autoclear, BlockSize: l.BlockSize,
			Offset: l.Offset, Size: l.Size, Swap: newSwapReport(d.SwapOn(l.Path))}
		if l.Path == d.Name() {
			r.Loop = &r.Loops[i]
		}
	}
	r.unseen, r.hidden = d.Unseen != nil, slices.ContainsFunc(d.Swaps, func(s loopsetup.Swap) bool { return s.Hidden })
	r.ReadTime, r.WriteTime = d.Splits()
	r.Swap, r.Usage, r.use = newSwapReport(d.Swap()), swapdev.NewUsage(d), d.SwapUse
	r.Zswap, r.zswapWords = d.SwapUse.Zswap, d.ZswapWords()
	if p := d.SwapUse.Slots; r.Swap != nil && p.Policy != "" {
		r.Slots = &slotsReport{Policy: p.Policy, PID: p.PID}
	}
	return r
}

func newSwapReport(s *loopsetup.Swap) *swapReport {
	if s == nil {
		return nil
	}
	return &swapReport{Size: s.Size, Used: s.Used, Priority: s.Priority}
}

// printReports prints the reports, and absent in words if there are none.
func printReports(c *cli.Context, reports []report, absent string) error {
	w := c.App.Writer
	if c.Bool("json") {
		return printJSON(w, map[string][]report{"zramfs": reports})
	}
	if len(reports) == 0 {
		_, err := fmt.Fprintln(w, absent)
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

// print writes the report in words: first the problems and their fixes, then a line for each side
// of the device.
func (r report) print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s%s\n", term.Printable(r.title), r.Health, r.uptime())
	for _, p := range r.Problems {
		fmt.Fprintf(&out, "  %s\n", term.Printable(p.String()))
	}
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, side := range r.sides() {
		if side.text != "" {
			fmt.Fprintf(lines, "  %s\t%s\n", term.Printable(side.name), term.Printable(side.text))
		}
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, out.String())
	return err
}
