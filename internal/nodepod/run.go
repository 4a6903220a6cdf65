// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/kubeapi"
	"github.com/zramfs/zramfs/internal/term"
)

// A runner is one run of the pod.
type runner struct {
	node
	o      options
	client *kubeapi.Client // nil where the API server is not asked
	again  time.Duration   // after which settle is called again
}

// settleAgain is how long a node that is registered anew, under the pod, may keep the startup
// taint.
const settleAgain = 5 * time.Minute

// Run is what the container of the pod does until ctx ends: it has the device served by the program
// of its image, and removes the startup taint once the device is healthy. The device stays when Run
// ends. An error of up is a *Failed with its code.
func Run(ctx context.Context, args []string, out, warn io.Writer) error {
	o, err := parseRun(args, out)
	if err != nil {
		return err
	}
	r := &runner{o: o, again: settleAgain, node: node{dir: o.dir, out: out, warn: warn}}
	if o.taint != "" || o.onDelete == swapoff {
		if r.client, err = kubeapi.InCluster(); err != nil {
			return err
		}
	}
	if err := r.mayAsk(ctx); err != nil {
		return err
	}
	if err := exclusively(ctx, o.interval, func() error { return r.turnOn(ctx) }); err != nil {
		return ignoreEnd(ctx, err)
	}
	return ignoreEnd(ctx, r.attend(ctx))
}

// turnOn installs the programs of the image and has the device served by them.
func (r *runner) turnOn(ctx context.Context) error {
	if err := r.o.takeOver(); err != nil {
		return err
	}
	if err := r.install(); err != nil {
		return err
	}
	return r.start(ctx)
}

// ignoreEnd drops the error of what was interrupted.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// mayAsk fails without the rights that Leave needs. A right that is missing then was taken away
// since: the release is being removed.
func (r *runner) mayAsk(ctx context.Context) error {
	if r.o.onDelete != swapoff {
		return nil
	}
	v, err := r.o.judge(ctx, r.client)
	if err == nil && v.noRights {
		err = errors.New(v.why)
	}
	if err != nil {
		return fmt.Errorf("--on-delete %s: %w", swapoff, err)
	}
	return nil
}

// start turns the device on. If it is on already, the program of this image takes it over.
func (r *runner) start(ctx context.Context) error {
	s, err := r.look(ctx)
	if err != nil {
		return err
	}
	if !s.running {
		return r.up(ctx)
	}
	if !serves(s.worker) {
		if err := r.run(ctx, "upgrade", r.dir); err != nil {
			r.note("the program before goes on: " + err.Error())
		}
	}
	if err := r.run(ctx, r.o.upArgs()...); err != nil && ctx.Err() == nil { // compares values, and revives what helps the device
		r.note("the device stays as it is: " + err.Error())
	}
	return nil
}

func (o options) upArgs() []string { return append(append([]string{"up"}, o.up...), o.dir) }

func (r *runner) note(line string) { _, _ = fmt.Fprintln(r.warn, "zramfs: "+term.OneLine(line)) }

// up turns the device on, by the service manager of the node if it has one.
func (r *runner) up(ctx context.Context) error {
	u, err := unitFor(r.dir, r.o.upArgs())
	if err != nil {
		return err
	}
	if managed, err := u.start(ctx, r.warn); managed || err != nil {
		return err
	}
	return r.run(ctx, r.o.upArgs()...)
}

// attend looks at the device until ctx ends, or the device or the installed program is gone, unless
// Leave takes them away.
func (r *runner) attend(ctx context.Context) error {
	trouble, settled := "", time.Time{}
	for {
		s, err := r.look(ctx)
		if err == nil && !s.running && !isLeaving() {
			return fmt.Errorf("the device at %s is gone", r.dir)
		}
		if errors.Is(err, errNotInstalled) && !isLeaving() { // another pod has cleaned up
			return err
		}
		if err == nil && s.running && !s.healthy {
			err = errors.New("degraded: " + strings.Join(s.what, "; "))
		}
		if err == nil && s.running && (settled.IsZero() || time.Since(settled) > r.again) {
			if err = r.settle(ctx); err == nil {
				settled = time.Now()
			}
		}
		if now := text(err); now != trouble && ctx.Err() == nil {
			r.note(r.dir + ": " + cmp.Or(now, "healthy"))
			trouble = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(r.o.interval):
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// settle lets pods come to the node.
func (r *runner) settle(ctx context.Context) error {
	if r.o.taint == "" {
		return nil
	}
	removed, err := r.client.RemoveTaint(ctx, r.o.node, r.o.taint)
	if err != nil {
		return fmt.Errorf("remove the taint %s: %w", r.o.taint, err)
	}
	if removed {
		r.note("removed the taint " + r.o.taint + " from " + r.o.node)
	}
	return nil
}
