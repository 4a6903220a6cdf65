// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// flagValue is a flag of a command line and its value; a flag without one has "true", since those
// are switches.
type flagValue struct{ name, value string }

// valued are the flags read here that have a value in the next word if they have no =.
var valued = map[string]bool{"config": true, "config-dir": true, "feature-gates": true, "eviction-hard": true,
	"system-reserved": true, "kube-reserved": true, "cgroup-driver": true, "kubelet-args-file": true, "hostname-override": true}

// parseFlags reads a command line as spf13/pflag does, with an underscore for a dash.
func parseFlags(args []string) (all []flagValue) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		if !ok {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		name = strings.ReplaceAll(name, "_", "-")
		switch {
		case !given && valued[name] && i+1 < len(args):
			i++
			value = args[i]
		case !given:
			value = "true"
		}
		all = append(all, flagValue{name, value})
	}
	return all
}

// last returns the last value of a flag, which is the one that counts.
func last(all []flagValue, name string) (value string, ok bool) {
	for _, f := range all {
		if f.name == name {
			value, ok = f.value, true
		}
	}
	return value, ok
}

// addFlags changes c by a command line. Flags replace what files have, but for feature gates.
func (c *config) addFlags(all []flagValue) error {
	for _, f := range all {
		switch f.name {
		case "fail-swap-on":
			on, err := parseSwitch(f.name, f.value)
			if err != nil {
				return err
			}
			c.failSwapOn, c.from[KeyFailSwapOn] = on, commandLine
		case "feature-gates":
			gate := parsePairs(f.value)["NodeSwap"]
			if gate == nil {
				continue
			}
			on, err := parseSwitch(f.name+"=NodeSwap", *gate)
			if err != nil {
				return err
			}
			c.featureGates, c.from[keyFeatureGates] = &featureGates{on}, commandLine
		case "cgroup-driver":
			c.cgroupDriver, c.from[keyCgroupDriver] = &f.value, commandLine
		case "eviction-hard":
			c.addPairs(&c.evictionHard, KeyEvictionHard, f.value)
		case "system-reserved":
			c.addPairs(&c.systemReserved, keySystemReserved, f.value)
		case "kube-reserved":
			c.addPairs(&c.kubeReserved, keyKubeReserved, f.value)
		}
	}
	return nil
}

func parseSwitch(name, value string) (*bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return nil, fmt.Errorf("--%s=%s is neither true nor false", name, value)
	}
	return &on, nil
}

// addPairs adds those of a flag, which may be there several times.
func (c *config) addPairs(to *map[string]*string, key, text string) {
	if *to == nil || c.from[key] != commandLine {
		*to, c.from[key] = map[string]*string{}, commandLine
	}
	maps.Copy(*to, parsePairs(text))
}

// parsePairs reads a=b,c=d; eviction thresholds have < for =.
func parsePairs(text string) map[string]*string {
	pairs := map[string]*string{}
	for pair := range strings.SplitSeq(text, ",") {
		if at := strings.IndexAny(pair, "=<"); at > 0 {
			value := strings.TrimSpace(pair[at+1:])
			pairs[strings.TrimSpace(pair[:at])] = &value
		}
	}
	return pairs
}
