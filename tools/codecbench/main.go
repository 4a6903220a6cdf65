// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/zramfs/zramfs/codec"
)

type options struct {
	rounds        int
	time          time.Duration
	codecs        []string
	only, without []string
	programs      bool
	json          bool
	criteria      bool
	against       string
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "codecbench:", err)
		os.Exit(2)
	}
	if err := run(o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "codecbench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("codecbench", flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 0, "measure `N` rounds (0: until -time is up)")
	flags.DurationVar(&o.time, "time", 40*time.Second, "stop after about `TIME`")
	list := func(name, usage string, to *[]string) {
		flags.Func(name, usage, func(text string) error { *to = strings.Split(text, ","); return nil })
	}
	list("codecs", "measure those whose name has one of `WORDS` in it, and liblz4", &o.codecs)
	list("only", "use only the pages of these `PROGRAMS`", &o.only)
	list("without", "leave the pages of these `PROGRAMS` out", &o.without)
	flags.BoolVar(&o.programs, "programs", false, "measure each program's pages separately")
	flags.BoolVar(&o.criteria, "criteria", false, "judge the criteria of speed instead")
	flags.StringVar(&o.against, "against", "last.json", "compare with the report of the last release in `FILE`, made by -json")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds < 0 || o.time <= 0 {
		return o, errors.New("-rounds and -time want a positive number")
	}
	return o, nil
}

// run measures and prints what o asks for.
func run(o options, out, notes io.Writer) error {
	end := time.Now().Add(o.time)
	// The tool allocates little, and a collection would take the processor from the current
	// contestant.
	debug.SetGCPercent(-1)
	path, err := findPages()
	if err != nil {
		return err
	}
	samples, err := loadSamples(path, o.only, o.without)
	if err != nil {
		return err
	}
	if !o.programs || o.criteria {
		samples = []sample{join(joined(samples), samples)}
	}
	all, err := contestants(o.codecs, notes)
	if err != nil {
		return err
	}
	if o.criteria {
		return judgeAll(o, samples[0], all, out)
	}
	r := report{Library: libVersion(), CPU: cpuName()}
	for i, s := range samples {
		left := time.Until(end) / time.Duration(len(samples)-i)
		t, err := compare(s, all, o.rounds, time.Now().Add(left))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		r.Tables = append(r.Tables, t)
	}
	if o.json {
		return writeJSON(out, r)
	}
	r.writeText(out)
	return nil
}

// judgeAll prints what is found of the criteria.
func judgeAll(o options, s sample, all []*contestant, out io.Writer) error {
	previous, err := readReport(o.against)
	if err != nil {
		return err
	}
	found, err := criteria(s, all, previous, o.time)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(out, found)
	}
	writeFindings(out, found)
	return nil
}

// joined names several samples together.
func joined(samples []sample) string {
	var names []string
	for _, s := range samples {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// contestants returns all that are asked for, liblz4 first.
func contestants(words []string, notes io.Writer) ([]*contestant, error) {
	rest, err := others()
	if err != nil {
		return nil, err
	}
	own, err := ours(notes)
	if err != nil {
		return nil, err
	}
	return append([]*contestant{anchor()}, named(append(rest, own...), words)...), nil
}

// compare makes the table of one sample.
func compare(s sample, all []*contestant, rounds int, end time.Time) (table, error) {
	t := table{Sample: s.name, Pages: len(s.pages), Same: s.same}
	for _, c := range all {
		stored, err := verify(s, c)
		if err != nil {
			return t, err
		}
		l := line{Codec: c.name, Ours: c.ours, Reader: c.reader, Ratio: float64(len(s.pages)*codec.PageSize) / float64(stored)}
		if c.ours && c.packOne != nil || c.name == anchorName {
			pack, unpack, err := latencies(s, c)
			if err != nil {
				return t, err
			}
			l.PackLatency, l.UnpackLatency = &pack, &unpack
		}
		t.Lines = append(t.Lines, l)
	}
	result, done, err := measure(s, all, limit{rounds, end})
	if err != nil {
		return t, err
	}
	t.Rounds = done
	for i := range t.Lines {
		l := &t.Lines[i]
		speeds, ratios := result[i].medians()
		l.RatioX = l.Ratio / t.Lines[0].Ratio
		l.Pack, l.PackX, l.Unpack, l.UnpackX = speeds.pack/1e6, ratios.pack, speeds.unpack/1e6, ratios.unpack
	}
	return t, nil
}

// cpuName returns the processor's name for people.
func cpuName() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
