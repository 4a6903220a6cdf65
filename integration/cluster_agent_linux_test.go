// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

// A node with 80 GiB of memory and 4 GiB of swap, whose kubelet stays at NoSwap. Its control groups
// are files: a machine with cgroup v1 cannot have others.
var agentNode = map[string]string{
	"proc/self/mountinfo":              "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
	"sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
	"proc/meminfo":                     "MemTotal: 83886080 kB\nSwapTotal: 4194304 kB\nSwapFree: 4194304 kB\n",
	"proc/812/stat":                    "812 (kubelet) S 1 1 1 0 -1 4194560 1 1 0 0 10 10 0 0 20 0 9 0 3188 1 1\n",
	"proc/812/cmdline":                 "/usr/bin/kubelet\x00--fail-swap-on=false\x00",
}

func writeNode(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The agent lists and watches the pods of its node in a real API server, with the rights of the
// chart, and gives containers their limits: also those of a pod that comes later, and of no other
// node.
func TestClusterAgent(t *testing.T) {
	require.FUSE(t)
	k := startKubelet(t, startCluster(t, clusterNode, "node-2"))
	for path, body := range map[string]string{
		"/api/v1/namespaces": `{"metadata":{"name":"` + clusterNamespace + `"}}`,
		"/api/v1/namespaces/" + clusterNamespace + "/serviceaccounts": `{"metadata":{"name":"own"}}`,
		"/api/v1/namespaces/default/serviceaccounts":                  `{"metadata":{"name":"default"}}`,
	} {
		k.await(path, func() bool { _, err := k.Do(http.MethodPost, path, asJSON, []byte(body)); return err == nil })
	}
	k.apply("tools/conform/testdata/agent.yaml")
	pod := k.placed(clusterNode)
	for i, c := range pod.Spec.Containers {
		for j, arg := range c.Args {
			pod.Spec.Containers[i].Args[j] = strings.Replace(arg, "--root=/proc/1/root", "--root=/tmp", 1)
		}
		// The interval does not see what the watch has to.
		pod.Spec.Containers[i].Args = append(pod.Spec.Containers[i].Args, "--interval=1h")
	}
	r := k.prepare(pod)
	for name, text := range agentNode {
		writeNode(t, r.volume, name, text)
	}
	before := k.swapper(r.volume, "before", clusterNode, 'a')
	run := k.start(r, "limited-swap")
	const limit = "53687091" // 1 GiB / 80 GiB * 4 GiB, as docs/kubernetes.md has it
	k.wantLimit(run, before, limit)
	other := k.swapper(r.volume, "other", "node-2", 'b')
	k.wantLimit(run, k.swapper(r.volume, "later", clusterNode, 'c'), limit)
	if text, err := os.ReadFile(other); err != nil || string(text) != "0\n" {
		t.Errorf("a pod of another node has %q, %v", text, err)
	}
	k.kill(r, run)
}

// wantLimit waits until a group has this limit.
func (k kubeletPart) wantLimit(run *podRun, file, limit string) {
	k.t.Helper()
	k.await("the limit "+limit+" in "+file, func() bool {
		select {
		case err := <-run.ended:
			k.t.Fatalf("the agent has ended: %v: %s", err, &run.said)
		default:
		}
		text, err := os.ReadFile(file)
		return err == nil && strings.TrimSpace(string(text)) == limit
	})
}

// swapper makes a pod whose container requests 1 GiB, with its control group, which may not swap
// yet. It returns the file of the limit.
func (k kubeletPart) swapper(node, name, on string, id byte) (file string) {
	k.t.Helper()
	path := podsPath("default")
	k.must(http.MethodPost, path, asJSON, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%q,"containers":[
		{"name":"app","image":"x","resources":{"requests":{"memory":"1Gi","cpu":"100m"}}}]}}`, name, on))
	uid := textBetween(string(k.must(http.MethodGet, path+"/"+name, "", "")), `"uid":"`, `"`)
	container := strings.Repeat(string(id), 64)
	group := fmt.Sprintf("sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%s.scope",
		strings.ReplaceAll(uid, "-", "_"), container)
	writeNode(k.t, node, group+"/memory.swap.max", "0\n")
	k.must(http.MethodPatch, path+"/"+name+"/status", mergePatch, fmt.Sprintf(`{"status":{"phase":"Running","qosClass":"Burstable","containerStatuses":[
		{"name":"app","image":"x","imageID":"x","ready":true,"restartCount":0,"started":true,"containerID":"containerd://%s","state":{"running":{"startedAt":"2026-11-24T02:00:00Z"}}}]}}`, container))
	return filepath.Join(node, group, "memory.swap.max")
}

// textBetween returns what lies between the first occurrences of two texts.
func textBetween(in, from, to string) string {
	_, rest, _ := strings.Cut(in, from)
	text, _, _ := strings.Cut(rest, to)
	return text
}
