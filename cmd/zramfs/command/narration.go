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

// narrationFlags say how much a command prints; up, mount and down have them.
func narrationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: flagVerbose, Aliases: []string{"v"}, Usage: "print each step"},
		&cli.BoolFlag{Name: flagQuiet, Aliases: []string{"q"}, Usage: "print nothing but errors"},
		&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, sizes in bytes"},
	}
}

// A narration is what a command says of its steps: it writes them where --verbose asks for that,
// and keeps their warnings for the summary. It is used by one goroutine.
type narration struct {
	out      io.Writer // where steps are written
	how      string    // the flag that was given: flagVerbose, flagQuiet, flagJSON, or "" for the summary alone
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

// Write writes what is no step, such as a bar.
func (n *narration) Write(p []byte) (int, error) {
	if n.how == flagQuiet || n.how == flagJSON {
		return len(p), nil
	}
	return n.out.Write(p)
}

// step takes one step. Its state is that of a protection.
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

// printStep prints a line of mount, up and down: what, how it went, details.
func printStep(w io.Writer, name, state, detail string) error {
	n, ok := w.(*narration)
	if !ok {
		n = &narration{out: w, how: flagVerbose}
	}
	return n.step(name, state, detail)
}
