// SPDX-License-Identifier: Apache-2.0

// Command zramfs-node is what runs in a pod on each node of a Kubernetes cluster.
//
//	zramfs-node limited-swap [--node NAME] [--root DIR] [--interval 10s] [--restore]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zramfs/zramfs/cmd/zramfs/limitedswap"
	"github.com/zramfs/zramfs/cmd/zramfs/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	// Standard error is the last place to report to: a failure to write there is lost.
	_, _ = fmt.Fprintf(os.Stderr, "zramfs-node: %s\n", term.OneLine(err.Error()))
	if errors.Is(err, limitedswap.ErrUsage) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "limited-swap" {
		return fmt.Errorf("%w: use zramfs-node limited-swap", limitedswap.ErrUsage)
	}
	return limitedswap.Main(ctx, args[1:], os.Stdout)
}
