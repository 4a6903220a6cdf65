// SPDX-License-Identifier: Apache-2.0

package limitedswap

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/kubeapi"
	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
)

// ErrUsage marks an error in the arguments of Main.
var ErrUsage = errors.New("wrong call")

// minInterval keeps the agent from taking a processor.
const minInterval = time.Second

// options are the arguments of Main.
type options struct {
	root, node string
	interval   time.Duration
	restore    bool
}

func parse(args []string, out io.Writer) (o options, err error) {
	set := flag.NewFlagSet("limited-swap", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&o.root, "root", "/", "directory below which the pod sees the file systems of the node")
	set.StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "name of the node; by default NODE_NAME of the environment")
	set.DurationVar(&o.interval, "interval", 10*time.Second, "time between checks; a change of a pod is seen at once")
	set.BoolVar(&o.restore, "restore", false, "set the former limits when the agent ends")
	if err := set.Parse(args); err != nil {
		return o, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	switch {
	case set.NArg() > 0:
		return o, fmt.Errorf("%w: limited-swap takes no arguments", ErrUsage)
	case o.node == "":
		return o, fmt.Errorf("%w: name the node by --node, or NODE_NAME from spec.nodeName", ErrUsage)
	case o.interval < minInterval:
		return o, fmt.Errorf("%w: --interval %v is below %v", ErrUsage, o.interval, minInterval)
	}
	return o, nil
}

// Main runs the agent in a pod until ctx ends. It writes a line to out for each limit that it
// changes.
func Main(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	client, err := kubeapi.InCluster()
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	machine := host.Root(o.root)
	a := &Agent{
		Machine:  machine,
		Pods:     func(ctx context.Context) ([]podswap.Pod, error) { return client.Pods(ctx, o.node) },
		Settings: settingsInForce(client, o.node, FromFiles(machine)),
		Changed:  changed, Interval: o.interval, Restore: o.restore,
		Log: func(line string) { _, _ = fmt.Fprintln(out, line) },
	}
	go watch(ctx, client, o, changed)
	return a.Run(ctx)
}

// settingsInForce asks /configz as long as that is allowed, and reads files otherwise.
func settingsInForce(client *kubeapi.Client, node string, files func(context.Context) (kubelet.Settings, error)) func(context.Context) (kubelet.Settings, error) {
	forbidden := false
	return func(ctx context.Context) (kubelet.Settings, error) {
		if !forbidden {
			s, err := client.Configz(ctx, node)
			if err == nil {
				return s, nil
			}
			forbidden = errors.Is(err, kubeapi.ErrForbidden)
		}
		return files(ctx)
	}
}

// watch asks for a check at each change of a pod. Without a watch, the interval remains.
func watch(ctx context.Context, client *kubeapi.Client, o options, changed chan<- struct{}) {
	for ctx.Err() == nil {
		_ = client.WatchPods(ctx, o.node, func() {
			select {
			case changed <- struct{}{}:
			default: // a check is asked for already
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(o.interval):
		}
	}
}
