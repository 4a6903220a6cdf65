// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"maps"
	"testing"
)

// blktestsOutcome and xfstestsOutcome read what the suites print.
func TestSuiteOutcomes(t *testing.T) {
	for name, test := range map[string]struct {
		got  outcome
		want map[string]verdict
	}{
		"blktests": {blktestsOutcome(`block/001 (one)
block/001 (one)                                              [not run]
    driver x is not available
block/003 => loop1 (two)
block/003 => loop1 (two)                                     [passed]
    runtime    ...  1.2s
loop/006 (three)                                             [failed]
    --- tests/loop/006.out
`), map[string]verdict{"block/001": suiteNotRun, "block/003": suitePassed, "loop/006": suiteFailed}},
		"xfstests": {xfstestsOutcome(`FSTYP         -- ext4

ext4/001           [not run] no such thing
ext4/032           [failed, exit status 1]- output mismatch (see x)
    --- tests/ext4/032.out
ext4/051           _check_dmesg: something found in dmesg (see x)

generic/001 5s ...  9s
generic/002         12s
generic/003        - output mismatch (see x)
generic/004        [expunged]
Ran: ext4/032 generic/001
Failures: ext4/032
`), map[string]verdict{
			"ext4/001": suiteNotRun, "ext4/032": suiteFailed, "ext4/051": suiteFailed,
			"generic/001": suitePassed, "generic/002": suitePassed, "generic/003": suiteFailed,
		}},
	} {
		if !maps.Equal(test.got.verdicts, test.want) {
			t.Errorf("%s: %v, want %v", name, test.got.verdicts, test.want)
		}
	}
	if got := blktestsOutcome("loop/001 (x)   [not run]\n    for this\n").reasons["loop/001"]; got != "    for this\n" {
		t.Errorf("the reason is %q", got)
	}
}
