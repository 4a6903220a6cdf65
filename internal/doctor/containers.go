// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
	"github.com/zramfs/zramfs/internal/term"
)

// A ContainerSwap is how much swap a container of a pod may use.
type ContainerSwap struct {
	ID       string  `json:"id"`        // of the container
	Title    string  `json:"title"`     // namespace, pod and container; the UID of the pod without --pods
	QOSClass string  `json:"qos_class"` // of the pod
	SwapMax  *uint64 `json:"swap_max"`  // memory.swap.max now; null for no limit
	Limited  uint64  `json:"limited"`   // memory.swap.max under LimitedSwap, with the swap that is on
	About    bool    `json:"about"`     // limited is estimated from the OOM score, which tells the request to a thousandth of the memory
	Why      string  `json:"why"`       // why limited is 0; empty if it is not
}

// containerSwap looks at the groups of all containers.
func (m Machine) containerSwap() (all []ContainerSwap, err error) {
	groups, err := podswap.Groups(m.Root)
	if err != nil {
		return nil, err
	}
	ram, err := m.MemTotal()
	if err != nil {
		return nil, err
	}
	node := podswap.Node{Memory: ram, Swap: m.SwapUse().Total}
	running := map[string]podswap.Running{}
	for _, r := range podswap.RunningIn(m.Kubernetes.Pods) {
		running[r.ID] = r
	}
	for _, g := range groups {
		c, there, err := m.containerIn(g, node, running)
		if err != nil {
			return nil, err
		}
		if there {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b ContainerSwap) int {
		return cmp.Or(cmp.Compare(a.Title, b.Title), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// containerIn describes the container of a group; false for the sandbox of a pod, and for a
// container that is gone or was started after the list of pods was made.
func (m Machine) containerIn(g podswap.Group, node podswap.Node, running map[string]podswap.Running) (c ContainerSwap, there bool, err error) {
	c = ContainerSwap{ID: g.ID, Title: "pod " + g.PodUID, QOSClass: g.QOSClass}
	r, known := running[g.ID]
	switch {
	case known:
		c.Title = r.Title()
		c.Limited, c.Why = node.Limit(r.Pod, r.Container)
	case m.Kubernetes.Pods != nil:
		return c, false, nil
	default:
		c.Limited, c.Why = node.Estimate(m.Root, g)
		c.About = c.Why == ""
		if c.Why == podswap.WhySandbox {
			return c, false, nil
		}
	}
	limit, there, err := g.Limit(m.Root)
	if limit != podswap.NoLimit {
		c.SwapMax = &limit
	}
	return c, there, err
}

// checkPodSwap sums up what containers may use.
func checkPodSwap(m Machine) (Finding, error) {
	if err := m.Kubernetes.containersErr; errors.Is(err, podswap.ErrNoGroups) {
		return ok("not limited by cgroup v1")
	} else if err != nil {
		return Finding{}, err
	}
	all := m.Kubernetes.containers
	now, would, other := 0, 0, 0
	for _, c := range all {
		if c.SwapMax == nil || *c.SwapMax > 0 {
			now++
		}
		if c.Limited > 0 {
			would++
		}
		if !c.About && (c.SwapMax == nil || !podswap.SameLimit(*c.SwapMax, c.Limited)) {
			other++
		}
	}
	detail := fmt.Sprintf("of %s %d may swap now, and %d under LimitedSwap", term.Plural(len(all), "container", "containers"), now, would)
	k, err := m.kubelet()
	if err == nil && k.SwapBehavior == kubelet.LimitedSwap && m.Kubernetes.Pods != nil && other > 0 {
		return warn(fmt.Sprintf("%s; %d have another limit than their requests give", detail, other),
			"restart the kubelet if it is older than swap, and then the pods")
	}
	return ok("%s", detail)
}

// containerTable lists containers; empty for none.
func containerTable(all []ContainerSwap) string {
	if len(all) == 0 {
		return ""
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONTAINER\tQOS\tSWAP-MAX\tLIMITED-SWAP")
	for _, c := range all {
		now, limited := "max", term.Size(c.Limited)
		if c.SwapMax != nil {
			now = term.Size(*c.SwapMax)
		}
		switch {
		case c.About:
			limited = "about " + limited
		case c.Why != "":
			limited += " (" + c.Why + ")"
		}
		fmt.Fprintf(table, "%s %s\t%s\t%s\t%s\n", c.Title, c.ID[:12], c.QOSClass, now, limited)
	}
	_ = table.Flush() // to memory
	return "\n" + out.String() + "\n"
}
