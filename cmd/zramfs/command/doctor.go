// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"zramfs/cmd/zramfs/daemon"
)

// finding is the outcome of one check of the machine.
type finding struct {
	Name   string       `json:"name"` // short and stable
	State  daemon.State `json:"state"`
	Detail string       `json:"detail"`
	Mend   string       `json:"mend,omitempty"` // what to do, where there is something to do
}

// String is the line that doctor prints.
func (f finding) String() string {
	line := fmt.Sprintf("%-4s  %s: %s", f.State, f.Name, f.Detail)
	if f.Mend != "" {
		line += "; to mend: " + f.Mend
	}
	return line
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check whether this machine can run a device safely",
		Description: "Nothing is changed. A line that says fail is a reason for which up would refuse or fail; warn is a " +
			"protection or a speed that will be missing. The exit code is 1 if a line says fail.",
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
	findings := checkMachine(thisMachine())
	if err := printFindings(c.App.Writer, findings, c.Bool("json")); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	for _, f := range findings {
		if f.State == daemon.StateFail {
			return exitWith(exitFailure)
		}
	}
	return nil
}

func printFindings(w io.Writer, findings []finding, asJSON bool) error {
	if asJSON {
		return printJSON(w, map[string][]finding{"checks": findings})
	}
	for _, f := range findings {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}
