// SPDX-License-Identifier: Apache-2.0

package limitedswap

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
)

// Directories of groups of the pods in testdata of podswap, by the driver of the kubelet.
const (
	pod1    = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0b1c2d3e_0000_4000_8000_000000000001.slice/cri-containerd-"
	pod2    = "kubepods/pod0b1c2d3e-0000-4000-8000-000000000002/"
	pod4    = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0b1c2d3e_0000_4000_8000_000000000004.slice/cri-containerd-"
	sidecar = "9"
)

func group(pod, id string) string {
	dir := pod + strings.Repeat(id, 64)
	if strings.HasSuffix(pod, "-") {
		dir += ".scope"
	}
	return dir
}

// machine returns a node of 80 GiB with 4 GiB of swap, on which a kubelet runs.
func machine(t *testing.T) host.Root {
	t.Helper()
	m := host.Root(t.TempDir())
	for name, text := range map[string]string{
		"proc/self/mountinfo":              "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
		"proc/meminfo":                     "MemTotal: 83886080 kB\nSwapTotal: 4194304 kB\nSwapFree: 4194304 kB\n",
	} {
		write(t, m, name, text)
	}
	for _, dir := range []string{group(pod1, "a"), group(pod1, "b"), group(pod1, "c"), group(pod1, sidecar), group(pod2, "d"), group(pod4, "f")} {
		write(t, m, "sys/fs/cgroup/"+dir+"/memory.swap.max", "0\n")
	}
	return m
}

func write(t *testing.T, m host.Root, name, text string) {
	t.Helper()
	path := m.Path(name)
	// An agent that reads it sees the old text or the new.
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(text), 0o644), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// limits reads the limits of groups.
func limits(t *testing.T, m host.Root, dirs ...string) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		text, err := m.Read("sys/fs/cgroup/" + dir + "/memory.swap.max")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	return all
}

func recorded(t *testing.T) []podswap.Pod {
	t.Helper()
	text, err := os.ReadFile("../podswap/testdata/pods.json")
	if err != nil {
		t.Fatal(err)
	}
	pods, err := podswap.ParseList(text)
	if err != nil {
		t.Fatal(err)
	}
	return pods
}

// A bench runs an agent, with pods and settings that a test changes.
type bench struct {
	mutex    sync.Mutex
	pods     []podswap.Pod    // guarded by mutex
	err      error            // of the list; guarded by mutex
	settings kubelet.Settings // guarded by mutex
	log      []string         // guarded by mutex
	changed  chan struct{}
	stop     context.CancelFunc
	ended    chan error
}

func start(t *testing.T, m host.Root, restore bool) *bench {
	t.Helper()
	b := &bench{pods: recorded(t), settings: kubelet.Settings{SwapBehavior: kubelet.NoSwap}, changed: make(chan struct{}), ended: make(chan error, 1)}
	a := &Agent{Machine: m, Changed: b.changed, Interval: time.Hour, Restore: restore,
		Pods: func(context.Context) ([]podswap.Pod, error) {
			b.mutex.Lock()
			defer b.mutex.Unlock()
			return slices.Clone(b.pods), b.err
		},
		Settings: func(context.Context) (kubelet.Settings, error) {
			b.mutex.Lock()
			defer b.mutex.Unlock()
			return b.settings, nil
		},
		Log: func(line string) {
			b.mutex.Lock()
			defer b.mutex.Unlock()
			b.log = append(b.log, line)
		}}
	var ctx context.Context
	ctx, b.stop = context.WithCancel(t.Context())
	go func() { b.ended <- a.Run(ctx) }()
	t.Cleanup(b.stop)
	return b
}

// change has the agent see f, and waits until it has checked.
func (b *bench) change(f func()) {
	b.mutex.Lock()
	f()
	b.mutex.Unlock()
	b.changed <- struct{}{} // the agent waits: its check before is done
	b.changed <- struct{}{} // and so is the one after f
}

func (b *bench) end(t *testing.T) error {
	t.Helper()
	b.stop()
	return <-b.ended
}

func want(t *testing.T, m host.Root, values map[string]string) {
	t.Helper()
	for dir, value := range values {
		if got := limits(t, m, dir)[0]; got != value {
			t.Errorf("%s has %s, want %s", dir, got, value)
		}
	}
}

