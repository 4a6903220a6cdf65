// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// helpWidth is the width of descriptions; cli indents them by three more.
const helpWidth = 77

func helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "show the commands, or the flags of one",
		ArgsUsage: "[COMMAND]",
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowAppHelp(c)
			}
			name := c.Args().First()
			if c.App.Command(name) == nil {
				return unknownCommand(c.App, name)
			}
			return cli.ShowCommandHelp(c, name)
		},
	}
}

// tidyFlags keeps "(default: false)" out of the help.
func tidyFlags(flags []cli.Flag) {
	for _, f := range flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
}

// fold breaks lines at blanks to be at most width bytes long, if they have blanks. The help is
// ASCII.
func fold(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		for len(line) > width+1 { // without the line break
			at := strings.LastIndexByte(line[:width+1], ' ')
			if at <= 0 {
				break
			}
			out.WriteString(line[:at] + "\n")
			line = line[at+1:]
		}
		out.WriteString(line)
	}
	return out.String()
}
