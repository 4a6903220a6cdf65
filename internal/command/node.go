// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/limitedswap"
	"github.com/zramfs/zramfs/internal/nodepod"
	"github.com/zramfs/zramfs/internal/onhost"
)

const (
	nodeName = "node"
	nodeUses = "run|leave|zramfs|serve|limited-swap"
)

func nodeCommand() *cli.Command {
	return &cli.Command{
		Name:      nodeName,
		Usage:     "what a pod runs on its node of a Kubernetes cluster",
		ArgsUsage: nodeUses + " [ARG...]",
		Description: "run installs zramfs on the node and turns swap on there, outside of the pod; leave decides at the end of the pod whether swap goes off. " +
			"zramfs runs zramfs on the node with the arguments behind it, and serve does so for the dashboard, with the network of the pod. limited-swap gives " +
			"containers the swap that the kubelet would give them under LimitedSwap. With --help behind one of these words it prints its flags; " +
			"docs/kubernetes.md says what each needs.",
		Action: nodeAction,
	}
}

// nodeAction passes the words behind its first argument on as they are.
func nodeAction(c *cli.Context) error {
	ctx, stop := interruptible(c.Context)
	defer stop()
	args := c.Args().Tail()
	switch c.Args().First() {
	case "run":
		return nodeError(nodepod.Run(ctx, args, os.Stdout, os.Stderr))
	case "leave":
		return nodeError(nodepod.Leave(ctx, args, os.Stdout, os.Stderr))
	case "zramfs":
		return nodeError(nodepod.Zramfs(args))
	case "serve":
		return nodeError(nodepod.Serve(ctx, args, os.Stdout))
	case "limited-swap":
		return nodeError(limitedswap.Main(ctx, args, os.Stdout))
	}
	return usageError("node: name what to do: %s", strings.ReplaceAll(nodeUses, "|", ", "))
}

// nodeError returns err with its exit code: of a command of zramfs that failed on the node its own.
func nodeError(err error) error {
	var failed *nodepod.Failed
	switch {
	case errors.Is(err, flag.ErrHelp): // it is printed
		return nil
	case errors.As(err, &failed):
		return &exitError{code: failed.Code, cause: err}
	case errors.Is(err, onhost.ErrNoProgram):
		return &exitError{code: nodepod.CodeNotInstalled, cause: err}
	case errors.Is(err, nodepod.ErrUsage), errors.Is(err, limitedswap.ErrUsage):
		return usageError("node: %w", err)
	}
	return err
}
