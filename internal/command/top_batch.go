// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/monitor"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

// The bounds of an interval between two looks at devices.
const (
	leastInterval   = 100 * time.Millisecond
	longestInterval = 24 * time.Hour
)

// trendPoints is the number of points that the growth of a minute is measured over at the least
// interval.
const trendPoints = int(time.Minute/leastInterval) + 1

// headingEvery is the number of lines after which a terminal gets the headings again.
const headingEvery = 20

// readInterval reads an interval in seconds.
func readInterval(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds < leastInterval.Seconds() || seconds > longestInterval.Seconds() {
		return 0, fmt.Errorf("%q: seconds from %g to %g", text, leastInterval.Seconds(), longestInterval.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// topBatch prints a line for each device, or for all, at each interval: count times, or without end
// for 0.
func topBatch(c *cli.Context, dirs []string, interval time.Duration, count int) error {
	history, out := monitor.NewHistory(trendPoints), &batchOutput{w: c.App.Writer, asJSON: c.Bool(flagJSON), terminal: term.Width() > 0}
	next := time.Now()
	for printed := 0; count == 0 || printed <= count; printed++ { // the first look prints nothing
		time.Sleep(time.Until(next))
		next = next.Add(max(time.Since(next)/interval, 0)*interval + interval)
		samples, err := takeSamples(dirs)
		if err != nil {
			return err
		}
		points := history.Add(samples)
		if printed == 0 {
			continue
		}
		if err := out.print(points); err != nil {
			return fmt.Errorf("write standard output: %w", err)
		}
	}
	return nil
}

// takeSamples is monitor.Take with the exit code for no device.
func takeSamples(dirs []string) ([]monitor.Sample, error) {
	samples, err := monitor.Take(dirs...)
	if err == nil && len(samples) == 0 {
		err = swapdev.ErrNotRunning
	}
	if errors.Is(err, swapdev.ErrNotRunning) {
		return nil, &exitError{code: exitNotRunning, cause: err}
	}
	return samples, err
}

// A batchOutput prints points as lines. It is used by one goroutine.
type batchOutput struct {
	w                io.Writer
	asJSON, terminal bool
	lines            int // printed as text
}

// A topLine is a line of --json.
type topLine struct {
	Schema int `json:"schema"`
	monitor.Point
}

func (o *batchOutput) print(points []monitor.Point) error {
	for _, p := range points {
		var err error
		if o.asJSON {
			err = printJSONLine(o.w, topLine{Schema: jsonSchema, Point: p})
		} else {
			err = o.printText(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printText prints a point, and headings before the first, and again on a terminal.
func (o *batchOutput) printText(p monitor.Point) error {
	text := ""
	if o.lines == 0 || o.terminal && o.lines%headingEvery == 0 {
		text = lineText(func(c topColumn) string { return c.name })
	}
	o.lines++
	text += lineText(func(c topColumn) string { return c.value(p) })
	_, err := io.WriteString(o.w, text)
	return err
}
