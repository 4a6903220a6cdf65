// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
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

// flagKeys are the flags that set a key of the configuration.
var flagKeys = map[string]string{"fail-swap-on": KeyFailSwapOn, "feature-gates": keyFeatureGates, "eviction-hard": KeyEvictionHard,
	"system-reserved": keySystemReserved, "kube-reserved": keyKubeReserved, "cgroup-driver": keyCgroupDriver}

// flagDocument returns the configuration that flags make.
func flagDocument(all []flagValue) (document, error) {
	doc := document{}
	for _, f := range all {
		key := flagKeys[f.name]
		switch key {
		case "":
		case KeyFailSwapOn:
			on, err := strconv.ParseBool(f.value)
			if err != nil {
				return nil, fmt.Errorf("--%s=%s is neither true nor false", f.name, f.value)
			}
			doc[key] = on
		case keyCgroupDriver:
			doc[key] = f.value
		default:
			pairs := parsePairs(f.value)
			if old, ok := doc[key].(document); ok {
				old.merge(pairs)
			} else {
				doc[key] = pairs
			}
		}
	}
	return doc, nil
}

// parsePairs reads a=b,c=d; eviction thresholds have < for =.
func parsePairs(text string) document {
	pairs := document{}
	for pair := range strings.SplitSeq(text, ",") {
		if at := strings.IndexAny(pair, "=<"); at > 0 {
			pairs[strings.TrimSpace(pair[:at])] = strings.TrimSpace(pair[at+1:])
		}
	}
	return pairs
}
