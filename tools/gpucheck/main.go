// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/gpu/driver"
)

// Exit codes, as zramfs has them.
const (
	exitFailure = 1
	exitUsage   = 2
)

// commit is the commit of the build; gpu/check.sh sets it through the linker.
var commit = "unknown"

// errUsage means that the arguments are wrong.
var errUsage = errors.New("usage")

type options struct {
	steps                    []step
	list, simulated          bool
	pages, table, json, loop string
	device                   int
	kernelPages, bulkPages   int // 0: the defaults in sizes
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(exitUsage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(exitFailure)
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("gpucheck", flag.ContinueOnError)
	names := flags.String("steps", "", "do these `STEPS`, in this order; without it all")
	flags.BoolVar(&o.list, "list", false, "list the steps")
	flags.BoolVar(&o.simulated, "simulated", false, "use a simulated device and little data")
	flags.StringVar(&o.pages, "pages", "", "take pages from `FILE`, made by tools/pagesample")
	flags.StringVar(&o.loop, "loop", "", "compare launches with those of `PROGRAM`, built from testdata/loop.c")
	flags.IntVar(&o.device, "device", 0, "use the device with this `NUMBER`")
	flags.IntVar(&o.kernelPages, "kernel-pages", 0, "give each kernel `N` pages")
	flags.IntVar(&o.bulkPages, "bulk-pages", 0, "make the batch of bulk work `N` pages")
	flags.StringVar(&o.table, "table", "", "print the findings in `FILE` as a table, and do nothing else")
	flags.StringVar(&o.json, "json", "", "with -table: write them to `FILE` as one JSON document, too")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 || o.device < 0 || o.kernelPages < 0 || o.bulkPages < 0 {
		return o, fmt.Errorf("%w: unexpected argument, or a number below 0: %s", errUsage, strings.Join(args, " "))
	}
	var err error
	o.steps, err = choose(*names)
	return o, err
}

// choose returns the steps in a list of names, or all for "".
func choose(names string) ([]step, error) {
	if names == "" {
		return steps(), nil
	}
	var chosen []step
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, s := range steps() {
			if s.name == name {
				chosen, found = append(chosen, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: no step %q; -list names them", errUsage, name)
		}
	}
	return chosen, nil
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.table != "" {
		return printTable(o.table, o.json, out)
	}
	if o.list {
		for _, s := range steps() {
			if _, err := fmt.Fprintf(out, "%-9s %4d s  %s\n", s.name, s.seconds, s.about); err != nil {
				return err
			}
		}
		return nil
	}
	from, err := newSource(o.pages)
	if err != nil {
		return err
	}
	r := &rig{ctx: ctx, sizes: full(), device: o.device, loop: o.loop, find: driver.CUDA, source: from, meter: nvidiaPower, out: out}
	if o.simulated {
		r.sizes, r.meter, r.simulated = small(), noPower, true
		r.find = driver.NewSimulator(driver.SimulatedDevice{}).Driver
	}
	if o.kernelPages > 0 {
		r.kernelPages = o.kernelPages
	}
	if o.bulkPages > 0 {
		r.bulkPages = o.bulkPages
	}
	var errs []error
	for _, s := range o.steps {
		errs = append(errs, r.play(s))
	}
	return errors.Join(errs...)
}