func TestAgentSetsLimits(t *testing.T) {
	m := machine(t)
	b := start(t, m, true)
	b.change(func() {})
	app, side := group(pod1, "a"), group(pod1, sidecar)
	want(t, m, map[string]string{app: "53687091", side: "26843545", group(pod1, "b"): "0", group(pod1, "c"): "0", group(pod2, "d"): "0", group(pod4, "f"): "0"})

	// The kubelet sets 0 again, as after a resize, and the agent corrects it.
	write(t, m, "sys/fs/cgroup/"+app+"/memory.swap.max", "0\n")
	b.change(func() {})
	want(t, m, map[string]string{app: "53687091"})

	// A request that becomes the limit ends the right to swap.
	b.change(func() {
		request := podswap.Quantity(1 << 30)
		pods := recorded(t) // the agent may still read the list before
		pods[0].Spec.Containers[0].Resources.Limits.Memory = &request
		b.pods = pods
	})
	want(t, m, map[string]string{app: "0", side: "26843545"})

	// More swap is more for each, and a list that cannot be had changes nothing.
	b.change(func() { b.pods = recorded(t); b.err = errors.New("connection refused") })
	want(t, m, map[string]string{app: "0", side: "26843545"})
	write(t, m, "proc/meminfo", "MemTotal: 83886080 kB\nSwapTotal: 8388608 kB\nSwapFree: 0 kB\n")
	b.change(func() { b.err = nil })
	want(t, m, map[string]string{app: "107374182", side: "53687091"})

	if err := b.end(t); err != nil {
		t.Error(err)
	}
	want(t, m, map[string]string{app: "0", side: "0"})
	log := strings.Join(b.log, "\n")
	for _, line := range []string{"shop/orders-0 app: memory.swap.max 0 -> 51.2M", "limits stay as they are: list the pods: connection refused", "limits are set again"} {
		if !strings.Contains(log, line) {
			t.Errorf("%q is not in the log:\n%s", line, log)
		}
	}
}

func TestAgentLeavesLimits(t *testing.T) {
	m := machine(t)
	b := start(t, m, false)
	b.change(func() {})
	if err := os.RemoveAll(m.Path("sys/fs/cgroup", group(pod1, sidecar))); err != nil {
		t.Fatal(err)
	}
	b.change(func() {})
	if err := b.end(t); err != nil {
		t.Error(err)
	}
	want(t, m, map[string]string{group(pod1, "a"): "53687091"})

	// The next agent takes over what it finds, and restores what NoSwap has.
	b = start(t, m, true)
	b.change(func() {})
	if err := b.end(t); err != nil {
		t.Error(err)
	}
	want(t, m, map[string]string{group(pod1, "a"): "0"})
}

// A limit that something else has changed is not restored, and a group that is gone is no error.
func TestAgentRestoresItsOwn(t *testing.T) {
	m := machine(t)
	groups, err := podswap.Groups(m)
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Machine: m, Restore: true, Log: func(string) {}, changes: map[string]change{}}
	app, side, gone := group(pod1, "a"), group(pod1, sidecar), group(pod1, "b")
	for _, id := range []string{"a", sidecar, "b"} {
		if err := a.set(groups[strings.Repeat(id, 64)], id, 8192); err != nil {
			t.Fatal(err)
		}
	}
	want(t, m, map[string]string{app: "8192", side: "8192"})
	write(t, m, "sys/fs/cgroup/"+side+"/memory.swap.max", "4096\n")
	if err := errors.Join(os.RemoveAll(m.Path("sys/fs/cgroup", gone)), a.restore()); err != nil {
		t.Error(err)
	}
	want(t, m, map[string]string{app: "0", side: "4096"})
}

func TestAgentRefuses(t *testing.T) {
	m := machine(t)
	b := start(t, m, true)
	b.change(func() {})
	b.mutex.Lock()
	b.settings.SwapBehavior = kubelet.LimitedSwap
	b.mutex.Unlock()
	var err error
	select {
	case err = <-b.ended: // a check was under way
	case b.changed <- struct{}{}:
		err = <-b.ended
	}
	if !errors.Is(err, ErrExclusive) {
		t.Error(err)
	}
	want(t, m, map[string]string{group(pod1, "a"): "0"})

	a := &Agent{Machine: m, Settings: FromFiles(m), Log: func(string) {}}
	if err := a.Run(t.Context()); !errors.Is(err, ErrNoKubelet) {
		t.Error(err)
	}
	write(t, m, "proc/self/mountinfo", "41 31 0:38 / /m rw - cgroup cgroup rw,memory\n")
	a.Settings = func(context.Context) (kubelet.Settings, error) { return kubelet.Settings{}, nil }
	if err := a.Run(t.Context()); !errors.Is(err, podswap.ErrNoGroups) {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	for _, bad := range [][]string{{}, {"--node", "n", "x"}, {"--node", "n", "--interval", "1ms"}, {"--wrong"}} {
		if _, err := parse(bad, io.Discard); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	t.Setenv("NODE_NAME", "node-1")
	if o, err := parse([]string{"--restore", "--root", "/host"}, io.Discard); err != nil || o.node != "node-1" || !o.restore || o.root != "/host" {
		t.Errorf("%+v, %v", o, err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if err := Main(t.Context(), nil, io.Discard); err == nil || !strings.Contains(err.Error(), "this is no pod") {
		t.Error(err)
	}
}
