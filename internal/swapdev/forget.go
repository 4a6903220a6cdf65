// SPDX-License-Identifier: Apache-2.0

package swapdev

import (
	"io"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
	"github.com/zramfs/zramfs/internal/uprecord"
)

// Forget is uprecord.Forget for the device d. It prints its steps on out.
func Forget(out io.Writer, m host.Root, d Device) error {
	return uprecord.Forget(steps(out), m, d.Dir, d.Record)
}

// applyTune is uprecord.Tune. It prints its steps on out.
func applyTune(out io.Writer, m host.Root, settings []tune.Setting, rec *uprecord.Record) error {
	return uprecord.Tune(steps(out), m, settings, rec)
}

// steps prints each step on out.
func steps(out io.Writer) uprecord.Step {
	return func(name, state, detail string) error { return printStep(out, name, state, detail) }
}
