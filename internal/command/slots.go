// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/ballast"
)

const flagSlots = "slots"

// slotsHelp explains the policies in the help of up.
const slotsHelp = "With --slots free the kernel frees the swap slot of a page that it has read back, as it does on kernel zram. " +
	"With --slots keep it keeps the slot, and the device the copy, until half of all swap is in use: that takes more " +
	"memory, and saves writing the page again if it is evicted unchanged. With auto, the default, slots are kept while " +
	"memory is plentiful and freed while it is short. To have slots freed, a process holds up to half of all swap with " +
	"pages of zeros, which take no memory and make way for programs: free(1) then shows half of swap or more as used; " +
	"status tells what programs use."

func slotsFlag() cli.Flag {
	return &cli.StringFlag{Name: flagSlots, Value: string(ballast.Auto),
		Usage: "`WHEN` to free the swap slot of a page that is in memory again: auto, free or keep"}
}
