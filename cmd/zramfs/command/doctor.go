// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/protect"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

// finding is the outcome of one check of the machine.
type finding struct {
	Name   string        `json:"name"` // short and stable
	State  protect.State `json:"state"`
	Detail string        `json:"detail"`
	Mend   string        `json:"mend,omitempty"` // the fix, if there is one
}

// String is the line that doctor prints.
func (f finding) String() string {
	line := fmt.Sprintf("%-4s  %s: %s", f.State, f.Name, f.Detail)
	if f.Mend != "" {
		line += "; fix: " + f.Mend
	}
	return line
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check whether this machine can run a device safely",
		Description: "Changes nothing. fail marks a reason why up would refuse or fail; warn marks a missing protection, " +
			"or a setting that costs speed. Failures come first and the verdict last. The exit code is 1 if a line says fail.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Aliases: []string{"J"}, Usage: "print JSON"},
		},
		Action: doctorAction,
	}
}

func doctorAction(c *cli.Context) error {
	if c.Args().Present() {
		return usageError("doctor: takes no arguments")
	}
	r := newDiagnosis(checkMachine(thisMachine()))
	if err := printReport(c.App.Writer, c.Bool("json"), r); err != nil {
		return err
	}
	if !r.Works {
		return exitWith(exitFailure)
	}
	return nil
}

// A diagnosis is the result of doctor; its JSON is what doctor --json prints.
type diagnosis struct {
	Checks []finding `json:"checks"` // failures first, then warnings
	Works  bool      `json:"works"`  // whether up would work
	Result string    `json:"result"`
}

// settings are the checks whose warning is about speed or observability, not about a protection.
var settings = []string{"kernel-zram", "other-swap", "zswap", "log", "page-cluster", "free-memory", "io-uring", "codecs", "instruction-sets"}

// newDiagnosis sorts findings and sums them up.
func newDiagnosis(findings []finding) diagnosis {
	order := map[protect.State]int{protect.StateFail: 0, protect.StateWarn: 1, protect.StateOK: 2}
	slices.SortStableFunc(findings, func(a, b finding) int { return order[a.State] - order[b.State] })
	var failures []string
	missing, slow := 0, 0
	for _, f := range findings {
		switch {
		case f.State == protect.StateFail:
			failures = append(failures, f.Detail)
		case f.State == protect.StateWarn && slices.Contains(settings, f.Name):
			slow++
		case f.State == protect.StateWarn:
			missing++
		}
	}
	d := diagnosis{Checks: findings, Works: len(failures) == 0}
	if !d.Works {
		d.Result = "zramfs up would not work here: " + strings.Join(failures, "; ")
		return d
	}
	d.Result = "zramfs up would work here"
	var less []string
	if missing > 0 {
		less = append(less, term.Plural(missing, "protection is missing", "protections are missing"))
	}
	if slow > 0 {
		less = append(less, term.Plural(slow, "setting could be better", "settings could be better"))
	}
	if len(less) > 0 {
		d.Result += "; " + strings.Join(less, ", ") + " (see warn)"
	}
	return d
}

// Text returns a line for each check, and the result.
func (d diagnosis) Text() string {
	var out strings.Builder
	for _, f := range d.Checks {
		out.WriteString(f.String() + "\n")
	}
	return out.String() + "Result: " + d.Result + "\n"
}
