// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
	"github.com/zramfs/zramfs/internal/status"
)

const (
	burstable = "sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0b1c2d3e_0000_4000_8000_000000000001.slice/cri-containerd-"
	kubeadm   = "var/lib/kubelet/config.yaml"
)

// nodeMachine is the files of a node on which every check is well: 8 GiB of memory, 4 GiB of swap
// on a device of ours, and a container of 1 GiB whose limit is right.
func nodeMachine() map[string]string {
	files := wellMachine()
	a := burstable + strings.Repeat("a", 64) + ".scope/"
	for name, text := range map[string]string{
		"proc/812/stat":                     "812 (kubelet) S 1 1 1 0 -1 4194560 1 1 0 0 10 10 0 0 20 0 9 0 5000 1 1\n",
		"proc/812/cmdline":                  "/usr/bin/kubelet\x00--config=/" + kubeadm + "\x00",
		kubeadm:                             "failSwapOn: false\nmemorySwap:\n  swapBehavior: LimitedSwap\nevictionHard:\n  memory.available: 50Mi\n",
		"proc/meminfo":                      "MemTotal: 8388608 kB\nSwapTotal: 4194304 kB\nSwapFree: 4194304 kB\n",
		"proc/swaps":                        "Filename\n/dev/loop3 partition 4194304 0 100\n",
		"sys/block/loop3/loop/backing_file": "/zram0\n",
		"proc/self/status":                  "Name:\tzramfs\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n",
		a + "memory.swap.max":               "536870912\n",
		a + "memory.max":                    "max\n",
		a + "cgroup.procs":                  "71\n",
		"proc/71/oom_score_adj":             "875\n",
		burstable + strings.Repeat("0", 64) + "/cgroup.procs":    "72\n", // a sandbox
		burstable + strings.Repeat("0", 64) + "/memory.swap.max": "max\n",
		"proc/72/oom_score_adj":                                  "-998\n",
	} {
		files[name] = text
	}
	return files
}

// node returns the machine with these files, whose pods are those of testdata of podswap that have
// a group here.
func node(t *testing.T, files map[string]string) Machine {
	t.Helper()
	m := machineOf(t, files)
	text, err := os.ReadFile("../podswap/testdata/pods.json")
	if err != nil {
		t.Fatal(err)
	}
	pods, err := podswap.ParseList(text)
	if err != nil {
		t.Fatal(err)
	}
	m.Kubernetes = &Kubernetes{Pods: pods, SwapStart: 4000}
	return m
}

func TestNodeThatIsWell(t *testing.T) {
	d := Diagnose(node(t, nodeMachine()))
	for _, f := range d.Checks {
		if f.State != status.OK {
			t.Errorf("not well: %s", f)
		}
	}
	if len(d.Containers) != 1 || d.Containers[0].Title != "shop/orders-0 app" || d.Containers[0].Limited != 1<<29 || *d.Containers[0].SwapMax != 1<<29 || d.Containers[0].About {
		t.Errorf("containers %+v", d.Containers)
	}
	if text := d.Text(); !strings.Contains(text, "shop/orders-0 app aaaaaaaaaaaa  Burstable  512M      512M\n") {
		t.Errorf("%s", text)
	}
	m := node(t, nodeMachine())
	m.Kubernetes.Pods = nil
	d = Diagnose(m)
	if len(d.Containers) != 1 || !d.Containers[0].About || d.Containers[0].Limited>>10 != 524287 || !strings.Contains(d.Text(), "about 512M") {
		t.Errorf("without pods: %+v\n%s", d.Containers, d.Text())
	}
}

