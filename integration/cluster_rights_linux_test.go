// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A demand is a request of a pod, and the code of its refusal; 0 where it has to succeed.
type demand struct {
	method, path, body string
	code               int
	why                string // part of the reason
}

func (k testCluster) check(about, token string, all []demand) {
	k.t.Helper()
	for _, d := range all {
		kind := ""
		if d.body != "" {
			kind = mergePatch
		}
		if code, why := k.refused(token, d.method, d.path, kind, d.body); code != d.code || !strings.Contains(why, d.why) {
			k.t.Errorf("%s: %s %s %s: refused with %d, want %d %q: %s", about, d.method, d.path, d.body, code, d.code, d.why, why)
		}
	}
}

// Paths that the rights are about.
const (
	anyNode     = "/api/v1/nodes/"
	allPods     = "/api/v1/pods"
	daemonSets  = "/apis/apps/v1/namespaces/" + clusterNamespace + "/daemonsets/"
	noRight     = http.StatusForbidden
	refusedPart = http.StatusUnprocessableEntity // by a policy
)

// With every option, a pod of zramfs may do what docs/kubernetes.md says, and nothing else: the API
// server refuses it.
func TestClusterRights(t *testing.T) {
	k := startCluster(t, clusterNode, "node-2")
	k.apply("tools/conform/testdata/everything.yaml")
	// The quota of critical pods is counted by a controller.
	k.must(http.MethodPatch, "/api/v1/namespaces/"+clusterNamespace+"/resourcequotas/zramfs/status", mergePatch, `{"status":{"hard":{"pods":"1G"},"used":{"pods":"0"}}}`)
	pod := k.placed(clusterNode)
	if !pod.Spec.HostPID || pod.Spec.AutomountServiceAccountToken == nil || !*pod.Spec.AutomountServiceAccountToken {
		t.Errorf("%+v", pod.Spec)
	}
	token := k.token(pod)
	k.check("every option", token, []demand{
		{method: http.MethodGet, path: podsPath(clusterNamespace) + "/" + pod.Metadata.Name},
		{method: http.MethodGet, path: daemonSets + "zramfs"},
		{method: http.MethodGet, path: anyNode + clusterNode},
		{method: http.MethodGet, path: allPods},
		{method: http.MethodGet, path: allPods + "?watch=true&timeoutSeconds=1"},
		{method: http.MethodGet, path: daemonSets + "other", code: noRight},
		{method: http.MethodGet, path: daemonSets, code: noRight},
		{method: http.MethodGet, path: anyNode, code: noRight},
		{method: http.MethodGet, path: "/api/v1/namespaces/kube-system/pods/x", code: noRight},
		{method: http.MethodGet, path: "/api/v1/namespaces/" + clusterNamespace + "/secrets", code: noRight},
		{method: http.MethodGet, path: anyNode + clusterNode + "/proxy/configz", code: noRight},
		{method: http.MethodDelete, path: podsPath(clusterNamespace) + "/" + pod.Metadata.Name, code: noRight},
		{method: http.MethodDelete, path: anyNode + clusterNode, code: noRight},
		{method: http.MethodPatch, path: anyNode + clusterNode + "/status", body: `{"status":{"phase":"Running"}}`, code: noRight},
		{method: http.MethodPatch, path: daemonSets + "zramfs", body: `{"metadata":{"labels":{"a":"b"}}}`, code: noRight},
	})
	k.wantTaintsOnly(token)
}

// nodeChanges are changes of a node that a pod must not make, for each field that can be changed.
var nodeChanges = map[string]string{
	"labels":        `{"metadata":{"labels":{"a":"b"}}}`,
	"no labels":     `{"metadata":{"labels":null}}`,
	"annotations":   `{"metadata":{"annotations":{"a":"b"}}}`,
	"finalizers":    `{"metadata":{"finalizers":["example.org/stay"]}}`,
	"owners":        `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"x","uid":"1"}]}}`,
	"unschedulable": `{"spec":{"unschedulable":true}}`,
	"providerID":    `{"spec":{"providerID":"example://1"}}`,
	"podCIDR":       `{"spec":{"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24"]}}`,
}

// wantTaintsOnly checks the policy about nodes: only the startup taint, and only of the own node.
func (k testCluster) wantTaintsOnly(token string) {
	k.t.Helper()
	path := anyNode + clusterNode
	taints := func(list string) string { return `{"spec":{"taints":[` + list + `]}}` }
	const (
		startup = `{"key":"` + startupTaint + `","effect":"NoSchedule"}`
		other   = `{"key":"other","value":"x","effect":"NoSchedule"}`
		removal = "may remove its startup taint only"
	)
	var all []demand
	for _, body := range nodeChanges {
		all = append(all, demand{http.MethodPatch, path, body, refusedPart, "may change taints only"})
	}
	k.check("fields", token, all)
	k.check("taints", token, []demand{
		{http.MethodPatch, path, taints(startup), refusedPart, removal},
		{http.MethodPatch, path, taints(""), refusedPart, removal},
		{http.MethodPatch, path, taints(startup + "," + other + `,{"key":"new","effect":"NoExecute"}`), refusedPart, removal},
		{http.MethodPatch, path, taints(startup + `,{"key":"other","value":"y","effect":"NoSchedule"}`), refusedPart, removal},
		{http.MethodPatch, path, taints(`{"key":"` + startupTaint + `","effect":"NoExecute"},` + other), refusedPart, removal},
		{http.MethodPatch, anyNode + "node-2", taints(other), refusedPart, "may change its own node only"},
	})
	unbound, err := k.Token(clusterNamespace, "zramfs", "", "")
	if err != nil {
		k.t.Fatal(err)
	}
	k.check("a token without a pod", unbound, []demand{{http.MethodPatch, path, taints(other), refusedPart, "may change its own node only"}})
	if got := k.taints(clusterNode); !slices.Equal(got, []string{startupTaint, "other"}) {
		k.t.Errorf("the taints are %q", got)
	}
	k.check("the startup taint", token, []demand{{method: http.MethodPatch, path: path, body: taints(other)}})
	if got := k.taints(clusterNode); !slices.Equal(got, []string{"other"}) {
		k.t.Errorf("the taints are %q", got)
	}
	// An administrator is not bound by the policy.
	k.must(http.MethodPatch, path, mergePatch, nodeChanges["unschedulable"])
}

// Without options the service account has no right at all, and its pod no token.
func TestClusterNoRights(t *testing.T) {
	k := startCluster(t, clusterNode)
	k.apply("dist/kubernetes/zramfs.yaml")
	pod := k.placed(clusterNode)
	if a := pod.Spec.AutomountServiceAccountToken; a == nil || *a {
		t.Error("the pod has a token")
	}
	var all []demand
	for _, path := range []string{podsPath(clusterNamespace) + "/" + pod.Metadata.Name, daemonSets + "zramfs", anyNode + clusterNode, allPods} {
		all = append(all, demand{method: http.MethodGet, path: path, code: noRight})
	}
	all = append(all, demand{method: http.MethodPatch, path: anyNode + clusterNode, body: `{"spec":{"taints":[]}}`, code: noRight})
	k.check("no option", k.token(pod), all)
}
