// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/journal"
)

const flagSince = "since"

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name:      "events",
		Usage:     "show what happened to a device",
		ArgsUsage: "[DIR]",
		Description: "Prints what happened to the device at DIR (default " + defaultDir + "), the oldest first: workers that died and why, who " +
			"took over, upgrades, 80, 90 and 100 % of the memory limit, damaged pages, requests that fail, missing protections. The " +
			"device keeps the last 128 events; status -J counts all of them.\n\n" +
			"Kinds in JSON: started, worker_died, recovered, upgraded, upgrade_failed, memory_limit, damaged_page, request_failed, " +
			"unprotected, warning.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: flagSince, Usage: "leave out what is older than `AGE`, as 90s, 10m or 2h, or than a time as in JSON"},
			&cli.BoolFlag{Name: flagFollow, Aliases: []string{"f"}, Usage: "go on with new events until the device ends"},
			&cli.BoolFlag{Name: flagJSON, Aliases: []string{"J"}, Usage: "print JSON, with --follow an object a line"},
		},
		Action: eventsAction,
	}
}

// eventsReport is the JSON of events.
type eventsReport struct {
	Dir    string            `json:"dir"`    // mount point
	Totals map[string]uint64 `json:"totals"` // by kind, since the device was made
	Events []journal.Event   `json:"events"` // the oldest first
}

// eventLine is a line of the JSON of events --follow.
type eventLine struct {
	Schema int `json:"schema"`
	journal.Event
}

func eventsAction(c *cli.Context) error {
	since, err := readSince(c.String(flagSince), time.Now())
	if err != nil {
		return err
	}
	dir, counters, err := openCounters(c, "events")
	if err != nil {
		return err
	}
	defer func() { _ = counters.Close() }() // only read from
	w, asJSON := c.App.Writer, c.Bool(flagJSON)
	found, next := journal.Events(counters.Area, 0, since)
	if asJSON && !c.Bool(flagFollow) {
		return printJSON(w, map[string]eventsReport{"events": {Dir: dir, Totals: counters.Area.EventsTotal(), Events: found}})
	}
	if !c.Bool(flagFollow) {
		return printEvents(w, false, found)
	}
	return follow(counters, func() error { return printEvents(w, asJSON, found) }, func() error {
		found, next = journal.Events(counters.Area, next, since)
		return printEvents(w, asJSON, found)
	})
}

// readSince reads an age or a time; nothing is the beginning of time.
func readSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Time{}, usageError("--%s %q: want an age, as 90s, 10m or 2h, or a time, as 2026-11-23T12:04:05Z", flagSince, text)
}

func printEvents(w io.Writer, asJSON bool, all []journal.Event) error {
	for _, e := range all {
		var err error
		if asJSON {
			err = printJSONLine(w, eventLine{Schema: jsonSchema, Event: e})
		} else {
			_, err = io.WriteString(w, printableLine(e.Line()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
