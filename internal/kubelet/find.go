// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// A Kubelet is one that runs.
type Kubelet struct {
	Process host.Process
	Settings
	// Err is the reason why Settings may be other ones than the kubelet has; nil where they are
	// those of its command line and files.
	Err error
}

// A program is a program that is a kubelet or has one in it.
type program struct {
	name     string // as in /proc/PID/comm
	settings string // that it has before it reads any file, in YAML
	args     func(system, host.Process) ([]string, error)
}

// programs lists the kubelet and the distributions that have it in their own process. Those of
// rke2, k0s, Talos and Bottlerocket start a kubelet.
var programs = []program{
	{"kubelet", "", ownArguments},
	{"kubelite", "", kubeliteArguments},
	{"k3s-server", k3sSettings, k3sArguments},
	{"k3s-agent", k3sSettings, k3sArguments},
}

// Find returns the kubelets in the PID namespace that m has the proc file system of, the one that
// was started first before the others: kind starts several on one machine. It reads a line of each
// process. Any user may name a process kubelet, and swap must not depend on it: those that could
// not mount a volume, without root and CAP_SYS_ADMIN, are left out.
func Find(m host.Root) (all []Kubelet) {
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = p.name
	}
	for _, p := range m.ProcessesNamed(names...) {
		if privileged, err := m.IsPrivileged(p.PID); err == nil && !privileged {
			continue
		}
		k := Kubelet{Process: p}
		of := programs[slices.Index(names, p.Name)]
		s := newSystem(m, p.PID)
		args, err := of.args(s, p)
		if err == nil {
			k.Settings, err = s.read(of.settings, args)
		}
		k.Err = err
		if now, ok := m.Process(p.PID); ok && now.Start == p.Start { // else it ended while its files were read
			all = append(all, k)
		}
	}
	slices.SortStableFunc(all, func(a, b Kubelet) int { return cmp.Compare(a.Process.Start, b.Process.Start) })
	return all
}

// Refusal returns the reason why swap must not be turned on where these kubelets run, and what to
// do; nil where there is none.
func Refusal(all []Kubelet) error {
	for _, k := range all {
		if against := k.Against(); against != "" {
			return fmt.Errorf("%s. %s", against, k.FailSwapOnFix())
		}
	}
	return nil
}

// Against says what swap would do to a kubelet that refuses it; empty where it does not.
func (k Kubelet) Against() string {
	const ends = "with swap on it does not start again, and then its node is not ready and its pods are moved to other nodes"
	switch {
	case k.Err != nil:
		return fmt.Sprintf("the kubelet (process %d) may have failSwapOn true, which cannot be told: %v. If so, %s", k.Process.PID, k.Err, ends)
	case k.FailSwapOn:
		return fmt.Sprintf("the kubelet (process %d) has failSwapOn true by %s: %s", k.Process.PID, k.From(KeyFailSwapOn), ends)
	}
	return ""
}

// FailSwapOnFix says how to have a kubelet start where swap is on.
func (k Kubelet) FailSwapOnFix() string {
	switch file := k.ConfigFile(KeyFailSwapOn); {
	case k.From(KeyFailSwapOn) == commandLine:
		return "Start the kubelet with --fail-swap-on=false"
	case file != "":
		return "Set failSwapOn: false in " + file + " and restart the kubelet"
	}
	return "Set failSwapOn: false in the kubelet's configuration and restart it"
}

// A system is the files that a process sees.
type system struct {
	machine host.Root
	pid     int
	root    host.Root // of the process
}

func newSystem(m host.Root, pid int) system {
	s := system{machine: m, pid: pid, root: m}
	own, err := os.Readlink(m.Path("proc/self/ns/mnt"))
	its, err2 := os.Readlink(m.Path("proc", fmt.Sprint(pid), "ns/mnt"))
	if err == nil && err2 == nil && own != its {
		s.root = host.Root(m.InRootOf(pid, "/"))
	}
	return s
}

// absolute returns the path of a file that the process names, relative to its root.
func (s system) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	dir, err := os.Readlink(s.machine.Path("proc", fmt.Sprint(s.pid), "cwd"))
	if err != nil {
		return "", fmt.Errorf("read the kubelet's directory for %s: %w", path, err)
	}
	return filepath.Join(dir, path), nil
}

// maxLinks is how many links the kernel follows in a path.
const maxLinks = 40

// resolve returns an absolute path without the links in it. The kernel would take their absolute
// targets for files of this process.
func (s system) resolve(path string) string {
	at, todo := "/", path
	for links := 0; todo != "" && links <= maxLinks; {
		var name string
		name, todo, _ = strings.Cut(strings.TrimLeft(todo, "/"), "/")
		target, err := os.Readlink(s.root.Path(at, name))
		switch {
		case err != nil: // no link, or nothing is there
			at = filepath.Join(at, name)
		case filepath.IsAbs(target):
			at, todo, links = "/", target+"/"+todo, links+1
		default:
			todo, links = target+"/"+todo, links+1
		}
	}
	return filepath.Join(at, todo)
}

func ownArguments(s system, p host.Process) ([]string, error) {
	args := s.machine.Arguments(p.PID)
	if len(args) == 0 {
		return nil, fmt.Errorf("the arguments of process %d cannot be read", p.PID)
	}
	return args[1:], nil
}

// kubeliteArguments reads those that kubelite of MicroK8s has in a file.
func kubeliteArguments(s system, p host.Process) ([]string, error) {
	own, err := ownArguments(s, p)
	if err != nil {
		return nil, err
	}
	path, ok := last(parseFlags(own), "kubelet-args-file")
	if !ok {
		return nil, fmt.Errorf("process %d (kubelite) has no --kubelet-args-file", p.PID)
	}
	text, err := s.file(path)
	if err != nil {
		return nil, err
	}
	var args []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			for word := range strings.FieldsSeq(line) {
				args = append(args, strings.NewReplacer(`"`, "", "'", "").Replace(word))
			}
		}
	}
	return args, nil
}

// Where k3s keeps what concerns its kubelet, unless --data-dir and --config say otherwise.
const (
	k3sDropIns = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
	k3sConfig  = "/etc/rancher/k3s/config.yaml"
)

// k3sSettings are those that k3s gives its kubelet.
const k3sSettings = KeyFailSwapOn + ": false"

// k3sArguments returns the kubelet's arguments that are known of k3s: its directory of drop-ins,
// and what kubelet-arg in its configuration or on its command line says of swap.
func k3sArguments(s system, p host.Process) ([]string, error) {
	args := []string{"--config-dir=" + k3sDropIns}
	texts := []string{strings.Join(s.machine.Arguments(p.PID), "\n")}
	paths := []string{k3sConfig}
	more, _ := os.ReadDir(s.root.Path(s.resolve(k3sConfig + ".d")))
	for _, e := range more {
		if filepath.Ext(e.Name()) == ".yaml" {
			paths = append(paths, filepath.Join(k3sConfig+".d", e.Name()))
		}
	}
	for _, path := range paths {
		if text, err := os.ReadFile(s.root.Path(s.resolve(path))); err == nil {
			texts = append(texts, string(text))
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if before, value, ok := strings.Cut(line, "fail-swap-on="); ok && !strings.Contains(before, "#") {
				args = append(args, "--fail-swap-on="+strings.Trim(strings.TrimSpace(value), `"',]`))
			}
		}
	}
	return args, nil
}
