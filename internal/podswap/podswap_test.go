// SPDX-License-Identifier: Apache-2.0

package podswap

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
)

func TestQuantities(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "1": 1, "128974848": 128974848, "129e6": 129e6, "129M": 129e6, "123Mi": 123 << 20,
		"1.5Gi": 3 << 29, "1500m": 2, "0.1": 1, ".5Ki": 512, "2.0000": 2, "1E": 1e18, "3Ei": 3 << 60, "100u": 1, "1e3": 1000, "5.": 5,
		"+2Ki": 2048, "1e-3": 1, "1E+3": 1000, "-0": 0, "1.1G": 1_100_000_000, "2.3M": 2_300_000, "1.1Gi": 1_181_116_007, "1.0000000001": 2,
		"9007199254740991": 1<<53 - 1, "16Ei": math.MaxInt64, "18446744073709551616": math.MaxInt64, "1e30": math.MaxInt64, "1e999": math.MaxInt64} {
		if got, err := ParseQuantity(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", ".", "-1", "1 Gi", "Gi", "1gi", "1.2.3", "1e", "e3", "1e1.5", "+-1", "1-1", "inf", "0x1", "1_0", "1Kii"} {
		if n, err := ParseQuantity(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

func TestShare(t *testing.T) {
	n := Node{Memory: 80 << 30, Swap: 4 << 30}
	if got := n.Share(1 << 30); got != 53_687_091 { // the kubelet's own example
		t.Errorf("1 GiB of 80 gets %d of 4 GiB", got)
	}
	if n.Share(81<<30) != 0 || (Node{}).Share(1) != 0 {
		t.Error("a request above the memory, or a node without memory, gets swap")
	}
}

func pods(t *testing.T) []Pod {
	t.Helper()
	text, err := os.ReadFile("testdata/pods.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseList(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLimitsOfPods(t *testing.T) {
	n := Node{Memory: 80 << 30, Swap: 4 << 30}
	want := map[string]struct {
		limit uint64
		why   string
	}{
		"shop/orders-0 app": {53_687_091, ""}, "shop/orders-0 exporter": {0, "no memory request"}, "shop/orders-0 proxy": {0, "memory request = limit"},
		"shop/orders-0 sidecar": {26_843_545, ""}, "shop/cache-0 redis": {0, Guaranteed}, "shop/batch-x job": {0, BestEffort},
		"shop/etcd-node-1 etcd": {0, "critical or static pod"}, "shop/agent-7 agent": {0, "critical or static pod"},
	}
	running := RunningIn(pods(t))
	for _, r := range running {
		limit, why := n.Limit(r.Pod, r.Container)
		if w, ok := want[r.Title()]; !ok || limit != w.limit || why != w.why {
			t.Errorf("%s: %d, %q; want %+v", r.Title(), limit, why, w)
		}
	}
	if len(running) != len(want) {
		t.Errorf("%d containers run, want %d: one has not started", len(running), len(want))
	}
	p := Pod{}
	p.Status.QOSClass = Burstable
	c, request := Container{}, Quantity(1<<30)
	c.Resources.Limits.Memory = &request // the request is the limit where there is none
	if limit, why := n.Limit(&p, c); limit != 0 || why != "memory request = limit" {
		t.Errorf("%d, %q", limit, why)
	}
}

// A pod with amounts that nothing can have does not hide the others.
func TestOddAmounts(t *testing.T) {
	all, err := ParseList([]byte(`{"kind":"PodList","items":[{"spec":{"containers":[{"resources":{"requests":{"memory":"1e-3"},"limits":{"memory":"1e30"}}}]}},{}]}`))
	if err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestListsThatAreNone(t *testing.T) {
	for _, bad := range []string{"", "{}", `{"kind":"Status","message":"forbidden"}`, `{"kind":"Pod"}`, `{"kind":"PodList"}`,
		`{"kind":"PodList","items":[{"spec":{"containers":[{"resources":{"requests":{"memory":"many"}}}]}}]}`} {
		if _, err := ParseList([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if all, err := ParseList([]byte(`{"kind":"List","items":[]}`)); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// groupMachine returns a machine with these files of control groups, of cgroup v2.
func groupMachine(t *testing.T, files map[string]string) host.Root {
	t.Helper()
	m := host.Root(t.TempDir())
	files["proc/self/mountinfo"] = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	files["sys/fs/cgroup/cgroup.controllers"] = "cpu memory\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(m.Path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.Path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestGroupsOfDrivers(t *testing.T) {
	const top = "sys/fs/cgroup/"
	id := func(c string) string { return strings.Repeat(c, 64) }
	m := groupMachine(t, map[string]string{
		top + "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0b1c_2d.slice/cri-containerd-" + id("a") + ".scope/memory.swap.max":              "0\n",
		top + "kubepods.slice/kubepods-pod77.slice/crio-" + id("b") + ".scope/container/memory.swap.max":                                                      "0\n",
		top + "kubepods.slice/kubepods-pod77.slice/crio-conmon-" + id("b") + ".scope/memory.swap.max":                                                         "max\n",
		top + "kubepods/burstable/podx/crio-conmon-" + id("f") + "/memory.swap.max":                                                                           "max\n",
		top + "kubepods/besteffort/pod5-6/" + id("c") + "/memory.swap.max":                                                                                    "max\n",
		top + "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod8_9.slice/" + id("d") + "/memory.swap.max": "7\n",
		top + "system.slice/docker-" + id("e") + ".scope/memory.swap.max":                                                                                     "0\n",
		top + "kubepods/burstable/podx/short/memory.swap.max":                                                                                                 "0\n",
	})
	all, err := Groups(m)
	if err != nil {
		t.Fatal(err)
	}
	for c, want := range map[string]Group{"a": {PodUID: "0b1c-2d", QOSClass: Burstable}, "b": {PodUID: "77", QOSClass: Guaranteed},
		"c": {PodUID: "5-6", QOSClass: BestEffort}, "d": {PodUID: "8-9", QOSClass: Burstable}} {
		got := all[id(c)]
		if got.PodUID != want.PodUID || got.QOSClass != want.QOSClass || got.ID != id(c) || strings.Contains(got.Dir, "conmon") {
			t.Errorf("%s: %+v", c, got)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d groups: %+v", len(all), all)
	}
	if limit, ok, err := all[id("d")].Limit(m); limit != 7 || !ok || err != nil {
		t.Errorf("%d, %v, %v", limit, ok, err)
	}
	if limit, ok, err := all[id("c")].Limit(m); limit != NoLimit || !ok || err != nil {
		t.Errorf("%d, %v, %v", limit, ok, err)
	}
	if _, ok, err := (Group{Dir: "sys/fs/cgroup/gone"}).Limit(m); ok || err != nil {
		t.Errorf("a group that is gone: %v, %v", ok, err)
	}
}

func TestGroupsOfV1(t *testing.T) {
	m := groupMachine(t, map[string]string{})
	if err := os.WriteFile(m.Path("proc/self/mountinfo"), []byte("41 31 0:38 / /m rw - cgroup cgroup rw,memory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Groups(m); !errors.Is(err, ErrNoGroups) {
		t.Error(err)
	}
}

func TestEstimate(t *testing.T) {
	n := Node{Memory: 80_000_000_000, Swap: 4_000_000_000}
	for _, test := range []struct {
		class, score, max string
		limit             uint64
		why               string
	}{
		{Burstable, "987", "max", 52_000_000, ""}, // it requests 1.04 to 1.12 GB
		{Burstable, "987", "1073741824", 0, "memory request = limit"},
		{Burstable, "987", "4000000000", 52_000_000, ""},
		{Burstable, "-997", "max", 0, "critical or static pod"},
		{Burstable, "1000", "max", 0, "its request cannot be told"},
		{BestEffort, "1000", "max", 0, BestEffort},
		{Guaranteed, "-997", "max", 0, Guaranteed},
	} {
		m := groupMachine(t, map[string]string{"sys/fs/cgroup/g/cgroup.procs": "71\n72\n", "proc/71/oom_score_adj": test.score + "\n", "sys/fs/cgroup/g/memory.max": test.max + "\n"})
		limit, why := n.Estimate(m, Group{Dir: "sys/fs/cgroup/g", QOSClass: test.class})
		if limit != test.limit || why != test.why {
			t.Errorf("%+v: %d, %q", test, limit, why)
		}
	}
}
