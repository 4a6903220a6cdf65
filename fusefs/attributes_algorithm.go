// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/fusefs/sysfstext"
)

// longestName is the length from which comp_algorithm refuses a text with E2BIG:
// CRYPTO_MAX_ALG_NAME of the kernel.
const longestName = 128

// setAlgorithm takes the name of an algorithm, with parameters as codec.Parse reads them. Unlike
// the kernel's it may change while the device is in use: pages that are stored stay as they are.
func (a *attributes) setAlgorithm(text []byte, c *Settings) error {
	if len(text) >= longestName {
		return syscall.E2BIG
	}
	algorithm, err := a.parse(sysfstext.Word(text))
	if err != nil {
		return err
	}
	return a.choose(algorithm, c)
}

// choose makes new pages be compressed by an algorithm.
func (a *attributes) choose(algorithm codec.Algorithm, c *Settings) error {
	c.Algorithm = algorithm.String()
	if err := c.fits(); err != nil {
		return err
	}
	if err := a.cfg.Store.SetAlgorithm(algorithm); err != nil {
		return refuse("%w", err)
	}
	return nil
}

// parse reads an algorithm. Only the dictionary that the device was made with is at hand, since a
// server opens no file.
func (a *attributes) parse(name string) (codec.Algorithm, error) {
	return a.cfg.chosenAlgorithm(name)
}

// chosenAlgorithm reads the text of an algorithm that was chosen.
func (cfg Config) chosenAlgorithm(name string) (codec.Algorithm, error) {
	algorithm, err := codec.Parse(name)
	switch {
	case err != nil:
		return algorithm, refuse("%w", err)
	case algorithm.DictionaryFile() == "":
		return algorithm, nil
	case name == cfg.Algorithm.String():
		return cfg.Algorithm, nil
	}
	return algorithm, refuse("algorithm %s: a dictionary is given when the device is made", name)
}

// parameters are what algorithm_params and recomp_algorithm take.
type parameters struct {
	algorithm string
	priority  int64
	level     int64 // unset for none
	file      string
}

// unset is the level of a list without one, as ZCOMP_PARAM_NOT_SET of the kernel.
const unset = math.MinInt32

// parametersOf reads a list of key=value; priority is the one of a list without any. As in the
// kernel, unknown keys are ignored, and a key without a value is EINVAL.
func parametersOf(text []byte, priority int64) (parameters, error) {
	p := parameters{priority: priority, level: unset}
	for key, value := range sysfstext.Arguments(text) {
		if value == "" {
			return p, syscall.EINVAL
		}
		var err error
		switch key {
		case "algo":
			p.algorithm = value
		case "priority":
			p.priority, err = sysfstext.Signed(value, 32)
		case "level":
			p.level, err = sysfstext.Signed(value, 32)
		case "dict":
			p.file = value
		case "deflate.winbits":
			_, err = sysfstext.Signed(value, 32)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// setParameters takes parameters of the algorithm that algo= or priority= names, by default those
// of comp_algorithm. An algorithm without levels takes any and ignores it, as the kernel's lzo
// does.
func (a *attributes) setParameters(text []byte, c *Settings) error {
	p, err := parametersOf(text, 0)
	if err != nil {
		return err
	}
	settings := append([]string{a.cfg.Store.Algorithm().String()}, c.Recompression[:]...)
	if p.algorithm != "" {
		p.priority = priorityOf(p.algorithm, settings)
	}
	switch {
	case p.priority < 0 || p.priority > recompressions:
		return syscall.EINVAL
	case p.file != "":
		return refuse("dict=%s: a dictionary is given when the device is made", p.file)
	case p.level == unset || settings[p.priority] == "":
		return nil
	}
	algorithm, changed, err := a.withLevel(settings[p.priority], p.level)
	switch {
	case err != nil || !changed:
		return err
	case p.priority == 0:
		return a.choose(algorithm, c)
	}
	c.Recompression[p.priority-1] = algorithm.String()
	return nil
}

// priorityOf returns the first priority that has the algorithm, with whatever parameters, or -1.
func priorityOf(name string, settings []string) int64 {
	for i, setting := range settings {
		if setting == name || setting != "" && familyOf(setting) == name {
			return int64(i)
		}
	}
	return -1
}

// withLevel returns an algorithm with another level, and whether it takes one.
func (a *attributes) withLevel(setting string, level int64) (codec.Algorithm, bool, error) {
	const zstd = "zstd" // the algorithm with levels
	if familyOf(setting) != zstd {
		return codec.Algorithm{}, false, nil
	}
	if strings.Contains(setting, "dict=") {
		return codec.Algorithm{}, false, refuse("level=%d: the level of an algorithm with a dictionary is given when the device is made", level)
	}
	algorithm, err := a.parse(zstd + "(level=" + strconv.FormatInt(level, 10) + ")")
	return algorithm, true, err
}

// setRecompression takes algo=NAME and priority=1 to 3.
func (a *attributes) setRecompression(text []byte, c *Settings) error {
	p, err := parametersOf(text, 1)
	if err != nil {
		return err
	}
	if p.algorithm == "" || p.priority < 1 || p.priority > recompressions {
		return syscall.EINVAL
	}
	if len(p.algorithm) >= longestName {
		return syscall.E2BIG
	}
	algorithm, err := a.parse(p.algorithm)
	if err != nil {
		return err
	}
	c.Recompression[p.priority-1] = algorithm.String()
	return nil
}

// recompAlgorithm lists the algorithms of each priority that has one, as recomp_algorithm_show
// does.
func recompAlgorithm(c Settings) string {
	var b strings.Builder
	for i, setting := range c.Recompression {
		if setting != "" {
			fmt.Fprintf(&b, "#%d: %s", i+1, algorithmList(setting))
		}
	}
	return b.String()
}
