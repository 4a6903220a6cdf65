// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/devices"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/slots"
)

const (
	flagSlots  = "slots"
	flagKeeper = "keeper"

	// slotsName is the command that up uses to start the process that holds the ballast; see
	// package slots.
	slotsName = "slots"
)

// slotsHelp explains the policies in the help of up.
const slotsHelp = "With --slots free the kernel frees the swap slot of a page that it has read back, as it does on kernel zram. " +
	"With --slots keep it keeps the slot, and the device the copy, until half of all swap is in use: that takes more " +
	"memory, and saves writing the page again if it is evicted unchanged. With auto, the default, slots are kept while " +
	"memory is plentiful and freed while it is short. To have slots freed, a process holds up to half of all swap with " +
	"pages of zeros, which take no memory and make way for programs: free(1) shows half of swap or more as used meanwhile; " +
	"status tells what programs use."

func slotsFlag() cli.Flag {
	return &cli.StringFlag{Name: flagSlots, Value: string(slots.Auto),
		Usage: "`WHEN` to free the swap slot of a page that is in memory again: auto, free or keep"}
}

// slotsCommand is started by up alone.
func slotsCommand() *cli.Command {
	return &cli.Command{
		Name:      slotsName,
		Usage:     "make the kernel free swap slots (started by up)",
		ArgsUsage: "AREA...",
		Hidden:    true,
		Flags:     []cli.Flag{slotsFlag(), &cli.IntFlag{Name: flagKeeper, Usage: "end with the process `PID`"}},
		Action: func(c *cli.Context) error {
			policy, err := slots.ParsePolicy(c.String(flagSlots))
			if err != nil || policy == slots.Keep || c.NArg() == 0 || c.Int(flagKeeper) <= 0 {
				return usageError("%s is for up, which starts it", slotsName)
			}
			groups, _ := host.Local.MemoryHierarchy() // without it the process stays in its group
			return slots.Run(slots.Config{Policy: policy, Areas: c.Args().Slice(), Keeper: c.Int(flagKeeper), Groups: groups.Top})
		},
	}
}

// startSlots starts the process that makes the kernel free slots of these areas, and adds it to the
// record. It ends with the keeper, a PID of this namespace.
func startSlots(m host.Root, rec *devices.Record, policy slots.Policy, keeper int, areas []string) error {
	pid, err := launchSlots(append([]string{slotsName, fmt.Sprintf("--%s=%s", flagSlots, policy),
		fmt.Sprintf("--%s=%d", flagKeeper, keeper)}, areas...))
	if err != nil {
		return err
	}
	rec.Slots = &devices.NotedSlots{Policy: policy, PID: pid}
	if p, ok := host.Local.Process(pid); ok {
		rec.Slots.Started = p.Start
	}
	defer devices.LockRecords(m)()
	return rec.Write(m)
}

// reviveSlots restarts the ended process of d, for example after the OOM killer.
func reviveSlots(d devices.Device) error {
	if p := d.FindSlots(); p.Policy == "" || p.Policy == slots.Keep || p.PID != 0 || len(d.Swaps) == 0 || d.Keeper == 0 {
		return nil
	}
	return startSlots(host.Local, d.Record, d.Record.Slots.Policy, d.Keeper, devices.LoopPaths(d.Loops))
}
