// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/cmd/zramfs/protect"
)

const (
	flagVerbose = "verbose"
	flagQuiet   = "quiet"
)

// narrationFlags set how much up, mount and down print.
func narrationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: flagVerbose, Aliases: []string{"v"}, Usage: "print each step"},
		&cli.BoolFlag{Name: flagQuiet, Aliases: []string{"q"}, Usage: "print nothing but errors"},
		&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
	}
}

// A narration is a command's output about its steps: it writes them with --verbose, and keeps their
// warnings for the summary. One goroutine uses it.
type narration struct {
	out      io.Writer // where steps are written
	how      string    // the given flag: flagVerbose, flagQuiet, flagJSON, or "" for the summary alone
	warnings []string
}

// newNarration reads the flags of narrationFlags. Steps are written to out.
func newNarration(c *cli.Context, out io.Writer) (*narration, error) {
	n := &narration{out: out}
	for _, flag := range []string{flagVerbose, flagQuiet, flagJSON} {
		if !c.Bool(flag) {
			continue
		}
		if n.how != "" {
			return nil, usageError("%s: mutually exclusive arguments: --%s --%s", c.Command.Name, n.how, flag)
		}
		n.how = flag
	}
	return n, nil
}

// Write writes other output, such as a bar.
func (n *narration) Write(p []byte) (int, error) {
	if n.how == flagQuiet || n.how == flagJSON {
		return len(p), nil
	}
	return n.out.Write(p)
}

// step handles one step. Its state is a protection's.
func (n *narration) step(name, state, detail string) error {
	if state != string(protect.StateOK) {
		n.warnings = append(n.warnings, detail)
	}
	if n.how != flagVerbose {
		return nil
	}
	_, err := fmt.Fprintf(n.out, "%-12s  %-4s  %s\n", name, state, detail)
	return err
}

// printProtections prints one line for each protection.
func printProtections(w io.Writer, all []protect.Protection) error {
	for _, p := range all {
		if err := printStep(w, p.Name, string(p.State), p.Detail); err != nil {
			return err
		}
	}
	return nil
}

// printStep prints a line of mount, up and down: step, state, details.
func printStep(w io.Writer, name, state, detail string) error {
	n, ok := w.(*narration)
	if !ok {
		n = &narration{out: w, how: flagVerbose}
	}
	return n.step(name, state, detail)
}
