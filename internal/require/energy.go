// SPDX-License-Identifier: Apache-2.0

package require

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An EnergyCounter is what the machine tells of the energy that it uses, in packages of the
// processor.
type EnergyCounter struct{ dirs []string }

// Energy skips the test unless the kernel tells what the processor's packages use, and lets this
// process read it.
func Energy(tb testing.TB) EnergyCounter {
	tb.Helper()
	counter, missing := tryEnergy("/sys/class/powercap")
	check(tb, nameEnergy, missing)
	return counter
}

func tryEnergy(class string) (EnergyCounter, *unmet) {
	const mend = "a machine whose kernel has RAPL in /sys/class/powercap, as root"
	names, err := filepath.Glob(filepath.Join(class, "*", "energy_uj"))
	if err != nil {
		return EnergyCounter{}, &unmet{err, mend}
	}
	var counter EnergyCounter
	for _, name := range names {
		dir := filepath.Dir(name)
		zone, err := os.ReadFile(filepath.Join(dir, "name"))
		if err != nil {
			return EnergyCounter{}, &unmet{err, mend}
		}
		// The zones below a package, of its cores or its memory, are part of it, and a psys has all
		// packages again.
		if strings.HasPrefix(string(zone), "package-") {
			counter.dirs = append(counter.dirs, dir)
		}
	}
	if len(counter.dirs) == 0 {
		return EnergyCounter{}, &unmet{errors.New("no energy counter of a processor in " + class), mend}
	}
	if _, err := counter.Read(); err != nil {
		return EnergyCounter{}, &unmet{err, mend}
	}
	return counter, nil
}

// Read returns what each package's counter stands at, in microjoules.
func (c EnergyCounter) Read() ([]uint64, error) {
	var all []uint64
	for _, dir := range c.dirs {
		n, err := readNumber(filepath.Join(dir, "energy_uj"))
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// Joules is what was used from one Read to another, less than one turn of the counters later.
func (c EnergyCounter) Joules(from, to []uint64) (float64, error) {
	sum := 0.0
	for i, dir := range c.dirs {
		used := float64(to[i]) - float64(from[i])
		if used < 0 {
			turn, err := readNumber(filepath.Join(dir, "max_energy_range_uj"))
			if err != nil {
				return 0, err
			}
			used += float64(turn)
		}
		sum += used / 1e6
	}
	return sum, nil
}

func readNumber(path string) (uint64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return n, nil
}
