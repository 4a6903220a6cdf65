// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/loopsetup"
)

// Kubernetes is what a caller knows of a Kubernetes node, for the checks that only such a node
// needs.
type Kubernetes struct {
	Configz   *kubelet.Settings // the answer of the kubelet's /configz; nil leaves its files
	Pods      []podswap.Pod     // of the node; nil where they are not known
	SwapStart uint64            // when the first device was started, as [host.Process] counts; 0 if unknown

	containers    []ContainerSwap
	containersErr error
}

// kubeletChecks ask what the kubelet's settings do.
var kubeletChecks = []check{
	{"swap-behavior", checkSwapBehavior},
	{"kubelet-restart", checkKubeletRestart},
	{"eviction", checkEviction},
}

// nodeChecks are those that a node of Kubernetes needs too.
var nodeChecks = []check{
	{"pod-swap", checkPodSwap},
	{"pod-cgroups", checkPodGroups},
	{"tmpfs-noswap", checkTmpfs},
	{"secrets", checkSecrets},
	{"seccomp", checkSeccomp},
	{"security-module", checkSecurityModule},
}

// kubernetesFindings runs the checks of a node. Without a kubelet, checkKubelet has said so.
func (m Machine) kubernetesFindings() []Finding {
	if len(m.kubelets) == 0 {
		return m.run(nodeChecks)
	}
	return append(m.run(kubeletChecks), m.run(nodeChecks)...)
}

// checkKubelet looks for a kubelet that would not start again where swap is on.
func checkKubelet(m Machine) (Finding, error) {
	for _, k := range m.kubelets {
		if against := k.Against(); against != "" {
			return fail(against, k.FailSwapOnFix()+"; zramfs up --force turns swap on in spite of it")
		}
	}
	switch {
	case len(m.kubelets) > 0:
		k := m.kubelets[0]
		return ok("process %d (%s) starts where swap is on: failSwapOn is false by %s", k.Process.PID, k.Process.Name, k.From(kubelet.KeyFailSwapOn))
	case m.Kubernetes != nil:
		return warn("no kubelet runs in this PID namespace", "run zramfs on the node, in a pod with hostPID")
	}
	return ok("no kubelet runs here")
}

// errNoKubelet is the reason why a setting of the kubelet cannot be told.
var errNoKubelet = errors.New("no kubelet runs here")

// kubelet returns the first kubelet.
func (m Machine) kubelet() (kubelet.Kubelet, error) {
	if len(m.kubelets) == 0 {
		return kubelet.Kubelet{}, errNoKubelet
	}
	return m.kubelets[0], m.kubelets[0].Err
}

func checkSwapBehavior(m Machine) (Finding, error) {
	k, err := m.kubelet()
	if err != nil {
		return Finding{}, err
	}
	from := k.From(kubelet.KeyMemorySwap)
	switch {
	case !k.NodeSwap:
		return warn("the feature gate NodeSwap is off: no container may swap", "leave it on, as it is by default since Kubernetes 1.30")
	case k.SwapBehavior == kubelet.LimitedSwap:
		return ok("LimitedSwap by %s: Burstable containers may swap, in proportion to their memory requests", from)
	case k.SwapBehavior == kubelet.NoSwap:
		return warn("NoSwap by "+from+": the kubelet sets memory.swap.max of all containers to 0, and only what runs outside of pods is swapped",
			"set memorySwap.swapBehavior: LimitedSwap and restart the kubelet, or run zramfs node limited-swap")
	}
	return warn(fmt.Sprintf("swapBehavior is %q by %s, which Kubernetes 1.30 and later do not know", k.SwapBehavior, from),
		"set memorySwap.swapBehavior: LimitedSwap")
}

// checkPodGroups asks for cgroup v2, without which the kubelet limits no swap.
func checkPodGroups(m Machine) (Finding, error) {
	h, err := m.MemoryHierarchy()
	if err != nil {
		return Finding{}, err
	}
	if !h.V2 {
		detail, cure, _ := strings.Cut(podswap.ErrNoGroups.Error(), ": ")
		return warn(detail, cure)
	}
	return ok("memory is counted by cgroup v2")
}

// checkKubeletRestart compares when kubelet and swap were started: the kubelet looks for swap once.
func checkKubeletRestart(m Machine) (Finding, error) {
	const restart = "restart the kubelet, which reads the size of swap once"
	k := m.kubelets[0]
	switch start := m.Kubernetes.SwapStart; {
	case m.SwapUse().Total == 0:
		return ok("no swap is on; after up %s", restart)
	case start == 0:
		return ok("no device of zramfs is on; if other swap is younger than the kubelet, %s", restart)
	case k.Process.Start < start:
		return warn("the kubelet is older than swap, so it reports no swap and gives pods none", restart)
	}
	return ok("the kubelet was started after swap was turned on")
}

