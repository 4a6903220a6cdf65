// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/require"
)

const (
	smallManifest = "tools/conform/testdata/small.yaml"
	accountDir    = "var/run/secrets/kubernetes.io/serviceaccount"
	metricsToken  = "0123456789abcdef"
	metricsURL    = "http://127.0.0.1:19633/metrics"
)

// clusterPodScript is podScript with a root directory that cannot be written, a volume at /tmp, and
// the network of the test, which has the API server.
const clusterPodScript = `mount --make-rprivate / && mount --bind "$0" "$0" && mount -t proc proc "$0/proc" &&
mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && mount --bind "$1" "$0/tmp" && shift &&
mount -o remount,bind,ro "$0" && exec chroot "$0" "$@"`

// A kubeletPart plays the kubelet and the runtime of a node: it runs containers of pods as the API
// server has them.
type kubeletPart struct {
	testCluster
	*played
}

// A runningPod is a pod on the node.
type runningPod struct {
	clusterPod
	root   string // directory of its containers
	volume string // directory that they can write
	group  string // control group; empty without cgroup v2
}

// prepare makes the root directory of a pod, with the credentials of its service account.
func (k kubeletPart) prepare(p clusterPod) runningPod {
	k.t.Helper()
	r := runningPod{clusterPod: p, root: filepath.Join(tempDir(k.t), "root"), volume: tempDir(k.t), group: podGroup(k.t, p.Metadata.Name)}
	system(k.t, toolTimeout, "cp", "-a", k.image, r.root)
	authority, err := os.ReadFile(k.Authority)
	for name, text := range map[string]string{accountDir + "/token": k.token(p), accountDir + "/ca.crt": string(authority), "etc/zramfs/token": metricsToken} {
		path := filepath.Join(r.root, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return r
}

// container returns the container of that name.
func (r runningPod) container(name string) clusterContainer {
	return r.Spec.Containers[slices.IndexFunc(r.Spec.Containers, func(c clusterContainer) bool { return c.Name == name })]
}

// command prepares a program in a container, with the variables of its environment.
func (k kubeletPart) command(r runningPod, of clusterContainer, words ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(k.pid), "--mount", "--pid", "unshare", "--mount", "--uts", "--ipc", "sh", "-c", clusterPodScript, r.root, r.volume}
	cmd := exec.Command("nsenter", append(enter, words...)...)
	server, err := url.Parse(k.URL)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	fields := map[string]string{"spec.nodeName": r.Spec.NodeName, "metadata.name": r.Metadata.Name, "metadata.namespace": clusterNamespace}
	for _, v := range of.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value+fields[v.ValueFrom.FieldRef.FieldPath])
	}
	return cmd
}

// start starts a container in the control group of its pod.
func (k kubeletPart) start(r runningPod, name string) *podRun {
	k.t.Helper()
	c := r.container(name)
	return startPod(k.t, k.command(r, c, append(slices.Clone(c.Command), c.Args...)...), r.group)
}

// ready runs the readiness probe, and reports to the API server what it says.
func (k kubeletPart) ready(r runningPod) bool {
	k.t.Helper()
	c := r.container("zramfs")
	is := runCommand(k.t, commandTimeout, k.command(r, c, c.ReadinessProbe.Exec.Command...)).Code == 0
	status := map[bool]string{true: "True", false: "False"}[is]
	k.must(http.MethodPatch, podsPath(clusterNamespace)+"/"+r.Metadata.Name+"/status", mergePatch,
		`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"`+status+`"}]}}`)
	return is
}

// leave runs what a pod does before it ends.
func (k kubeletPart) leave(r runningPod) result {
	k.t.Helper()
	c := r.container("zramfs")
	return runCommand(k.t, downTimeout, k.command(r, c, c.Lifecycle.PreStop.Exec.Command...))
}

// kill ends all containers of a pod.
func (k kubeletPart) kill(r runningPod, all ...*podRun) {
	k.t.Helper()
	endGroup(k.t, r.group, all...)
}

// startKubelet plays a node with the image of the pod.
func startKubelet(t *testing.T, k testCluster) kubeletPart {
	t.Helper()
	return kubeletPart{k, playNode(t)}
}

