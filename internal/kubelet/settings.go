// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Settings is what a kubelet's configuration says of swap and memory (KubeletConfiguration,
// kubelet.config.k8s.io/v1beta1), with the kubelet's defaults where it says nothing. It is
// immutable.
type Settings struct {
	FailSwapOn     bool              // the kubelet does not start where swap is on
	SwapBehavior   string            // NoSwap, LimitedSwap, or what else memorySwap.swapBehavior has
	EvictionHard   map[string]string // thresholds by signal, as 100Mi or 5%
	SystemReserved map[string]string // quantities by resource
	KubeReserved   map[string]string // quantities by resource
	NodeSwap       bool              // the feature gate; without it no container swaps
	CgroupDriver   string            // systemd or cgroupfs
	Files          []string          // configuration files that were read, the last one counting most
	from           map[string]string // where the value of a key is from
}

// Keys whose place a caller can ask [Settings.From] for.
const (
	KeyFailSwapOn = "failSwapOn" // KeyFailSwapOn has a bool.
	KeyMemorySwap = "memorySwap" // KeyMemorySwap has an object with swapBehavior.
	// KeyEvictionHard has thresholds by signal.
	KeyEvictionHard = "evictionHard"
)

// Further keys that are read.
const (
	keyFeatureGates   = "featureGates"
	keySystemReserved = "systemReserved"
	keyKubeReserved   = "kubeReserved"
	keyCgroupDriver   = "cgroupDriver"
)

// The values of SwapBehavior.
const (
	NoSwap      = "NoSwap"      // NoSwap keeps every pod out of swap.
	LimitedSwap = "LimitedSwap" // LimitedSwap lets Burstable pods swap, by their memory requests.
)

// commandLine names the flags of the kubelet as the place that a value is from.
const commandLine = "the command line"

// From returns where the value of a key is from: a file, the command line, or the default.
func (s Settings) From(key string) string {
	if from := s.from[key]; from != "" {
		return from
	}
	return "the default"
}

// ConfigFile returns the file in which to set a key: the one that sets it now, or the last one that
// was read; empty where there is none.
func (s Settings) ConfigFile(key string) string {
	if from := s.from[key]; strings.HasPrefix(from, "/") {
		return from
	}
	if len(s.Files) == 0 {
		return ""
	}
	return s.Files[len(s.Files)-1]
}

// read takes the configuration in the kubelet's order: its own settings, the file of --config, the
// drop-ins of --config-dir, and then the command line again.
func (s system) read(own string, args []string) (Settings, error) {
	flags := parseFlags(args)
	c := config{from: map[string]string{}}
	if err := c.add([]byte(own), "the distribution's default"); err != nil {
		return Settings{}, err
	}
	files, err := s.configFiles(flags)
	if err != nil {
		return Settings{}, err
	}
	for i, path := range files {
		text, err := s.file(path)
		if err != nil {
			return Settings{}, err
		}
		if err := c.add(text, path); err != nil {
			return c.settings(files[:i+1]), fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := c.addFlags(flags); err != nil {
		return Settings{}, err
	}
	return c.settings(files), nil
}

// configFiles returns the file of --config and the drop-ins, in the order in which they count.
func (s system) configFiles(flags []flagValue) (paths []string, err error) {
	if path, ok := last(flags, "config"); ok && path != "" {
		if path, err = s.absolute(path); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	dir, ok := last(flags, "config-dir")
	if !ok || dir == "" {
		return paths, nil
	}
	if dir, err = s.absolute(dir); err != nil {
		return nil, err
	}
	top := s.root.Path(s.resolve(filepath.Dir(dir)), filepath.Base(dir)) // the kubelet follows no link that dir is
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil && errors.Is(err, fs.ErrNotExist) && path == top {
			return nil // as that of a k3s older than its drop-ins
		}
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".conf" {
			paths = append(paths, filepath.Join(dir, strings.TrimPrefix(path, top)))
		}
		return err
	})
	return paths, err
}

// maxConfig is more than any configuration has, in bytes.
const maxConfig = 1 << 20

// file reads a file that the kubelet sees.
func (s system) file(path string) ([]byte, error) {
	name := s.root.Path(s.resolve(path))
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxConfig:
		return nil, fmt.Errorf("%s is no file of at most 1 MiB", path)
	}
	return os.ReadFile(name)
}

// ParseConfigz reads the answer of a kubelet's /configz, which has the settings in force.
func ParseConfigz(answer []byte) (Settings, error) {
	var all struct {
		Config map[string]yaml.Node `yaml:"kubeletconfig"`
	}
	if err := yaml.Unmarshal(answer, &all); err != nil {
		return Settings{}, fmt.Errorf("read the answer of /configz: %w", oneLine(err))
	}
	if all.Config == nil {
		return Settings{}, errors.New("read the answer of /configz: no kubeletconfig in it")
	}
	c := config{from: map[string]string{}}
	err := c.merge(all.Config, "/configz")
	return c.settings(nil), err
}
