// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/control"
	"github.com/zramfs/zramfs/internal/journal"
	"github.com/zramfs/zramfs/internal/telemetry"
	"github.com/zramfs/zramfs/internal/term"
)

const (
	flagFollow   = "follow"
	flagLines    = "lines"
	flagPerfetto = "perfetto"
	// followPause is the time between two looks of --follow.
	followPause = 200 * time.Millisecond
	// traceLines is the default of --lines.
	traceLines = 20
)

func traceCommand() *cli.Command {
	return &cli.Command{
		Name:      "trace",
		Usage:     "show the last reads, writes and discards of a device",
		ArgsUsage: "[DIR]",
		Description: "Prints the last operations of the device at DIR (default " + defaultDir + "), the oldest first: when the worker received " +
			"the request, the worker's thread, the first page and the number of pages, the format in which they are stored and their size " +
			"compressed, the worker's time in microseconds, and the error. The device keeps the last operations, " +
			"up to 16384 in all, also those of workers that have died. Nothing has to be switched on, and no request is sent to the device.\n\n" +
			"With --perfetto the operations go to a file that ui.perfetto.dev and chrome://tracing open, with a track for each thread; without " +
			"--lines these are all that there are.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: flagLines, Aliases: []string{"n"}, Value: traceLines, Usage: "show the last `N` operations; 0 for all"},
			&cli.BoolFlag{Name: flagFollow, Aliases: []string{"f"}, Usage: "go on with new operations until the device ends"},
			&cli.StringFlag{Name: flagPerfetto, Usage: "write a Chrome trace to `FILE`"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, with --follow an object a line"},
		},
		Action: traceAction,
	}
}

// traceReport is the JSON of trace.
type traceReport struct {
	Dir        string              `json:"dir"`        // mount point
	Operations []journal.Operation `json:"operations"` // the oldest first
}

// traceLine is a line of the JSON of trace --follow.
type traceLine struct {
	Schema int    `json:"schema"`
	Lost   uint64 `json:"lost"` // operations before it that were overwritten before they could be read
	journal.Operation
}

func traceAction(c *cli.Context) error {
	n, file := c.Int(flagLines), c.String(flagPerfetto)
	switch {
	case n < 0:
		return usageError("trace: --%s %d: 0 for all, or how many", flagLines, n)
	case c.IsSet(flagPerfetto) && file == "":
		return usageError("trace: --%s needs the name of a file", flagPerfetto)
	case file != "" && (c.Bool(flagFollow) || c.Bool(flagJSON)):
		return usageError("trace: --%s goes with neither --%s nor --%s", flagPerfetto, flagFollow, flagJSON)
	}
	dir, counters, err := openCounters(c, "trace")
	if err != nil {
		return err
	}
	defer func() { _ = counters.Close() }() // only read from
	if file != "" && !c.IsSet(flagLines) {
		n = 0
	}
	var cursor telemetry.Cursor
	last, _ := journal.Operations(counters.Area, &cursor, n)
	w := c.App.Writer
	switch {
	case file != "":
		return writeWhole(file, func(w io.Writer) error { return journal.WriteChrome(w, dir, last) })
	case c.Bool(flagFollow):
		return followTrace(w, c.Bool(flagJSON), counters, &cursor, last)
	case c.Bool(flagJSON):
		return printJSON(w, map[string]traceReport{"trace": {Dir: dir, Operations: last}})
	}
	if _, err := io.WriteString(w, journal.Heading()); err != nil {
		return err
	}
	return printTrace(w, false, last, 0)
}

// followTrace prints the last operations and then those after the cursor.
func followTrace(w io.Writer, asJSON bool, counters *control.Counters, cursor *telemetry.Cursor, last []journal.Operation) error {
	var lost uint64
	return follow(counters, func() error { return printTrace(w, asJSON, last, 0) }, func() error {
		more, n := journal.Operations(counters.Area, cursor, 0)
		if lost += n; len(more) == 0 { // it is told with the next operation
			return nil
		}
		err := printTrace(w, asJSON, more, lost)
		lost = 0
		return err
	})
}

// openCounters returns the counters of the device that the argument names.
func openCounters(c *cli.Context, name string) (dir string, _ *control.Counters, err error) {
	d, err := namedDevice(c, name)
	if err != nil {
		return "", nil, err
	}
	counters, err := control.OpenCounters(d.Dir)
	if err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", name, d.Word(), explainKeeper(d, err))
	}
	return d.Dir, counters, nil
}

// printableLine makes a line printable but for its end.
func printableLine(line string) string { return term.Printable(strings.TrimSuffix(line, "\n")) + "\n" }

// printTrace prints operations as lines of a table or of JSON.
func printTrace(w io.Writer, asJSON bool, all []journal.Operation, lost uint64) error {
	if lost > 0 && !asJSON {
		if _, err := fmt.Fprintf(w, "(%d operations were overwritten before they could be read)\n", lost); err != nil {
			return err
		}
	}
	for _, o := range all {
		var err error
		if asJSON {
			err = printJSONLine(w, traceLine{Schema: jsonSchema, Lost: lost, Operation: o})
			lost = 0
		} else {
			_, err = io.WriteString(w, printableLine(o.Line()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow calls first and then, until the device has ended, again.
func follow(counters *control.Counters, first, again func() error) error {
	err := first()
	for alive := true; err == nil && alive; err = again() {
		time.Sleep(followPause)
		alive = counters.Alive()
	}
	return err
}

// writeWhole makes a file of what write writes: it appears once it is complete.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write %s: it is no regular file, and would be replaced by one: name another", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".zramfs-")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
