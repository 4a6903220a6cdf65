// SPDX-License-Identifier: Apache-2.0

// Command zramfs-monitor carries out zramfs metrics, serve, report and top, which start it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zramfs/zramfs/cmd/zramfs/aside"
	"github.com/zramfs/zramfs/cmd/zramfs/exposition"
	"github.com/zramfs/zramfs/cmd/zramfs/figures"
	_ "github.com/zramfs/zramfs/cmd/zramfs/limits" // before any package that opens files
	"github.com/zramfs/zramfs/cmd/zramfs/monitor"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/cmd/zramfs/top"
	"github.com/zramfs/zramfs/cmd/zramfs/web"
)

func main() {
	if aside.Run(os.Args, os.Stdout) {
		return
	}
	err := run(os.Args)
	if err == nil {
		return
	}
	// Standard error is the last place to report to: a failure to write there is lost.
	_, _ = fmt.Fprintf(os.Stderr, "zramfs: %s\n", term.OneLine(err.Error()))
	if errors.Is(err, monitor.ErrUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(args []string) error {
	o, err := monitor.Parse(args)
	if err != nil {
		return err
	}
	switch o.Task {
	case monitor.Metrics:
		return printMetrics(o)
	case monitor.Serve:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return web.Serve(ctx, o, term.Printer{Out: os.Stderr})
	case monitor.Report:
		return web.Report(o, os.Stdout)
	case monitor.Top:
		return showTop(o.Screen)
	default:
		return monitor.Usagef("%s knows no task %q: install it from the same version as zramfs", monitor.Program, o.Task)
	}
}

// showTop shows devices live, or once as text.
func showTop(s *monitor.Screen) (err error) {
	if s == nil {
		return monitor.Usagef("%s has no screen to show: use zramfs top", monitor.Program)
	}
	o := top.Options{Dirs: s.Dirs, Interval: s.Interval, UTF8: s.UTF8}
	if s.Once {
		err = top.Once(term.Printer{Out: os.Stdout}, o, s.Width, s.Height)
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err = top.Run(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}

// printMetrics looks at all devices once. A device that does not answer is no error: its metrics
// say so.
func printMetrics(o monitor.Order) error {
	look, err := figures.Take()
	if err != nil {
		return err
	}
	if err := exposition.Write(os.Stdout, look, o.Build); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}
