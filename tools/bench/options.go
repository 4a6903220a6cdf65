// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of run, which the first argument names.
const (
	modeBlock = "block"
	modeSwap  = "swap"
	modeShow  = "show"  // modeSwap for a newcomer: one round, in words
	modeStart = "start" // how long it takes until swap is on
	modeStore = "store" // memory over time
)

// options is a command line. It is immutable once parsed.
type options struct {
	// mode is modeBlock, modeSwap, modeShow, modeStart or modeStore.
	mode string
	// size is that of each device in bytes; in modeSwap 0 stands for what the
	// limit asks for.
	size   int64
	rounds int
	// contestants are measured against the anchor; at least one unless device is set.
	contestants []contestant
	algorithm   string
	anchor      string
	json        bool

	// Of modeBlock.
	runtime time.Duration
	device  string

	// Of modeStore.
	idle  time.Duration // without a request
	churn int           // how often the device is overwritten
	pace  int           // MiB a second that a device is filled with; 0 for no bound
	plot  string        // file for a picture; empty for none

	// Of modeSwap.
	limit   int64 // bytes that the load may keep in memory
	times   int   // how often the limit is filled
	touches int   // how many; of a trace the first of them
	// workload is workUniform, workZipf or the path of a trace.
	workload string
	// loadCPU is the only processor that the load may run on, or anyCPU.
	loadCPU int
	window  time.Duration
	// clusters are the values of vm.page-cluster with which each subject is measured, in ascending
	// order.
	clusters []int
}

// minSize lets 1 MiB transfers, four at a time, keep apart; a smaller limit than
// minLimit is used up by the load's own needs.
const (
	minSize  = 16 << 20
	minLimit = 32 << 20
	// maxWindow is how long swap may be on: some machines send what has been idle
	// for a minute to any swap that is on.
	maxWindow = 60 * time.Second
	// maxCluster is the largest vm.page-cluster that means anything: a megabyte.
	maxCluster = 8
	// defaultCluster is the kernel's value on machines with more than 16 MiB of memory.
	defaultCluster = 3
	anyCPU         = -1
)

// A commandLine is what the flags leave behind before it has been checked.
type commandLine struct {
	options
	binary     string
	mountFlags string
	named      []string // the arguments of -contestant
}

