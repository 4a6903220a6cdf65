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
	"syscall"
)

// Exit codes, as those of zramfs itself.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	if part := os.Getenv(partVariable); part != "" {
		os.Exit(play(part, os.Args[1:]))
	}
	opts, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitUsage)
	}
	// A reader of the output that ends, as head does, brings SIGPIPE: it would leave the devices.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, opts, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(exitFailure)
	}
}

// run measures what the options ask for and reports it.
func run(ctx context.Context, opts options, out, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("making devices needs root; run it with sudo")
	}
	if opts.mode == modeStart {
		return runStart(ctx, opts, out, progress)
	}
	pool, err := loadPool()
	if err != nil {
		return err
	}
	switch opts.mode {
	case modeSwap:
		return runSwap(ctx, opts, pool, out, progress)
	case modeShow:
		return runShow(ctx, opts, pool, out)
	case modeStore:
		return runStore(ctx, opts, pool, out, progress)
	}
	return runBlock(ctx, opts, pool, out, progress)
}

// runBlock sets up, measures, reports and undoes.
func runBlock(ctx context.Context, opts options, pool *pool, out, progress io.Writer) (err error) {
	if _, err := exec.LookPath("fio"); err != nil {
		return fmt.Errorf("%w (apt-get install fio)", err)
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
		err = writeJSON(out, report)
	} else {
		err = report.writeText(out)
	}
	return errors.Join(err, bench.checkData())
}

// setUp makes the devices that the options ask for: the contestants, then the
// anchor.
func setUp(opts options, made *cleanup) ([]*device, error) {
	var devices []*device
	if opts.device != "" {
		plain, err := openPlain(opts.device)
		if err != nil {
			return nil, err
		}
		devices = append(devices, plain)
	}
	for _, one := range opts.contestants {
		mounted, err := mountZramfs(opts, one, made)
		if err != nil {
			return nil, err
		}
		devices = append(devices, mounted)
	}
	if opts.anchor == zramName {
		anchor, err := addZram(opts.size, made)
		if err != nil {
			return nil, err
		}
		devices = append(devices, anchor)
	}
	return devices, nil
}
