// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/zramfs/zramfs/internal/kubeapi"
	"github.com/zramfs/zramfs/internal/onhost"
)

// Tries of Leave where the API server does not answer. As many refusals one after the other count
// as rights that are gone: a server that starts, or whose authorizer is away, refuses what it
// allows a moment later.
const (
	askTries = 5
	askPause = 2 * time.Second
)

// Leave is what the pod does before it ends (preStop): it turns swap off if --on-delete says so and
// zramfs is to go from the node. Swap stays on where the API server does not say why the pod ends.
func Leave(ctx context.Context, args []string, out, warn io.Writer) error {
	o, err := parseLeave(args, out)
	if err != nil || o.onDelete == keep {
		return err
	}
	client, err := kubeapi.InCluster()
	if err != nil {
		return err
	}
	v, err := o.ask(ctx, client, askPause)
	if err != nil {
		return fmt.Errorf("swap stays on, since it cannot be told why the pod ends: %w", err)
	}
	if v.goes {
		next, err := o.successor()
		if err != nil {
			return fmt.Errorf("swap stays on, since it cannot be told whose it is: %w", err)
		}
		if next != "" {
			v = verdict{why: "the pod " + next + " has taken it over"}
		}
	}
	if !v.goes {
		_, err := fmt.Fprintln(out, "swap stays on: "+v.why)
		return err
	}
	if _, err := fmt.Fprintln(out, "turn swap off: "+v.why); err != nil {
		return err
	}
	unlock, err := lockLeave()
	if err != nil {
		return err
	}
	n := node{dir: o.dir, out: out, warn: warn}
	return errors.Join(n.end(ctx, o), unlock())
}

// end turns swap off and cleans up.
func (n node) end(ctx context.Context, o options) error {
	if err := n.run(ctx, "down", "--wait", strconv.Itoa(int(o.wait.Seconds())), o.dir); err != nil {
		return err
	}
	return n.cleanUp(ctx, o)
}

// cleanUp removes what Run has left on the node, unless another device or pod uses it.
func (n node) cleanUp(ctx context.Context, o options) error {
	if next, err := o.successor(); err != nil || next != "" {
		return err
	}
	others, err := onhost.Exists(filepath.Join(filepath.Dir(programs), "*.json"))
	if err != nil || others {
		return err
	}
	u, err := unitFor(n.dir, nil)
	if err != nil {
		return err
	}
	return errors.Join(u.remove(ctx), onhost.RemoveGroup(), onhost.Remove(programs), ownerOf(n.dir).remove())
}

// A verdict says whether zramfs is to go from the node, and why.
type verdict struct {
	goes     bool
	noRights bool // the API server refuses to say
	why      string
}

// ask is judge with some patience.
func (o options) ask(ctx context.Context, c *kubeapi.Client, pause time.Duration) (v verdict, err error) {
	for failures, refusals := 0, 0; ; time.Sleep(pause) {
		switch v, err = o.judge(ctx, c); {
		case err != nil:
			failures, refusals = failures+1, 0
		case v.noRights:
			refusals++
		default:
			return v, nil
		}
		if failures == askTries || refusals == askTries || ctx.Err() != nil {
			return v, err
		}
	}
}

// judge asks why the pod ends. The error means that it cannot be told.
func (o options) judge(ctx context.Context, c *kubeapi.Client) (verdict, error) {
	refused := func(err error) (verdict, error) {
		if errors.Is(err, kubeapi.ErrForbidden) || errors.Is(err, kubeapi.ErrUnauthorized) {
			return verdict{goes: true, noRights: true, why: "the rights of the service account are gone: " + err.Error()}, nil
		}
		return verdict{}, err
	}
	pod, err := c.Pod(ctx, o.namespace, o.pod)
	if err != nil {
		return refused(err)
	}
	owner, ok := controller(pod)
	if !ok {
		return verdict{why: "no DaemonSet owns the pod"}, nil
	}
	set, err := c.DaemonSet(ctx, o.namespace, owner.Name)
	if errors.Is(err, kubeapi.ErrNotFound) {
		return verdict{goes: true, why: "the DaemonSet " + owner.Name + " is deleted"}, nil
	}
	if err != nil {
		return refused(err)
	}
	n, err := c.Node(ctx, o.node)
	if errors.Is(err, kubeapi.ErrNotFound) {
		return verdict{goes: true, why: "the node " + o.node + " is deleted"}, nil
	}
	if err != nil {
		return refused(err)
	}
	return decide(pod, set, n), nil
}

// controller returns the DaemonSet that a pod belongs to.
func controller(p kubeapi.Pod) (kubeapi.Owner, bool) {
	for _, o := range p.Metadata.Owners {
		if o.Controller && o.Kind == "DaemonSet" {
			return o, true
		}
	}
	return kubeapi.Owner{}, false
}

// The generation of the template that a pod is from, and that its DaemonSet has.
const (
	labelGeneration      = "pod-template-generation"
	annotationGeneration = "deprecated.daemonset.template.generation"
)

// decide tells from objects why the pod ends.
func decide(p kubeapi.Pod, set kubeapi.DaemonSet, n kubeapi.Node) verdict {
	owner, _ := controller(p)
	mine, its := p.Metadata.Labels[labelGeneration], set.Metadata.Annotations[annotationGeneration]
	switch {
	case set.Metadata.Deleted != nil:
		return verdict{goes: true, why: "the DaemonSet " + set.Metadata.Name + " is being deleted"}
	case set.Metadata.UID != owner.UID:
		return verdict{why: "another DaemonSet has taken the place of that of the pod"}
	case p.Metadata.Deleted == nil:
		return verdict{why: "the pod is not being deleted"}
	case !selects(set.Spec.Template.Spec.NodeSelector, n.Metadata.Labels):
		return verdict{goes: true, why: "the DaemonSet does not select the node " + n.Metadata.Name}
	case mine != its:
		return verdict{why: "the DaemonSet has another template for its next pod"}
	case n.Metadata.Deleted != nil:
		return verdict{goes: true, why: "the node " + n.Metadata.Name + " is being deleted"}
	case n.Spec.Unschedulable:
		return verdict{goes: true, why: "the node " + n.Metadata.Name + " is drained"}
	}
	return verdict{why: "the DaemonSet will make another pod"}
}

// selects reports whether a node has all labels of a selector.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if has, ok := labels[key]; !ok || has != value {
			return false
		}
	}
	return true
}
