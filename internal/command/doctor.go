// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/doctor"
	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/kubelet"
	"github.com/zramfs/zramfs/internal/podswap"
	"github.com/zramfs/zramfs/internal/safeopen"
	"github.com/zramfs/zramfs/internal/swapdev"
)

const (
	flagKubernetes = "kubernetes"
	flagConfigz    = "configz"
	flagPods       = "pods"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check whether this machine can run a device safely",
		Description: "Changes nothing. fail marks a reason why up would refuse or fail; warn marks a missing protection, " +
			"or a setting that costs speed. Failures come first and the verdict last.\n\n" +
			"With --kubernetes it also says what the kubelet of this node does where swap is on, from the kubelet's command line and files, " +
			"and how much swap each container of its pods may use, now and under LimitedSwap. --configz has the settings in force, as kubectl get --raw " +
			"/api/v1/nodes/NODE/proxy/configz prints them, and --pods the pods, as kubectl get pods -A -o json --field-selector spec.nodeName=NODE does; " +
			"without the pods their memory requests are estimated from the OOM scores of processes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Aliases: []string{"J"}, Usage: "print JSON"},
			&cli.BoolFlag{Name: flagKubernetes, Usage: "check what a node of Kubernetes needs, too"},
			&cli.StringFlag{Name: flagConfigz, Usage: "take the kubelet's settings from `FILE`, the answer of its /configz; - for standard input"},
			&cli.StringFlag{Name: flagPods, Usage: "take the pods of the node from `FILE`, a list in JSON; - for standard input"},
		},
		Action: doctorAction,
	}
}

func doctorAction(c *cli.Context) error {
	if c.Args().Present() {
		return usageError("doctor: takes no arguments")
	}
	m := doctor.Local()
	m.Engines, m.Priority, m.LastPriority = engineKinds, defaultPriority, defaultPriority-swapdev.MaxDefaultAreas+1
	var err error
	if m.Kubernetes, err = readKubernetes(c); err != nil {
		return err
	}
	r := doctor.Diagnose(m)
	if err := printReport(c.App.Writer, c.Bool("json"), r); err != nil {
		return err
	}
	if !r.Works {
		return exitWith(exitFailure)
	}
	return nil
}

// readKubernetes returns what the flags and the devices tell of a node; nil without --kubernetes.
func readKubernetes(c *cli.Context) (*doctor.Kubernetes, error) {
	configz, pods := c.String(flagConfigz), c.String(flagPods)
	switch {
	case !c.Bool(flagKubernetes) && (configz != "" || pods != ""):
		return nil, usageError("doctor: --%s and --%s belong to --%s", flagConfigz, flagPods, flagKubernetes)
	case !c.Bool(flagKubernetes):
		return nil, nil
	case configz == "-" && pods == "-":
		return nil, usageError("doctor: --%s and --%s cannot both be standard input", flagConfigz, flagPods)
	}
	found, _ := swapdev.Find() // without it no device is swap
	k := &doctor.Kubernetes{SwapStart: swapStart(found)}
	if configz != "" {
		text, err := readInput(c, configz)
		if err != nil {
			return nil, err
		}
		settings, err := kubelet.ParseConfigz(text)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flagConfigz, configz, err)
		}
		k.Configz = &settings
	}
	if pods != "" {
		text, err := readInput(c, pods)
		if err != nil {
			return nil, err
		}
		if k.Pods, err = podswap.ParseList(text); err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flagPods, pods, err)
		}
	}
	return k, nil
}

// maxInput is more than the pods of a node take, in bytes.
const maxInput = 64 << 20

// readInput reads a file, or standard input for -.
func readInput(c *cli.Context, path string) ([]byte, error) {
	if path != "-" {
		return safeopen.Read(path, maxInput)
	}
	text, err := io.ReadAll(io.LimitReader(c.App.Reader, maxInput))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return text, nil
}

// swapStart returns when the first device that is used as swap was started, in the units of
// host.Process; 0 where there is none.
func swapStart(found []swapdev.Device) (first uint64) {
	for _, d := range found {
		if d.Swap() == nil || d.Keeper == 0 {
			continue
		}
		if p, ok := host.Local.Process(d.Keeper); ok && (first == 0 || p.Start < first) {
			first = p.Start
		}
	}
	return first
}

// errKubelet means that a kubelet of this machine would not start again where swap is on.
var errKubelet = errors.New("swap would keep a kubelet from starting")

// allowedByKubelet refuses swap on a machine whose kubelet refuses it.
func allowedByKubelet(m host.Root) error {
	err := kubelet.Refusal(kubelet.Find(m))
	if err == nil {
		return nil
	}
	return &exitError{code: exitKubelet, cause: fmt.Errorf("%w: %w, or turn swap on in spite of it with --%s. Nothing was changed", errKubelet, err, flagForce)}
}
