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

	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// defaultMaxPages is how many pages of a program are kept unless told otherwise:
// 8 MiB, so that no program outweighs the others.
const defaultMaxPages = 2048

// errNothing means that no program could be sampled.
var errNothing = errors.New("no program could be sampled; install python3, gcc or node, or put go into PATH")

type options struct {
	out      string
	maxPages int
	only     []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	opts, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pagesample:", err)
		os.Exit(2)
	}
	if err := run(ctx, opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pagesample:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("pagesample", flag.ExitOnError)
	out := flags.String("o", "", "write the pages to `FILE` (default: .cache/pages.zpg at the module's root)")
	maxPages := flags.Int("max-pages", defaultMaxPages, "keep at most `N` pages of a program")
	only := flags.String("only", "", "sample these programs alone: a comma-separated list of `NAMES`")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *maxPages < 1 {
		return options{}, fmt.Errorf("-max-pages %d: want at least 1", *maxPages)
	}
	opts := options{out: *out, maxPages: *maxPages}
	if *only != "" {
		opts.only = strings.Split(*only, ",")
	}
	if opts.out == "" {
		var err error
		if opts.out, err = pagefile.Default(); err != nil {
			return options{}, err
		}
	}
	return opts, nil
}

// run samples every chosen workload, prints a line for each, and writes the file.
func run(ctx context.Context, opts options, out io.Writer) error {
	chosen, err := choose(workloads(), opts.only)
	if err != nil {
		return err
	}
	var programs []pagefile.Program
	for _, work := range chosen {
		memory, err := sample(ctx, work, opts.maxPages)
		if ctx.Err() != nil {
			return fmt.Errorf("sample %s: %w", work.name, context.Cause(ctx))
		}
		if err != nil {
			fmt.Fprintf(out, "%-8s left out: %v\n", work.name, err)
			continue
		}
		programs = append(programs, pagefile.Program{Name: work.name, Pages: memory})
		if err := report(out, work.name, memory); err != nil {
			return err
		}
	}
	if len(programs) == 0 {
		return errNothing
	}
	var all []byte
	for _, program := range programs {
		all = append(all, program.Pages...)
	}
	if err := report(out, "all", all); err != nil {
		return err
	}
	if err := pagefile.Save(opts.out, programs); err != nil {
		return err
	}
	fmt.Fprintf(out, "written to %s\n", opts.out)
	return nil
}

// choose returns the workloads with these names, or all when there are no names.
func choose(all []workload, only []string) ([]workload, error) {
	if len(only) == 0 {
		return all, nil
	}
	var chosen []workload
	var known []string
	for _, work := range all {
		known = append(known, work.name)
	}
	for _, name := range only {
		found := false
		for _, work := range all {
			if work.name == name {
				chosen, found = append(chosen, work), true
			}
		}
		if !found {
			return nil, fmt.Errorf("-only %s: no such program, known are %s", name, strings.Join(known, ","))
		}
	}
	return chosen, nil
}

func report(out io.Writer, name string, memory []byte) error {
	figures, err := measure(memory)
	if err != nil {
		return fmt.Errorf("measure %s: %w", name, err)
	}
	_, err = fmt.Fprintf(out, "%-8s %6d pages  same-filled %4.1f %%  lz4 %5.2f  zstd %5.2f\n",
		name, figures.pages, 100*figures.sameFilled, figures.lz4, figures.zstd)
	return err
}