// From the DaemonSet of the chart to swap on the node and back: the startup taint goes once swap is
// on and healthy and not before, a rollout and a killed container leave swap and the programs that
// use it alone, and when the DaemonSet is deleted swap goes off.
func TestSwapClusterLife(t *testing.T) {
	require.FUSE(t)
	require.Loop(t)
	require.Swap(t)
	k := startKubelet(t, startCluster(t, clusterNode))
	k.apply(smallManifest)
	k.must(http.MethodPost, "/api/v1/namespaces/"+clusterNamespace+"/secrets", asJSON,
		fmt.Sprintf(`{"metadata":{"name":"zramfs-token"},"data":{"token":%q}}`, base64.StdEncoding.EncodeToString([]byte(metricsToken))))
	first := k.prepare(k.placed(clusterNode))
	k.wantTaintStays(first)

	m := startMemory(t, memoryOrder{Pages: 32 << 20 / memoryPage, Source: sourceMix})
	m.do(t, "fill")
	g := startGuard(t, hiddenData, swapTime)
	defer g.dismiss(t)
	defer k.zramfs(t, "down", "--force")
	run := k.start(first, "zramfs")
	k.wantTaintGoes(first)
	metrics := k.start(first, "metrics")
	k.wantMetrics()
	m.do(t, "pageout")
	before := k.worker(t)

	// The container dies, and starts again in the same pod.
	k.kill(first, run, metrics)
	run = k.start(first, "zramfs")
	m.do(t, "walk")
	m.do(t, "pageout")
	if r := k.leave(first); r.Code != 0 || !strings.Contains(r.Stdout, "swap stays on: the pod is not being deleted") {
		t.Errorf("leave of a container: %+v", r)
	}

	// A rollout with another program.
	anotherVersion(t, filepath.Join(k.image, "usr/bin/zramfs"))
	k.apply(smallManifest, "kubectl.kubernetes.io/default-container: zramfs", "kubectl.kubernetes.io/default-container: zramfs\n        example.org/version: second")
	k.end(first.clusterPod)
	if r := k.leave(first); r.Code != 0 || !strings.Contains(r.Stdout, "swap stays on: the DaemonSet has another template") {
		t.Errorf("leave of a rollout: %+v", r)
	}
	k.kill(first, run)
	k.ended(first.clusterPod)
	second := k.prepare(k.placed(clusterNode))
	run = k.start(second, "zramfs")
	defer func() {
		if t.Failed() {
			k.kill(second, run)
			t.Logf("the second pod said:\n%s", &run.said)
		}
	}()
	k.await("a worker of the second version", func() bool { return k.worker(t) != before })
	k.await("readiness", func() bool { return k.ready(second) })
	m.do(t, "walk")

	// The end.
	k.must(http.MethodDelete, daemonSets+"zramfs?propagationPolicy=Background", "", "")
	k.end(second.clusterPod)
	r := k.leave(second)
	if r.Code != 0 || !strings.Contains(r.Stdout, "turn swap off: the DaemonSet zramfs is deleted") {
		t.Errorf("leave of a deleted DaemonSet: %+v", r)
	}
	wantSwapOn(t, false)
	k.kill(second, run)
	k.ended(second.clusterPod)
	m.do(t, "walk")
	m.end(t)
	if out := system(t, toolTimeout, "nsenter", "--target", strconv.Itoa(k.pid), "--mount", "ls", "/run/zramfs"); strings.Contains(out, "programs") {
		t.Errorf("the programs stay on the node: %s", out)
	}
}

// wantTaintStays runs a pod on a node whose kubelet refuses swap: it ends with the code of up, and
// the taint stays.
func (k kubeletPart) wantTaintStays(r runningPod) {
	k.t.Helper()
	defer k.playKubelet(k.t)()
	if k.ready(r) {
		k.t.Error("a pod without a device is ready")
	}
	if code, said := k.start(r, "zramfs").wait(k.t); code != 4 || !strings.Contains(said, "failSwapOn true") {
		k.t.Errorf("exit code %d: %s", code, said)
	}
	if !slices.Contains(k.taints(clusterNode), startupTaint) {
		k.t.Error("the startup taint goes without swap")
	}
}