// checkEviction compares the kubelet's threshold with the memory that the kernel keeps free.
func checkEviction(m Machine) (Finding, error) {
	const signal = "memory.available"
	k, err := m.kubelet()
	if err != nil {
		return Finding{}, err
	}
	text, given := k.EvictionHard[signal]
	if !given {
		return ok("evictionHard has no %s", signal)
	}
	kib, err := m.SysctlNumber("vm.min_free_kbytes")
	if err != nil {
		return Finding{}, err
	}
	ram, err := m.MemTotal()
	if err != nil {
		return Finding{}, err
	}
	threshold, err := evictionBytes(text, ram)
	if err != nil {
		return Finding{}, err
	}
	if threshold > kib<<10 {
		return warn(fmt.Sprintf("evictionHard %s %s is above vm.min_free_kbytes (%s): the kubelet evicts pods before the kernel swaps them out", signal, text, term.Size(kib<<10)),
			fmt.Sprintf("set it below %s, or vm.min_free_kbytes above %d", term.Size(kib<<10), threshold>>10))
	}
	return ok("evictionHard %s %s is below vm.min_free_kbytes (%s): the kernel swaps before the kubelet evicts", signal, text, term.Size(kib<<10))
}

// evictionBytes reads a threshold, a quantity or a percentage of the memory.
func evictionBytes(text string, ram uint64) (uint64, error) {
	var percent float64
	if number, ok := strings.CutSuffix(text, "%"); ok {
		if _, err := fmt.Sscan(number, &percent); err != nil || percent < 0 || percent > 100 {
			return 0, fmt.Errorf("evictionHard %q is no percentage", text)
		}
		return uint64(float64(ram) * percent / 100), nil
	}
	return podswap.ParseQuantity(text)
}

// hasTmpfsNoswap asks as the kubelet does: later than 6.3 it takes for granted, and before it
// tries.
func (m Machine) hasTmpfsNoswap() (release string, has bool) {
	release, major, minor, err := m.KernelRelease()
	return release, err == nil && (major > 6 || major == 6 && minor > 3) || m.noswap() == nil
}

func checkTmpfs(m Machine) (Finding, error) {
	release, has := m.hasTmpfsNoswap()
	if !has {
		return warn("Linux "+release+" has no tmpfs with noswap: the kubelet only warns, and volumes of secrets and emptyDir in memory can be swapped",
			"use Linux 6.4 or later")
	}
	return ok("Linux %s: the kubelet mounts volumes of secrets with noswap", release)
}

// checkSecrets asks whether pages of pods can reach a disk unencrypted.
func checkSecrets(m Machine) (Finding, error) {
	table, err := m.SwapTable()
	if err != nil {
		return Finding{}, err
	}
	areas, err := loopsetup.ParseSwaps([]byte(table))
	if err != nil {
		return Finding{}, err
	}
	var others []string
	for _, a := range areas {
		if backing, err := m.LoopBackingFile(a.Path); err != nil || path.Base(backing) != dataName {
			others = append(others, a.Path)
		}
	}
	others = slices.DeleteFunc(others, func(path string) bool { return strings.HasPrefix(path, "/dev/zram") })
	if len(others) > 0 {
		return warn("memory of pods can reach "+strings.Join(others, ", ")+", which may be a disk without encryption",
			"turn them off with swapoff, or have them on dm-crypt")
	}
	return ok("zramfs keeps swapped pages in locked memory; what --spill writes to a backing device is encrypted with a key that is in memory alone")
}

func checkSeccomp(m Machine) (Finding, error) {
	mode, err := m.Field("proc/self/status", "Seccomp")
	if err != nil {
		return Finding{}, err
	}
	if mode != "0" {
		return warn("a seccomp filter is on, which may refuse mount and swapon", "give the container securityContext.seccompProfile.type: Unconfined, or privileged: true")
	}
	return ok("no seccomp filter is on")
}

// checkSecurityModule reads the label that AppArmor or SELinux gives the process.
func checkSecurityModule(m Machine) (Finding, error) {
	label, err := m.Read("proc/self/attr/current")
	label = strings.TrimRight(label, "\x00\n")
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && label == "", label == "":
		return ok("neither AppArmor nor SELinux confines this process")
	case strings.HasSuffix(label, " (enforce)"), strings.Contains(label, ":container_t:") && m.enforcesSELinux():
		return warn("the security module confines this process as "+label+", which may refuse mount and swapon",
			"give the container privileged: true, appArmorProfile.type: Unconfined, or seLinuxOptions.type: spc_t")
	}
	return ok("this process is %s", label)
}

func (m Machine) enforcesSELinux() bool {
	text, err := m.Read("sys/fs/selinux/enforce")
	return err != nil || text == "1"
}
