// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"fmt"
	"io"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
)

// How much a narration writes.
const (
	Verbose = "verbose" // each step
	Quiet   = "quiet"   // nothing
	JSON    = "json"    // nothing: the command prints JSON
)

// A Narration is a command's output about its steps: it writes them with --verbose, and keeps their
// warnings for the summary. One goroutine uses it.
type Narration struct {
	Out      io.Writer // where steps are written
	How      string    // Verbose, Quiet, JSON, or "" for the summary alone
	Warnings []string  // of the steps so far
}

// Write writes other output, such as a bar.
func (n *Narration) Write(p []byte) (int, error) {
	if n.How == Quiet || n.How == JSON {
		return len(p), nil
	}
	return n.Out.Write(p)
}

// Raw is where a bar is drawn; see term.Raw.
func (n *Narration) Raw() io.Writer {
	if n.How == Quiet || n.How == JSON {
		return io.Discard
	}
	return n.Out
}

// step handles one step. Its state is a protection's.
func (n *Narration) step(name, state, detail string) error {
	if state != string(status.OK) {
		n.Warnings = append(n.Warnings, detail)
	}
	if n.How != Verbose {
		return nil
	}
	_, err := fmt.Fprintf(n.Out, "%-12s  %-4s  %s\n", name, state, term.Printable(detail))
	return err
}

// PrintProtections prints one line for each protection.
func PrintProtections(w io.Writer, all []status.Protection) error {
	for _, p := range all {
		if err := printStep(w, p.Name, string(p.State), p.Detail); err != nil {
			return err
		}
	}
	return nil
}

// printStep prints a line of mount, up and down: step, state, details.
func printStep(w io.Writer, name, state, detail string) error {
	n, ok := w.(*Narration)
	if !ok {
		n = &Narration{Out: w, How: Verbose}
	}
	return n.step(name, state, detail)
}
