// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/kubeapi"
)

// objects returns the pod of a DaemonSet on a node, as they are once the pod is being deleted.
func objects() (p kubeapi.Pod, d kubeapi.DaemonSet, n kubeapi.Node) {
	now := "2026-11-24T02:00:00Z"
	p.Metadata = kubeapi.Metadata{Name: "zramfs-x", UID: "1", Deleted: &now, Labels: map[string]string{labelGeneration: "2"},
		Owners: []kubeapi.Owner{{Kind: "Node", Name: "n"}, {Kind: "DaemonSet", Name: "zramfs", UID: "2", Controller: true}}}
	d.Metadata = kubeapi.Metadata{Name: "zramfs", UID: "2", Annotations: map[string]string{annotationGeneration: "2"}}
	d.Spec.Template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	n.Metadata = kubeapi.Metadata{Name: "node-1", Labels: map[string]string{"kubernetes.io/os": "linux", "x": ""}}
	return p, d, n
}

func TestDecide(t *testing.T) {
	now := "2026-11-24T02:00:00Z"
	for name, c := range map[string]struct {
		change func(*kubeapi.Pod, *kubeapi.DaemonSet, *kubeapi.Node)
		goes   bool
		why    string
	}{
		"pod deleted": {func(*kubeapi.Pod, *kubeapi.DaemonSet, *kubeapi.Node) {}, false, "make another pod"},
		"container restart": {func(p *kubeapi.Pod, _ *kubeapi.DaemonSet, n *kubeapi.Node) {
			p.Metadata.Deleted, n.Spec.Unschedulable = nil, true
		}, false, "not being deleted"},
		"rollout": {func(p *kubeapi.Pod, d *kubeapi.DaemonSet, _ *kubeapi.Node) {
			d.Metadata.Annotations[annotationGeneration] = "3"
		}, false, "another template"},
		"rollout on a cordoned node": {func(p *kubeapi.Pod, d *kubeapi.DaemonSet, n *kubeapi.Node) {
			d.Metadata.Annotations[annotationGeneration], n.Spec.Unschedulable = "3", true
		}, false, "another template"},
		"DaemonSet deleted":  {func(_ *kubeapi.Pod, d *kubeapi.DaemonSet, _ *kubeapi.Node) { d.Metadata.Deleted = &now }, true, "zramfs is being deleted"},
		"DaemonSet replaced": {func(_ *kubeapi.Pod, d *kubeapi.DaemonSet, _ *kubeapi.Node) { d.Metadata.UID = "3" }, false, "taken the place"},
		"node drained":       {func(_ *kubeapi.Pod, _ *kubeapi.DaemonSet, n *kubeapi.Node) { n.Spec.Unschedulable = true }, true, "node-1 is drained"},
		"node deleted":       {func(_ *kubeapi.Pod, _ *kubeapi.DaemonSet, n *kubeapi.Node) { n.Metadata.Deleted = &now }, true, "node-1 is being deleted"},
		"node not selected": {func(_ *kubeapi.Pod, d *kubeapi.DaemonSet, _ *kubeapi.Node) {
			d.Spec.Template.Spec.NodeSelector["swap"] = "on"
			d.Metadata.Annotations[annotationGeneration] = "3"
		}, true, "does not select"},
	} {
		p, d, n := objects()
		c.change(&p, &d, &n)
		if v := decide(p, d, n); v.goes != c.goes || !strings.Contains(v.why, c.why) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
