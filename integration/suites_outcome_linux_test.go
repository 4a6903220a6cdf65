// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A verdict is what a suite says of one of its tests.
type verdict int

const (
	suiteNotRun verdict = iota
	suitePassed
	suiteFailed
)

// An outcome has the verdict of each test of a suite, and what was printed of those that failed or
// did not run.
type outcome struct {
	verdicts map[string]verdict
	reasons  map[string]string
}

func newOutcome() outcome {
	return outcome{make(map[string]verdict), make(map[string]string)}
}

func (o outcome) with(v verdict) (names []string) {
	for name, had := range o.verdicts {
		if had == v {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wantNoWorse fails the test for whatever passes on the reference and fails on the device, and
// prints the row of docs/suites.md.
func wantNoWorse(t *testing.T, suite, path string, device, reference outcome) {
	t.Helper()
	version, err := os.ReadFile(filepath.Join(path, ".version"))
	if err != nil {
		t.Error(err)
	}
	var alsoThere []string
	for _, name := range device.with(suiteFailed) {
		if reference.verdicts[name] == suiteFailed {
			alsoThere = append(alsoThere, name)
			continue
		}
		t.Errorf("%s: %s failed, and on the reference it did not:\n%s", suite, name, device.reasons[name])
	}
	for _, name := range slices.Sorted(maps.Keys(device.verdicts)) {
		if device.verdicts[name] == suiteNotRun {
			t.Logf("not run: %s: %s", name, device.reasons[name])
			if reference.verdicts[name] == suitePassed {
				t.Errorf("%s: %s did not run, and on the reference it passed", suite, name)
			}
		}
	}
	if len(device.with(suitePassed)) == 0 {
		t.Errorf("%s: no test passed", suite)
	}
	t.Logf("%s, %s: %d passed, %d failed, %d of them on the reference too (%s), %d not run; the reference alone failed %d", suite, strings.TrimSpace(string(version)),
		len(device.with(suitePassed)), len(device.with(suiteFailed)), len(alsoThere), strings.Join(alsoThere, " "), len(device.with(suiteNotRun)),
		len(reference.with(suiteFailed))-len(alsoThere))
}