// parse reads a command line without the program's name. Its errors are the
// user's; help comes back as flag.ErrHelp, printed to help.
func parse(args []string, help io.Writer) (options, error) {
	line := commandLine{options: options{mode: modeBlock}}
	if len(args) > 0 && slices.Contains([]string{modeBlock, modeSwap, modeShow, modeStart, modeStore}, args[0]) {
		line.mode, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("bench "+line.mode, flag.ContinueOnError)
	flags.SetOutput(help)
	switch line.mode {
	case modeBlock:
		line.define(flags, 3)
		line.defineBlock(flags)
	case modeSwap:
		line.define(flags, 3)
		line.defineSwap(flags)
	case modeShow:
		line.defineShow(flags)
	case modeStart:
		line.define(flags, 200)
		line.defineStart(flags)
	case modeStore:
		line.define(flags, 1)
		line.defineStore(flags)
	}
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := errors.Join(line.resolve(), line.check()); err != nil {
		return options{}, err
	}
	return line.options, nil
}

func (l *commandLine) define(flags *flag.FlagSet, rounds int) {
	flags.IntVar(&l.rounds, "rounds", rounds, "measure everything `N` times")
	flags.StringVar(&l.binary, "binary", "", "measure the zramfs program at `PATH`")
	flags.StringVar(&l.algorithm, "algorithm", "", "tell zramfs to use `NAME` (default: what it uses by itself)")
	flags.StringVar(&l.mountFlags, "mount-flags", "", "give zramfs these `FLAGS`, separated by blanks")
	flags.Func("contestant", "measure `NAME=[PROGRAM] [FLAGS]` in the same run: that program, or -binary, with these flags; "+
		"can be given several times", func(text string) error {
		l.named = append(l.named, text)
		return nil
	})
	flags.StringVar(&l.anchor, "anchor", zramName, "measure beside `zram`, the kernel's, or none")
	flags.BoolVar(&l.json, "json", false, "print JSON with every round's figures")
}

func (l *commandLine) defineBlock(flags *flag.FlagSet) {
	l.size = 1 << 30
	sizeFlag(flags, &l.size, "size", "give each device `BYTES`, with K, M or G for 1024s (default 1G)")
	flags.DurationVar(&l.runtime, "runtime", 4*time.Second, "measure each workload for `TIME` in each round")
	flags.StringVar(&l.device, "device", "", "measure the block device at `PATH` instead, overwriting it")
}

func (l *commandLine) defineSwap(flags *flag.FlagSet) {
	l.limit = 512 << 20
	sizeFlag(flags, &l.size, "size", "give each device `BYTES`, with K, M or G for 1024s (default: what is filled, and the limit besides)")
	sizeFlag(flags, &l.limit, "limit", "let the load keep `BYTES` in memory, with K, M or G for 1024s (default 512M)")
	flags.IntVar(&l.times, "times", 3, "fill `N` times the limit")
	flags.IntVar(&l.touches, "touches", 50_000, "touch `N` pages; of a trace the first")
	flags.StringVar(&l.workload, "workload", workUniform, "touch pages at random, all alike (uniform) or some more often than others (zipf), "+
		"or as `FILE` of tools/agetrace has it")
	flags.IntVar(&l.loadCPU, "load-cpu", anyCPU, "let the load run on CPU `N` only (default: wherever the scheduler puts it)")
	flags.DurationVar(&l.window, "window", 55*time.Second, "turn swap off after `TIME` whatever happens, 60s at most")
	l.clusters = []int{0, 3, 5}
	flags.Func("page-clusters", "measure everything with each of these values of vm.page-cluster, `N[,N]`: "+
		"2^N pages are read ahead (default 0,3,5)", func(text string) (err error) {
		l.clusters, err = parseClusters(text)
		return err
	})
}

// defineShow leaves vm.page-cluster at the machine's value, or the kernel's default where that
// cannot be read.
func (l *commandLine) defineShow(flags *flag.FlagSet) {
	l.limit, l.times, l.touches, l.rounds, l.workload = 128<<20, 3, 20_000, 1, workUniform
	l.loadCPU, l.window, l.anchor, l.clusters = anyCPU, 55*time.Second, "none", []int{defaultCluster}
	if text, err := os.ReadFile(pageCluster); err == nil {
		if now, err := parseClusters(strings.TrimSpace(string(text))); err == nil {
			l.clusters = now
		}
	}
	flags.StringVar(&l.binary, "binary", "", "show the zramfs program at `PATH`")
	sizeFlag(flags, &l.limit, "limit", "let the program keep `BYTES` in memory, with K, M or G for 1024s (default 128M)")
}

func (l *commandLine) defineStart(flags *flag.FlagSet) {
	l.size, l.window = 256<<20, 55*time.Second
	sizeFlag(flags, &l.size, "size", "give each device `BYTES`, with K, M or G for 1024s (default 256M)")
}

func (l *commandLine) defineStore(flags *flag.FlagSet) {
	l.size = 2 << 30
	sizeFlag(flags, &l.size, "size", "give each device `BYTES`, with K, M or G for 1024s (default 2G)")
	flags.DurationVar(&l.idle, "idle", 12*time.Minute, "leave the devices alone for `TIME`")
	flags.IntVar(&l.churn, "churn", 10, "overwrite each device `N` times")
	flags.IntVar(&l.pace, "pace", 0, "fill each device with `N` MiB a second, 0 for as fast as it takes them")
	flags.StringVar(&l.plot, "plot", "", "write a picture, SVG, to `FILE`")
}

func sizeFlag(flags *flag.FlagSet, size *int64, name, usage string) {
	flags.Func(name, usage, func(text string) (err error) {
		*size, err = parseSize(text)
		return err
	})
}

// resolve works out what follows from other flags.
func (l *commandLine) resolve() error {
	if l.size == 0 && (l.mode == modeSwap || l.mode == modeShow) {
		l.size = l.limit * int64(l.times+1)
	}
	var err error
	l.contestants, err = contestants(l.binary, strings.Fields(l.mountFlags), l.named)
	return err
}

func (l *commandLine) check() error {
	switch {
	case (len(l.contestants) == 0) == (l.device == ""):
		return errors.New("give either -binary, the zramfs program to measure, or -device")
	case l.anchor != zramName && l.anchor != "none":
		return fmt.Errorf("-anchor %s: want zram or none", l.anchor)
	case l.rounds < 1:
		return fmt.Errorf("-rounds %d: want at least 1", l.rounds)
	case l.mode == modeSwap || l.mode == modeShow:
		return l.checkSwap()
	case l.size < minSize:
		return fmt.Errorf("-size %d: want at least %d", l.size, minSize)
	case l.mode == modeStore && (l.rounds != 1 || l.churn < 1 || l.pace < 0 || l.device != ""):
		return errors.New("store: want one round, -churn of at least 1 and -pace of at least 0")
	case l.mode == modeBlock && l.runtime < 100*time.Millisecond:
		return fmt.Errorf("-runtime %v: want at least 100ms", l.runtime)
	}
	return nil
}

func (l *commandLine) checkSwap() error {
	switch {
	case l.limit < minLimit:
		return fmt.Errorf("-limit %d: want at least %d", l.limit, minLimit)
	case l.times < 2 || l.times > 16:
		return fmt.Errorf("-times %d: want 2 to 16", l.times)
	case l.size < l.limit*int64(l.times):
		return fmt.Errorf("-size %d: less than the %d bytes that are filled", l.size, l.limit*int64(l.times))
	case l.touches < 1:
		return fmt.Errorf("-touches %d: want at least 1", l.touches)
	case l.loadCPU < anyCPU || l.loadCPU >= runtime.NumCPU():
		return fmt.Errorf("-load-cpu %d: this machine has 0 to %d", l.loadCPU, runtime.NumCPU()-1)
	case l.window <= 0 || l.window > maxWindow:
		return fmt.Errorf("-window %v: want more than 0 and at most %v", l.window, maxWindow)
	}
	return nil
}

// parseClusters reads values of vm.page-cluster with commas between them and returns them in order.
func parseClusters(text string) ([]int, error) {
	var clusters []int
	for field := range strings.SplitSeq(text, ",") {
		value, err := strconv.Atoi(field)
		if err != nil || value < 0 || value > maxCluster || slices.Contains(clusters, value) {
			return nil, fmt.Errorf("want different numbers, 0 to %d, with commas between them", maxCluster)
		}
		clusters = append(clusters, value)
	}
	slices.Sort(clusters)
	return clusters, nil
}

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
