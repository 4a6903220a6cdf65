// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/bundle"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/term"
)

const flagBundle = "bundle"

// bundleAction is doctor --bundle.
func bundleAction(c *cli.Context) error {
	file := c.String(flagBundle)
	switch {
	case file == "":
		return usageError("doctor: --%s needs the name of a file, or - for standard output", flagBundle)
	case c.Bool(flagJSON):
		return usageError("doctor: --%s goes without --%s", flagBundle, flagJSON)
	}
	if file != "-" {
		if err := bundle.Free(file); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(c.Context)
	defer stop()
	b, err := bundle.Collect(ctx, bundle.Source{Machine: host.Local, Program: "/proc/self/exe"})
	if err == nil {
		err = writeBundle(ctx, c, file, b)
	}
	if errors.Is(err, context.Canceled) {
		err = imageio.ErrInterrupted
	}
	return err
}

// writeBundle writes the bundle and lists what is in it: on standard error if the bundle goes to
// standard output. After an error there is no file.
func writeBundle(ctx context.Context, c *cli.Context, file string, b bundle.Bundle) error {
	now := time.Now()
	if file == "-" {
		if err := b.Write(term.Raw(c.App.Writer), now); err != nil {
			return fmt.Errorf("write standard output: %w", err)
		}
		_, err := io.WriteString(c.App.ErrWriter, bundleContents(b))
		return err
	}
	size, err := bundle.Create(file, func(w io.Writer) error { return errors.Join(b.Write(w, now), ctx.Err()) })
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if _, err = fmt.Fprintf(c.App.Writer, "%s%s written: %s in %s, no page contents; read it before you pass it on\n",
		bundleContents(b), file, term.Size(uint64(size)), term.Plural(len(b.Files), "file", "files")); err != nil {
		return errors.Join(fmt.Errorf("write standard output: %w", err), os.Remove(file))
	}
	return nil
}

// bundleContents lists the files with their sizes, and what is missing.
func bundleContents(b bundle.Bundle) string {
	var out strings.Builder
	for _, f := range b.Files {
		fmt.Fprintf(&out, "%9s  %s\n", term.Size(uint64(len(f.Data))), f.Name)
	}
	for _, problem := range b.Problems {
		fmt.Fprintf(&out, "  missing  %s\n", problem)
	}
	return out.String()
}