// TestNodeFindings changes one file of the node and wants one check to notice, with a fix.
func TestNodeFindings(t *testing.T) {
	const missing = "\x00missing"
	swapMax := burstable + strings.Repeat("a", 64) + ".scope/memory.swap.max"
	for _, test := range []struct {
		file, text, name string
		state            status.State
		detail, fix      string
	}{
		{kubeadm, "kind: KubeletConfiguration\n", "kubelet", status.Fail, "failSwapOn true by the default", "Set failSwapOn: false in /" + kubeadm},
		{kubeadm, "failSwapOn: true\n", "kubelet", status.Fail, "its pods are moved", "zramfs up --force"},
		{kubeadm, missing, "kubelet", status.Fail, "cannot be told", ""},
		{"proc/812/stat", missing, "kubelet", status.Warn, "no kubelet runs", "hostPID"},
		{kubeadm, "failSwapOn: false\n", "swap-behavior", status.Warn, "NoSwap by the default", "limited-swap"},
		{kubeadm, "memorySwap: {swapBehavior: UnlimitedSwap}\n", "swap-behavior", status.Warn, "UnlimitedSwap", "LimitedSwap"},
		{kubeadm, "featureGates: {NodeSwap: false}\n", "swap-behavior", status.Warn, "NodeSwap is off", "leave it on"},
		{swapMax, "0\n", "pod-swap", status.Warn, "of 1 container 0 may swap now, and 1 under LimitedSwap; 1 have another limit", "restart"},
		{"proc/self/mountinfo", "41 31 0:38 / /m rw - cgroup cgroup rw,memory\n", "pod-cgroups", status.Warn, "cgroup v1", "boot it"},
		{"proc/812/stat", "812 (kubelet) S 1 1 1 0 -1 4194560 1 1 0 0 10 10 0 0 20 0 9 0 3000 1 1\n", "kubelet-restart", status.Warn, "older than swap", "restart the kubelet"},
		{"proc/meminfo", "MemTotal: 8388608 kB\n", "kubelet-restart", status.OK, "after up restart", ""},
		{kubeadm, "failSwapOn: false\n", "eviction", status.Warn, "100Mi is above vm.min_free_kbytes (66M)", "102400"},
		{kubeadm, "evictionHard: {memory.available: 5%}\n", "eviction", status.Warn, "5% is above", ""},
		{kubeadm, "evictionHard: {memory.available: many}\n", "eviction", status.Warn, "cannot tell", ""},
		{kubeadm, "evictionHard: {nodefs.available: 5%}\n", "eviction", status.OK, "no memory.available", ""},
		{"proc/sys/kernel/osrelease", "6.1.0\n", "tmpfs-noswap", status.Warn, "can be swapped", "6.4"},
		{"proc/swaps", "Filename\n/dev/sda2 partition 2097148 0 -2\n", "secrets", status.Warn, "can reach /dev/sda2", "dm-crypt"},
		{"proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t2\n", "seccomp", status.Warn, "filter", "Unconfined"},
		{"proc/self/attr/current", "cri-containerd.apparmor.d (enforce)\n", "security-module", status.Warn, "(enforce)", "privileged"},
		{"proc/self/attr/current", "system_u:system_r:container_t:s0:c1,c2\x00", "security-module", status.Warn, "container_t", "spc_t"},
		{"proc/self/attr/current", "unconfined\n", "security-module", status.OK, "unconfined", ""},
	} {
		files := nodeMachine()
		files[test.file] = test.text
		if test.text == missing {
			delete(files, test.file)
		}
		m := node(t, files)
		m.noswap = func() error { return errors.New("set noswap: invalid argument") }
		f := findingNamed(t, Diagnose(m).Checks, test.name)
		if f.State != test.state || !strings.Contains(f.Detail, test.detail) || !strings.Contains(f.Fix, test.fix) {
			t.Errorf("%s %q: %s; want %s: %s; fix: %s", test.file, test.text, f, test.state, test.detail, test.fix)
		}
	}
}

// The answer of /configz counts more than the files.
func TestNodeWithConfigz(t *testing.T) {
	files := nodeMachine()
	files[kubeadm] = "failSwapOn: true\n"
	m := node(t, files)
	settings, err := kubelet.ParseConfigz([]byte(`{"kubeletconfig":{"failSwapOn":false,"memorySwap":{"swapBehavior":"LimitedSwap"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	m.Kubernetes.Configz = &settings
	if f := findingNamed(t, Diagnose(m).Checks, "kubelet"); f.State != status.OK || !strings.Contains(f.Detail, "/configz") {
		t.Errorf("%s", f)
	}
}

// A kubelet matters without --kubernetes as well, since up refuses.
func TestDoctorKubelet(t *testing.T) {
	files := nodeMachine()
	files[kubeadm] = "failSwapOn: true\n"
	if d := Diagnose(machineOf(t, files)); d.Works || findingNamed(t, d.Checks, "kubelet").State != status.Fail || d.Containers != nil {
		t.Errorf("%+v", d)
	}
}
