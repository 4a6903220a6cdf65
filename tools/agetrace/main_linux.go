// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	device := flag.String("device", "", "record this block `DEVICE`, as loop0")
	seconds := flag.Int("seconds", 600, "record for `N` seconds, or until SIGTERM or SIGINT")
	keep := flag.Uint64("keep", 1, "keep one of `N` groups of eight pages")
	out := flag.String("o", "", "write to `FILE`")
	remark := flag.String("remark", "", "a `TEXT` that the file begins with")
	flag.Parse()
	if *device == "" || *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
	defer cancel()
	if err := run(ctx, *device, *keep, *out, *remark); err != nil {
		fmt.Fprintln(os.Stderr, "agetrace:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, device string, keep uint64, out, remark string) (err error) {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := newWriter(file, keep)
	if err := w.remark(fmt.Sprintf("%s; one of %d groups of pages", remark, keep)); err != nil {
		return err
	}
	err = record(ctx, device, w)
	fmt.Printf("%d pages written, %d read, %d discarded; %d lines\n", w.seen['w'], w.seen['r'], w.seen['d'], w.lines)
	return errors.Join(err, w.z.Close())
}
