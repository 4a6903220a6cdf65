// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/nodepod"
	"github.com/zramfs/zramfs/internal/require"
)

// A pod that is being deleted, of a DaemonSet that is gone.
const deletedPod = `{"metadata":{"name":"x","deletionTimestamp":"2026-11-24T02:00:00Z","ownerReferences":[{"kind":"DaemonSet","name":"zramfs","uid":"2","controller":true}]}}`

// serveDeleted plays an API server for pods of the image, whose DaemonSet is gone, and returns the
// environment of these.
func serveDeleted(t *testing.T, image string) []string {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/pods/") {
			fmt.Fprint(w, deletedPod)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	err := os.MkdirAll(filepath.Join(image, accountDir), 0o755)
	for name, text := range map[string][]byte{"token": []byte("token"), "ca.crt": authority} {
		err = errors.Join(err, os.WriteFile(filepath.Join(image, accountDir, name), text, 0o600))
	}
	host, port, err2 := net.SplitHostPort(s.Listener.Addr().String())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port, "NODE_NAME=node-1", "POD_NAMESPACE=zramfs-system")
}

// slowProgram stands for zramfs on a node: /run/on is swap that is on.
const slowProgram = `#!/bin/sh
case "$1" in
up) touch /run/begun; until [ -e /run/go ]; do sleep .1; done; touch /run/on ;;
down) rm -f /run/on ;;
status) [ -e /run/on ] || exit 3; echo '{"schema":1,"zramfs":[{"health":"healthy","problems":[],"status":{"worker_pid":1}}]}' ;;
esac
`

// A pod that is deleted while it turns swap on turns it off once it is on: nothing would turn it
// off later. A stand-in takes the place of zramfs on the node once a pod, which a kubelet refuses,
// has installed that.
func TestPodLeavesWhileItStarts(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	n := playNode(t)
	on := func(script string) string {
		return system(t, toolTimeout, "nsenter", "--target", fmt.Sprint(n.pid), "--mount", "sh", "-c", script)
	}
	environment := append(serveDeleted(t, n.image), "POD_NAME=x")
	in := func(args ...string) *exec.Cmd {
		cmd := n.pod(args...)
		cmd.Args = slices.DeleteFunc(cmd.Args, func(word string) bool { return word == "--net" })
		cmd.Env = environment
		return cmd
	}
	endKubelet := n.playKubelet(t)
	if code, said := startPod(t, in("run"), "").wait(t); code != 4 {
		t.Fatalf("the pod ends with %d: %s", code, said)
	}
	endKubelet()
	program := filepath.Join(tempDir(t), "zramfs")
	if err := os.WriteFile(program, []byte(slowProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	on("cp " + program + " /run/zramfs/programs/current/zramfs")
	run := startPod(t, in("run", "--interval", "1s", "--on-delete", "swapoff"), "")
	on("for n in $(seq 300); do [ -e /run/begun ] && exit; sleep .1; done; exit 1")
	left := make(chan result, 1)
	go func() {
		left <- runCommand(t, commandTimeout, in("leave", "--on-delete", "swapoff", "--wait", "0s"))
	}()
	on("for n in $(seq 20); do sleep .1; done; touch /run/go")
	if r := <-left; r.Code != 0 || !strings.Contains(r.Stdout, "turn swap off") {
		t.Errorf("leave: %+v", r)
	}
	if said := on("for n in $(seq 10); do [ -e /run/on ] && echo on && break; sleep .1; done; find /run/zramfs -mindepth 1"); said != "" {
		t.Errorf("on the node stays: %s", said)
	}
	if code, said := run.wait(t); code != 1 || !strings.Contains(said, "is gone") {
		t.Errorf("the pod ends with %d: %s", code, said)
	}
}

// A pod that ends leaves the device and the programs to one that has started since, as that of a
// DaemonSet that was deleted and made anew does. The last one takes them away. No device is made:
// a kubelet is in the way.
func TestPodLeavesToNext(t *testing.T) {
	require.Root(t)
	require.FUSE(t)
	n := playNode(t)
	defer n.playKubelet(t)()
	environment := serveDeleted(t, n.image)
	in := func(pod string, args ...string) *exec.Cmd {
		cmd := n.pod(args...)
		cmd.Args = slices.DeleteFunc(cmd.Args, func(word string) bool { return word == "--net" })
		cmd.Env = append(slices.Clone(environment), "POD_NAME="+pod)
		return cmd
	}
	for _, pod := range []string{"first", "next"} {
		if code, said := startPod(t, in(pod, "run", "--on-delete", "swapoff", "--", "--size", "64M"), "").wait(t); code != 4 {
			t.Fatalf("the pod %s ends with %d: %s", pod, code, said)
		}
	}
	leave := func(pod, says string) {
		t.Helper()
		if r := runCommand(t, commandTimeout, in(pod, "leave", "--on-delete", "swapoff", "--wait", "0s")); r.Code != 0 || !strings.Contains(r.Stdout, says) {
			t.Errorf("leave of the pod %s: %+v", pod, r)
		}
	}
	leave("first", "swap stays on: the pod zramfs-system/next has taken it over")
	if r := n.zramfs(t, "version"); r.Code != 0 {
		t.Errorf("the programs of the next pod: %+v", r)
	}
	leave("next", "turn swap off: the DaemonSet zramfs is deleted")
	if r := n.zramfs(t, "version"); r.Code != nodepod.CodeNotInstalled {
		t.Errorf("the programs stay on the node: %+v", r)
	}
	if left := system(t, toolTimeout, "nsenter", "--target", fmt.Sprint(n.pid), "--mount", "find", "/run/zramfs", "-mindepth", "1"); left != "" {
		t.Errorf("on the node stays %s", left)
	}
}
