// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/zramfs/zramfs/cmd/zramfs/daemon"
	"github.com/zramfs/zramfs/cmd/zramfs/host"
	"github.com/zramfs/zramfs/cmd/zramfs/protect"
)

// machine is the input of doctor's checks; other code needs only its Root. Tests replace each part.
type machine struct {
	host.Root
	protections  func() []protect.Protection     // what the serving process would find out by itself
	instructions func() daemon.InstructionStatus // what the codecs run on
	noswap       func() error                    // nil where a tmpfs can be made that is never swapped
}

func thisMachine() machine {
	return machine{Root: host.Local, protections: protect.CheckMachine, instructions: daemon.Instructions, noswap: tryNoswap}
}
