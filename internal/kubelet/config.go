// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A config is what is read of a kubelet's configuration. A nil is a value that is not given, or one
// that a null took away.
type config struct {
	failSwapOn                                 *bool
	cgroupDriver                               *string
	memorySwap                                 *memorySwap
	featureGates                               *featureGates
	evictionHard, systemReserved, kubeReserved map[string]*string

	from map[string]string // where the value of a key is from
}

type memorySwap struct {
	SwapBehavior *string `yaml:"swapBehavior"`
}

type featureGates struct {
	NodeSwap *bool `yaml:"NodeSwap"`
}

// add changes c by a configuration file in YAML or JSON. A value that is decoded over another one
// changes it as a JSON merge patch does (RFC 7386), which is how the kubelet takes drop-ins.
func (c *config) add(text []byte, name string) error {
	var all map[string]yaml.Node
	if err := yaml.Unmarshal(text, &all); err != nil {
		return oneLine(err)
	}
	return c.merge(all, name)
}

func (c *config) merge(all map[string]yaml.Node, name string) error {
	for key, to := range map[string]any{KeyFailSwapOn: &c.failSwapOn, keyCgroupDriver: &c.cgroupDriver, KeyMemorySwap: &c.memorySwap,
		keyFeatureGates: &c.featureGates, KeyEvictionHard: &c.evictionHard, keySystemReserved: &c.systemReserved, keyKubeReserved: &c.kubeReserved} {
		node, ok := all[key]
		if !ok {
			continue
		}
		c.from[key] = name
		if err := node.Decode(to); err != nil {
			return fmt.Errorf("%s: %w", key, oneLine(err))
		}
	}
	return nil
}

// oneLine puts an error of the library into one line.
func oneLine(err error) error {
	var several *yaml.TypeError
	if errors.As(err, &several) {
		return errors.New(strings.Join(several.Errors, "; "))
	}
	return err
}

// settings returns c with the kubelet's defaults.
func (c *config) settings(files []string) Settings {
	s := Settings{FailSwapOn: true, SwapBehavior: NoSwap, NodeSwap: true, CgroupDriver: "cgroupfs",
		EvictionHard: map[string]string{"memory.available": "100Mi"}, Files: files, from: c.from}
	set(&s.FailSwapOn, c.failSwapOn)
	set(&s.CgroupDriver, c.cgroupDriver)
	if c.memorySwap != nil {
		set(&s.SwapBehavior, c.memorySwap.SwapBehavior)
	}
	if s.SwapBehavior == "" {
		s.SwapBehavior = NoSwap
	}
	if c.featureGates != nil {
		set(&s.NodeSwap, c.featureGates.NodeSwap)
	}
	setAll(&s.EvictionHard, c.evictionHard)
	setAll(&s.SystemReserved, c.systemReserved)
	setAll(&s.KubeReserved, c.kubeReserved)
	return s
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

func setAll(to *map[string]string, values map[string]*string) {
	if values == nil {
		return
	}
	*to = map[string]string{}
	for name, value := range values {
		if value != nil {
			(*to)[name] = *value
		}
	}
}
