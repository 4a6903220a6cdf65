// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/doctor"
	"github.com/zramfs/zramfs/cmd/zramfs/setup"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check whether this machine can run a device safely",
		Description: "Changes nothing. fail marks a reason why up would refuse or fail; warn marks a missing protection, " +
			"or a setting that costs speed. Failures come first and the verdict last.\n\n" +
			"With --bundle FILE doctor writes what a bug report needs to FILE, which must not exist yet and which only its owner may read: " +
			"the JSON of status, list, events and trace, facts of the machine, and what the kernel tells of the device's processes. No page " +
			"contents, environment variables, arguments of processes or host name are in it; its README.txt lists everything.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Aliases: []string{"J"}, Usage: "print JSON"},
			&cli.StringFlag{Name: flagBundle, Usage: "write what a bug report needs to `FILE`, as tar.gz; - for standard output"},
		},
		Action: doctorAction,
	}
}

func doctorAction(c *cli.Context) error {
	if c.Args().Present() {
		return usageError("doctor: takes no arguments")
	}
	if c.IsSet(flagBundle) {
		return bundleAction(c)
	}
	m := doctor.Local()
	m.Engines, m.Priority, m.LastPriority = engineKinds, defaultPriority, defaultPriority-setup.MaxDefaultAreas+1
	r := doctor.Diagnose(m)
	if err := printReport(c.App.Writer, c.Bool("json"), r); err != nil {
		return err
	}
	if !r.Works {
		return exitWith(exitFailure)
	}
	return nil
}
