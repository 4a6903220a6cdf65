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

func statsCommand() *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "print a line of figures at each interval, for scripts",
		ArgsUsage: "[DIR...] [INTERVAL [COUNT]]",
		Description: "Prints a line for each device every INTERVAL seconds, COUNT times or until it is ended: vmstat for compressed " +
			"swap. All rates, and the latencies p50 and p99, are of the interval alone. Without INTERVAL it measures for a second and " +
			"prints one line. Without DIR every device has a line; a DIR that is a number is written as ./1.\n\n" +
			"Columns:\n" + statsHelp(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "noheadings", Aliases: []string{"n"}, Usage: "print no headings"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print a JSON object a line, sizes in bytes"},
		},
		Action: statsAction,
	}
}

// statsOrder is what the arguments ask for.
type statsOrder struct {
	dirs     []string
	interval time.Duration
	count    int // 0 for no end
}

// readStatsOrder reads the arguments: the last two may be numbers.
func readStatsOrder(args []string) (o statsOrder, err error) {
	numbers := 0
	for numbers < 2 && numbers < len(args) && isNumber(args[len(args)-1-numbers]) {
		numbers++
	}
	o.dirs, o.interval, o.count = args[:len(args)-numbers], time.Second, 1
	args = args[len(args)-numbers:]
	if numbers == 0 {
		return o, nil
	}
	o.count = 0
	if o.interval, err = readInterval(args[0]); err != nil {
		return o, usageError("stats: INTERVAL %w", err)
	}
	if numbers == 2 {
		if o.count, err = strconv.Atoi(args[1]); err != nil || o.count < 1 {
			return o, usageError("stats: COUNT %q: not a whole number of lines, 1 at least", args[1])
		}
	}
	return o, nil
}

func isNumber(text string) bool {
	_, ok := term.ParseDecimal(text)
	return ok
}

// readInterval reads an interval in seconds.
func readInterval(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds < leastInterval.Seconds() || seconds > longestInterval.Seconds() {
		return 0, fmt.Errorf("%q: seconds from %g to %g", text, leastInterval.Seconds(), longestInterval.Seconds())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func statsAction(c *cli.Context) error {
	order, err := readStatsOrder(c.Args().Slice())
	if err == nil {
		order.dirs, err = dirsNamed(c, order.dirs)
	}
	if err != nil {
		return err
	}
	history, out := monitor.NewHistory(trendPoints), &statsOutput{w: c.App.Writer, asJSON: c.Bool(flagJSON), quiet: c.Bool("noheadings"), terminal: term.Width() > 0}
	next := time.Now()
	for printed := 0; order.count == 0 || printed <= order.count; printed++ { // the first look prints nothing
		time.Sleep(time.Until(next))
		next = next.Add(max(time.Since(next)/order.interval, 0)*order.interval + order.interval)
		samples, err := takeSamples(order.dirs)
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

// statsOutput prints points as lines. It is used by one goroutine.
type statsOutput struct {
	w                       io.Writer
	asJSON, quiet, terminal bool
	lines                   int // printed without headings
}

// A statsLine is a line of --json.
type statsLine struct {
	Schema int `json:"schema"`
	monitor.Point
}

func (o *statsOutput) print(points []monitor.Point) error {
	for _, p := range points {
		var err error
		if o.asJSON {
			err = printJSONLine(o.w, statsLine{Schema: jsonSchema, Point: p})
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
func (o *statsOutput) printText(p monitor.Point) error {
	text := ""
	if !o.quiet && (o.lines == 0 || o.terminal && o.lines%headingEvery == 0) {
		text = statsText(func(c statsColumn) string { return c.name })
	}
	o.lines++
	text += statsText(func(c statsColumn) string { return c.value(p) })
	_, err := io.WriteString(o.w, text)
	return err
}
