// SPDX-License-Identifier: Apache-2.0

// Package doctor checks whether a machine can run a device safely. It changes nothing.
package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
)

// dataName is the base name of every device's data file.
const dataName = "zram0"

// A Machine is what the checks ask. Local makes one.
type Machine struct {
	host.Root
	Engines      []imageio.Kind // kinds of engine of this program
	Priority     int            // of the first swap area that up turns on by default
	LastPriority int            // of the last one
	Kubernetes   *Kubernetes    // asks for the checks of a Kubernetes node

	kubelets []kubelet.Kubelet // those that run

	// Tests replace these.
	protections  func() []status.Protection // what the serving process would find out by itself
	instructions func() status.Instructions // what the codecs run on
	noswap       func() error               // nil where a tmpfs can be made that is never swapped
}

// Local returns this machine. The caller sets Engines and the priorities.
func Local() Machine {
	protections := func() []status.Protection { return protect.CheckMachine(zramfsd.Tasks()) }
	return Machine{Root: host.Local, protections: protections, instructions: status.ReadInstructions, noswap: tryNoswap}
}

// A Finding is the outcome of one check of the machine.
type Finding struct {
	Name   string       `json:"name"`           // short and stable
	State  status.State `json:"state"`          // ok, warn or fail
	Detail string       `json:"detail"`         // what was found
	Fix    string       `json:"mend,omitempty"` // empty if there is none
}

// String returns a line with the state first.
func (f Finding) String() string {
	line := fmt.Sprintf("%-4s  %s: %s", f.State, f.Name, f.Detail)
	if f.Fix != "" {
		line += "; fix: " + f.Fix
	}
	return line
}

// A Diagnosis is the result of all checks; its JSON is what doctor --json prints.
type Diagnosis struct {
	Checks     []Finding       `json:"checks"`               // failures first, then warnings
	Works      bool            `json:"works"`                // whether up would work
	Result     string          `json:"result"`               // the verdict in words
	Containers []ContainerSwap `json:"containers,omitempty"` // those of pods, with --kubernetes
}

// Diagnose runs every check on m.
func Diagnose(m Machine) Diagnosis {
	m.kubelets = kubelet.Find(m.Root)
	if m.Kubernetes == nil {
		return newDiagnosis(m.findings())
	}
	if m.Kubernetes.Configz != nil && len(m.kubelets) > 0 {
		m.kubelets[0].Settings, m.kubelets[0].Err = *m.Kubernetes.Configz, nil
	}
	m.Kubernetes.containers, m.Kubernetes.containersErr = m.containerSwap()
	d := newDiagnosis(append(m.findings(), m.kubernetesFindings()...))
	d.Containers = m.Kubernetes.containers
	return d
}

// settings are the checks whose warning is about speed or observability, not about a protection.
var settings = []string{"kernel-zram", "other-swap", "zswap", "log", "latency", "kernel-parameters", "free-memory", "codecs", "instruction-sets",
	"swap-behavior", "pod-swap", "eviction", "kubelet-restart"}

// newDiagnosis sorts findings and sums them up.
func newDiagnosis(findings []Finding) Diagnosis {
	order := map[status.State]int{status.Fail: 0, status.Warn: 1, status.OK: 2}
	slices.SortStableFunc(findings, func(a, b Finding) int { return order[a.State] - order[b.State] })
	var failures []string
	missing, slow := 0, 0
	for _, f := range findings {
		switch {
		case f.State == status.Fail:
			failures = append(failures, f.Detail)
		case f.State == status.Warn && slices.Contains(settings, f.Name):
			slow++
		case f.State == status.Warn:
			missing++
		}
	}
	d := Diagnosis{Checks: findings, Works: len(failures) == 0}
	if !d.Works {
		d.Result = "zramfs up would not work here: " + strings.Join(failures, "; ")
		return d
	}
	d.Result = "zramfs up would work here"
	var less []string
	if missing > 0 {
		less = append(less, term.Plural(missing, "protection is missing", "protections are missing"))
	}
	if slow > 0 {
		less = append(less, term.Plural(slow, "setting could be better", "settings could be better"))
	}
	if len(less) > 0 {
		d.Result += "; " + strings.Join(less, ", ") + " (see warn)"
	}
	return d
}

// Text returns a line for each check, and the result.
func (d Diagnosis) Text() string {
	var out strings.Builder
	for _, f := range d.Checks {
		out.WriteString(f.String() + "\n")
	}
	return out.String() + containerTable(d.Containers) + "Result: " + d.Result + "\n"
}
