// SPDX-License-Identifier: Apache-2.0

// Command zramfs-node is what runs in a pod on each node of a Kubernetes cluster.
//
//	zramfs-node run [--dir DIR] [--on-delete keep|swapoff] [--startup-taint KEY] [-- FLAG...]
//	zramfs-node leave [--dir DIR] [--on-delete keep|swapoff] [--wait 10m]
//	zramfs-node zramfs ARG...
//	zramfs-node serve [--token-file FILE] [--listen HOST:PORT] [-- FLAG...]
//	zramfs-node limited-swap [--node NAME] [--root DIR] [--interval 10s] [--restore]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/zramfs/zramfs/internal/limitedswap"
	"github.com/zramfs/zramfs/internal/nodepod"
	"github.com/zramfs/zramfs/internal/onhost"
	"github.com/zramfs/zramfs/internal/term"
)

// errUsage is an error in the name of a command.
var errUsage = errors.New("wrong call: use zramfs-node run, leave, zramfs, serve or limited-swap")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	// Standard error is the last place to report to: a failure to write there is lost.
	_, _ = fmt.Fprintf(os.Stderr, "zramfs-node: %s\n", term.OneLine(err.Error()))
	var failed *nodepod.Failed
	switch {
	case errors.As(err, &failed):
		os.Exit(failed.Code)
	case errors.Is(err, onhost.ErrNoProgram):
		os.Exit(nodepod.CodeNotInstalled)
	case errors.Is(err, errUsage), errors.Is(err, limitedswap.ErrUsage), errors.Is(err, nodepod.ErrUsage):
		os.Exit(2)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch name, rest := args[0], args[1:]; name {
	case "run":
		return nodepod.Run(ctx, rest, os.Stdout, os.Stderr)
	case "leave":
		return nodepod.Leave(ctx, rest, os.Stdout, os.Stderr)
	case "zramfs":
		return nodepod.Zramfs(rest)
	case "serve":
		return nodepod.Serve(ctx, rest, os.Stdout)
	case "limited-swap":
		return limitedswap.Main(ctx, rest, os.Stdout)
	}
	return errUsage
}
