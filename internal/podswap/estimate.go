// SPDX-License-Identifier: Apache-2.0

package podswap

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// Range of the score that the kubelet gives a Burstable container (its oom_score_adj), which is
// 1000 less the thousandths of memory that it requests. Critical pods have a negative one.
const (
	minScore = 3
	maxScore = 999
)

// sandboxScore is the score of the process that holds a pod's namespaces, in a container of its
// own.
const sandboxScore = -998

// WhySandbox is the reason of Estimate for a container that the runtime adds to a pod, whose swap
// the kubelet does not limit.
const WhySandbox = "sandbox of the pod"

// Estimate returns about what limit LimitedSwap would give a container, without the list of pods: a
// thousandth of the node's memory is the precision of what the score of its processes tells of the
// request. Requests equal to limits are told by the group's limit on memory. Why says why it is 0.
func (n Node) Estimate(m host.Root, g Group) (limit uint64, why string) {
	processes, err := m.Read(filepath.Join(g.Dir, "cgroup.procs"))
	pid, _, _ := strings.Cut(processes, "\n")
	if err != nil || pid == "" {
		return 0, WhySandbox // or a container that has ended
	}
	text, err := m.Read("proc/" + pid + "/oom_score_adj")
	score, err2 := strconv.Atoi(text)
	switch {
	case score == sandboxScore:
		return 0, WhySandbox
	case g.QOSClass != Burstable:
		return 0, g.QOSClass
	case err != nil || err2 != nil || score > maxScore || score >= 0 && score < minScore:
		return 0, "its request cannot be told"
	case score < 0:
		return 0, "critical or static pod"
	}
	request := n.Memory / 1000 * uint64(1000-score) // or up to a thousandth more
	if text, err := m.Read(filepath.Join(g.Dir, "memory.max")); err == nil {
		// A limit within the score's precision counts as the request.
		if bound, err := strconv.ParseUint(text, 10, 64); err == nil && bound >= request && bound <= request+n.Memory/500 {
			return 0, "memory request = limit"
		}
	}
	return n.Share(request), ""
}