// wantTaintGoes waits until a pod is ready, and then for the end of its startup taint alone.
func (k kubeletPart) wantTaintGoes(r runningPod) {
	k.t.Helper()
	k.await("readiness", func() bool { return k.ready(r) })
	k.await("the end of the startup taint", func() bool { return !slices.Contains(k.taints(clusterNode), startupTaint) })
	if got := k.taints(clusterNode); !slices.Equal(got, []string{"other"}) {
		k.t.Errorf("the taints are %q", got)
	}
}

// wantMetrics reads the metrics of the pod, which only the token of the Secret opens.
func (k kubeletPart) wantMetrics() {
	k.t.Helper()
	get := func(token string) (code int, text string) {
		ctx, cancel := context.WithTimeout(k.t.Context(), commandTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, metricsURL, nil)
		if err != nil {
			k.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return answer.StatusCode, fmt.Sprint(string(body), err)
	}
	k.await("metrics", func() bool { code, _ := get(metricsToken); return code == http.StatusOK })
	if _, text := get(metricsToken); !strings.Contains(text, "zramfs_up{") {
		k.t.Errorf("the metrics are %s", text)
	}
	if code, _ := get("wrong-0123456789"); code != http.StatusUnauthorized {
		k.t.Errorf("another token: %d", code)
	}
}

// A change is what happens to a cluster before a pod ends.
type change struct {
	name, says string
	do         func(k testCluster, p clusterPod)
}

// Why a pod ends is told from a real API server: each reason by itself. There is no device: what
// leave says shows what it would do.
func TestClusterLeave(t *testing.T) {
	require.FUSE(t)
	k := startKubelet(t, startCluster(t, clusterNode))
	patchSet := func(body string) func(testCluster, clusterPod) {
		return func(k testCluster, _ clusterPod) {
			k.must(http.MethodPatch, daemonSets+"zramfs", mergePatch, body)
		}
	}
	for _, c := range []change{
		{"pod deleted", "swap stays on: the DaemonSet will make another pod", func(testCluster, clusterPod) {}},
		{"rollout", "swap stays on: the DaemonSet has another template", patchSet(`{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`)},
		{"drain", "turn swap off: the node node-1 is drained", func(k testCluster, _ clusterPod) {
			k.must(http.MethodPatch, anyNode+clusterNode, mergePatch, `{"spec":{"unschedulable":true}}`)
		}},
		{"node not selected", "turn swap off: the DaemonSet does not select the node node-1", patchSet(`{"spec":{"template":{"spec":{"nodeSelector":{"pool":"swap"}}}}}`)},
		{"rights gone", "turn swap off: the rights of the service account are gone", func(k testCluster, p clusterPod) {
			k.must(http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/namespaces/"+clusterNamespace+"/rolebindings/zramfs", "", "")
			token := k.token(p)
			k.await("the end of the rights", func() bool {
				code, _ := k.refused(token, http.MethodGet, daemonSets+"zramfs", "", "")
				return code == noRight
			})
		}},
		{"foreground deletion", "turn swap off: the DaemonSet zramfs is being deleted", func(k testCluster, _ clusterPod) {
			k.must(http.MethodDelete, daemonSets+"zramfs?propagationPolicy=Foreground", "", "")
		}},
		{"node deleted", "turn swap off: the node node-1 is deleted", func(k testCluster, _ clusterPod) {
			k.must(http.MethodDelete, anyNode+clusterNode, "", "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			part := k
			part.t = t
			part.wantLeave(c)
		})
	}
}

// wantLeave installs the chart anew, lets the change happen, and runs the pod's end.
func (k kubeletPart) wantLeave(c change) {
	k.t.Helper()
	k.apply(smallManifest)
	k.must(http.MethodPatch, anyNode+clusterNode, mergePatch, `{"spec":{"unschedulable":null}}`)
	r := k.prepare(k.placed(clusterNode))
	defer func() {
		k.ended(r.clusterPod)
		k.must(http.MethodPatch, daemonSets+"zramfs", mergePatch, `{"metadata":{"finalizers":null}}`)
		_, _ = k.Do(http.MethodDelete, daemonSets+"zramfs?propagationPolicy=Background", "", nil) // one that was being deleted is gone
	}()
	c.do(k.testCluster, r.clusterPod)
	k.end(r.clusterPod)
	got := k.leave(r)
	if !strings.Contains(got.Stdout, c.says) || strings.HasPrefix(c.says, "swap stays") && got.Code != 0 {
		k.t.Errorf("%+v", got)
	}
}
