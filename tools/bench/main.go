// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Exit codes, as those of zramfs itself.
const (
	exitFailure = 1
	exitUsage   = 2
)

type options struct {
	size      int64
	rounds    int
	runtime   time.Duration
	binary    string
	algorithm string
	device    string
	anchor    string
	json      bool
}

func main() {
	opts, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, opts, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitFailure)
	}
}

func parse(args []string) (options, error) {
	opts := options{size: 1 << 30}
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.Func("size", "give each device `BYTES`, with K, M or G for 1024s (default 1G)", func(text string) (err error) {
		opts.size, err = parseSize(text)
		return err
	})
	flags.IntVar(&opts.rounds, "rounds", 3, "measure everything `N` times")
	flags.DurationVar(&opts.runtime, "runtime", 4*time.Second, "measure each workload for `TIME` in each round")
	flags.StringVar(&opts.binary, "binary", "", "measure the zramfs program at `PATH`")
	flags.StringVar(&opts.algorithm, "algorithm", "", "tell zramfs to use `NAME` (default: what it uses by itself)")
	flags.StringVar(&opts.device, "device", "", "measure the block device at `PATH` instead, overwriting it")
	flags.StringVar(&opts.anchor, "anchor", "zram", "measure beside `zram`, the kernel's, or none")
	flags.BoolVar(&opts.json, "json", false, "print JSON with every round's figures")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case (opts.binary == "") == (opts.device == ""):
		return options{}, errors.New("give either -binary, the zramfs program to measure, or -device")
	case opts.anchor != "zram" && opts.anchor != "none":
		return options{}, fmt.Errorf("-anchor %s: want zram or none", opts.anchor)
	case opts.rounds < 1:
		return options{}, fmt.Errorf("-rounds %d: want at least 1", opts.rounds)
	case opts.runtime < 100*time.Millisecond:
		return options{}, fmt.Errorf("-runtime %v: want at least 100ms", opts.runtime)
	case opts.size < minSize:
		return options{}, fmt.Errorf("-size %d: want at least %d", opts.size, minSize)
	}
	return opts, nil
}

// minSize lets 1 MiB transfers, four at a time, keep apart.
const minSize = 16 << 20

// parseSize reads a number of bytes with an optional suffix K, M or G, and rounds
// it down to whole mebibytes, the unit of sequential transfers.
func parseSize(text string) (int64, error) {
	number, shift := text, 0
	for suffix, by := range map[string]int{"K": 10, "M": 20, "G": 30} {
		if rest, ok := strings.CutSuffix(strings.ToUpper(text), suffix); ok {
			number, shift = rest, by
		}
	}
	value, err := strconv.ParseInt(number, 10, 64)
	if err != nil || value < 0 || value > (1<<50)>>shift {
		return 0, fmt.Errorf("not a size: %q (want a number with K, M or G)", text)
	}
	return value << shift &^ (mebibyte - 1), nil
}

// run sets up, measures, reports and undoes.
func run(ctx context.Context, opts options, out, progress io.Writer) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("making devices needs root; run it with sudo")
	}
	if _, err := exec.LookPath("fio"); err != nil {
		return fmt.Errorf("%w (apt-get install fio)", err)
	}
	pool, err := loadPool()
	if err != nil {
		return err
	}
	var made cleanup
	defer func() { err = errors.Join(err, made.undo()) }()
	devices, err := setUp(opts, &made)
	if err != nil {
		return err
	}
	bench := &benchmark{opts: opts, pool: pool, devices: devices, progress: progress}
	if err := bench.run(ctx); err != nil {
		return err
	}
	report := bench.report()
	if opts.json {
		err = report.writeJSON(out)
	} else {
		err = report.writeText(out)
	}
	return errors.Join(err, bench.checkData())
}

// setUp makes the devices that the options ask for: the subject, then the anchor.
func setUp(opts options, made *cleanup) ([]*device, error) {
	var subject *device
	var err error
	if opts.device != "" {
		subject, err = openPlain(opts.device)
	} else {
		subject, err = mountZramfs(opts, made)
	}
	if err != nil {
		return nil, err
	}
	devices := []*device{subject}
	if opts.anchor == "zram" {
		anchor, err := addZram(opts.size, made)
		if err != nil {
			return nil, err
		}
		devices = append(devices, anchor)
	}
	return devices, nil
}
