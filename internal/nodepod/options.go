// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Values of --on-delete: the state of swap after zramfs has gone from the node.
const (
	keep    = "keep"
	swapoff = "swapoff"
)

// options are the arguments of Run and Leave.
type options struct {
	dir       string // DIR of the device on the node
	onDelete  string
	node      string
	namespace string
	pod       string

	taint    string        // key; empty for none
	interval time.Duration // between looks at the device
	up       []string      // flags of up

	wait time.Duration // until what is in swap fits into memory
}

const (
	defaultDir      = "/run/zram"
	defaultInterval = 10 * time.Second
	defaultWait     = 10 * time.Minute
)

// common declares what Run and Leave have in common.
func (o *options) common(name string, out io.Writer) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&o.dir, "dir", defaultDir, "directory of the device on the node")
	set.StringVar(&o.onDelete, "on-delete", keep, "keep swap on, or swapoff, when the DaemonSet is deleted or the node is drained")
	set.StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "name of the node; by default NODE_NAME of the environment")
	set.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the pod; by default POD_NAMESPACE of the environment")
	set.StringVar(&o.pod, "pod", os.Getenv("POD_NAME"), "name of the pod; by default POD_NAME of the environment")
	return set
}

func parseRun(args []string, out io.Writer) (o options, err error) {
	set := o.common("run", out)
	set.StringVar(&o.taint, "startup-taint", "", "key of the taint to remove from the node once the device is healthy")
	set.DurationVar(&o.interval, "interval", defaultInterval, "time between looks at the device")
	if err := set.Parse(args); err != nil {
		return o, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	o.up = set.Args()
	if o.interval < time.Second {
		return o, fmt.Errorf("%w: --interval %v is below 1s", ErrUsage, o.interval)
	}
	if len(o.up) > 0 && (o.up[0] == "" || o.up[0][0] != '-') {
		return o, fmt.Errorf("%w: what follows -- are flags of zramfs up, and %q is none; --dir names the directory", ErrUsage, o.up[0])
	}
	return o, o.check()
}

func parseLeave(args []string, out io.Writer) (o options, err error) {
	set := o.common("leave", out)
	set.DurationVar(&o.wait, "wait", defaultWait, "how long to wait until what is in swap fits into memory")
	if err := set.Parse(args); err != nil {
		return o, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if set.NArg() > 0 {
		return o, fmt.Errorf("%w: leave takes no arguments", ErrUsage)
	}
	if o.wait < 0 {
		return o, fmt.Errorf("%w: --wait %v is below 0", ErrUsage, o.wait)
	}
	return o, o.check()
}

// check reports what is wrong with values that depend on each other.
func (o options) check() error {
	switch {
	case !filepath.IsAbs(o.dir) || filepath.Clean(o.dir) != o.dir || o.dir == "/":
		return fmt.Errorf("%w: --dir %s: name an absolute path, as %s", ErrUsage, o.dir, defaultDir)
	case o.onDelete != keep && o.onDelete != swapoff:
		return fmt.Errorf("%w: --on-delete %s: say %s or %s", ErrUsage, o.onDelete, keep, swapoff)
	case o.onDelete == swapoff && (o.pod == "" || o.namespace == ""):
		return fmt.Errorf("%w: --on-delete %s asks about this pod: set POD_NAME from metadata.name, and POD_NAMESPACE from metadata.namespace", ErrUsage, swapoff)
	case (o.onDelete == swapoff || o.taint != "") && o.node == "":
		return fmt.Errorf("%w: set NODE_NAME from spec.nodeName", ErrUsage)
	}
	return nil
}
