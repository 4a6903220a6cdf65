// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/cluster"
	"github.com/zramfs/zramfs/internal/require"
)

var kubernetesIn = flag.String("kubernetes", "", "directory with kube-apiserver, as make test-kubernetes makes it")

// Names in the committed manifests.
const (
	clusterNamespace = "zramfs-system"
	clusterNode      = "node-1"
	startupTaint     = "zramfs.io/not-ready"
	mergePatch       = "application/merge-patch+json"
	asJSON           = "application/json"
)

// clusterTime bounds what the API server and its controllers do.
const clusterTime = 60 * time.Second

// A testCluster is a real API server. A test plays controllers, scheduler and kubelet.
type testCluster struct {
	*cluster.Cluster
	t *testing.T
}

// startCluster starts a cluster with this node, which ends with the test.
func startCluster(t *testing.T, nodes ...string) testCluster {
	t.Helper()
	if *kubernetesIn == "" {
		t.Skip("no -kubernetes: run make test-kubernetes")
	}
	require.Command(t, "etcd")
	c, err := cluster.Start(*kubernetesIn, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	k := testCluster{c, t}
	for _, name := range nodes {
		k.must(http.MethodPost, "/api/v1/nodes", asJSON, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/os":"linux"}}}`, name))
		// In place of the taint that a new node has until a controller finds it ready.
		k.must(http.MethodPatch, "/api/v1/nodes/"+name, mergePatch,
			fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"},{"key":"other","value":"x","effect":"NoSchedule"}]}}`, startupTaint))
	}
	return k
}

// must is a request of the administrator that has to succeed.
func (k testCluster) must(method, path, kind, body string) []byte {
	k.t.Helper()
	text, err := k.Do(method, path, kind, []byte(body))
	if err != nil {
		k.t.Fatalf("%s %s: %v", method, path, err)
	}
	return text
}

// apply applies a committed manifest with some of its text changed, as from, to, from, to.
func (k testCluster) apply(file string, changes ...string) {
	k.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		k.t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			k.t.Fatalf("%s has no %q", file, changes[i])
		}
	}
	objects, err := cluster.Objects(strings.NewReplacer(changes...).Replace(string(text)), clusterNamespace)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, o := range objects {
		if strings.HasPrefix(o.Version, "monitoring.coreos.com/") {
			continue // comes with the Prometheus operator
		}
		if err := k.Apply(o, false); err != nil {
			k.t.Fatal(err)
		}
	}
}

// A clusterPod is what counts here of a pod.
type clusterPod struct {
	Metadata struct{ Name, UID string }
	Spec     struct {
		NodeName, ServiceAccountName string
		HostPID                      bool
		AutomountServiceAccountToken *bool
		Containers                   []clusterContainer
	}
}

// A clusterContainer is what counts here of a container.
type clusterContainer struct {
	Name          string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct{ FieldRef struct{ FieldPath string } }
	}
	Lifecycle struct {
		PreStop struct{ Exec struct{ Command []string } }
	}
	ReadinessProbe struct{ Exec struct{ Command []string } }
}

func podsPath(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

// await waits until done says so.
func (k testCluster) await(what string, done func() bool) {
	k.t.Helper()
	for end := time.Now().Add(clusterTime); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("%s does not come to be", what)
		}
	}
}

// generation is the annotation with which the API server numbers templates of a DaemonSet.
const generation = "deprecated.daemonset.template.generation"

// placed makes the pod of the DaemonSet for a node, as its controller and the scheduler do.
func (k testCluster) placed(node string) (pod clusterPod) {
	k.t.Helper()
	var set struct {
		Metadata struct {
			Name, UID   string
			Annotations map[string]string
		}
		Spec struct{ Template map[string]map[string]any }
	}
	if err := json.Unmarshal(k.must(http.MethodGet, daemonSets+"zramfs", "", ""), &set); err != nil {
		k.t.Fatal(err)
	}
	metadata, spec := set.Spec.Template["metadata"], set.Spec.Template["spec"]
	metadata["generateName"] = "zramfs-"
	metadata["labels"].(map[string]any)["pod-template-generation"] = set.Metadata.Annotations[generation]
	metadata["ownerReferences"] = []map[string]any{{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": set.Metadata.Name, "uid": set.Metadata.UID, "controller": true}}
	spec["nodeName"] = node
	text, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		k.t.Fatal(err)
	}
	if err := json.Unmarshal(k.must(http.MethodPost, podsPath(clusterNamespace), asJSON, string(text)), &pod); err != nil {
		k.t.Fatal(err)
	}
	return pod
}

// end begins to delete a pod, which stays until the kubelet has ended it.
func (k testCluster) end(p clusterPod) {
	k.t.Helper()
	k.must(http.MethodDelete, podsPath(clusterNamespace)+"/"+p.Metadata.Name, "", "")
}

// ended does what the kubelet does last for a pod that is being deleted.
func (k testCluster) ended(p clusterPod) {
	k.t.Helper()
	k.must(http.MethodDelete, podsPath(clusterNamespace)+"/"+p.Metadata.Name+"?gracePeriodSeconds=0", "", "")
}

// token returns that of a pod.
func (k testCluster) token(p clusterPod) string {
	k.t.Helper()
	token, err := k.Token(clusterNamespace, p.Spec.ServiceAccountName, p.Metadata.Name, p.Metadata.UID)
	if err != nil {
		k.t.Fatal(err)
	}
	return token
}

// taints returns the keys of the taints of a node.
func (k testCluster) taints(node string) (keys []string) {
	k.t.Helper()
	var n struct {
		Spec struct{ Taints []struct{ Key string } }
	}
	if err := json.Unmarshal(k.must(http.MethodGet, "/api/v1/nodes/"+node, "", ""), &n); err != nil {
		k.t.Fatal(err)
	}
	for _, taint := range n.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return keys
}

// refused returns the code with which the API server refuses a request, and its reason; 0 where it
// does not refuse.
func (k testCluster) refused(token, method, path, kind, body string) (code int, why string) {
	k.t.Helper()
	_, err := k.DoAs(token, method, path, kind, []byte(body))
	var r *cluster.Refused
	switch {
	case errors.As(err, &r):
		return r.Code, r.Text
	case err != nil:
		k.t.Fatal(err)
	}
	return 0, ""
}
