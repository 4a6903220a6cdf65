// SPDX-License-Identifier: Apache-2.0

package criteria

import (
	"bufio"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
)

// An outcome of a test. Of several runs of one test the greatest counts.
type outcome int

const (
	skipped outcome = iota + 1
	passed
	failed
)

// A result is what became of a test of one package.
type result struct {
	outcome outcome
	reason  string // why it was skipped
}

// Results is what became of tests, by name and package.
type Results map[string]map[string]result

// event is a line of go test -json (cmd/test2json).
type event struct {
	Action, Package, Test, Output string
}

var logLine = regexp.MustCompile(`^\s*\S+\.go:\d+: (.*)`)

// Read reads the output of go test -json. Lines that are no events, such as those of a failed
// build, are passed over, and so are subtests, whose failure fails their test.
func Read(in io.Reader) (Results, error) {
	all := Results{}
	// The last log line of a running test, without the advice of package require.
	said := map[string]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			if m := logLine.FindStringSubmatch(e.Output); m != nil {
				said[key], _, _ = strings.Cut(m[1], " (to run this test: ")
			}
		case "pass":
			all.add(e, result{outcome: passed})
		case "fail":
			all.add(e, result{outcome: failed})
		case "skip":
			all.add(e, result{skipped, said[key]})
		}
	}
	return all, lines.Err()
}

func (all Results) add(e event, r result) {
	if all[e.Test] == nil {
		all[e.Test] = map[string]result{}
	}
	if r.outcome >= all[e.Test][e.Package].outcome {
		all[e.Test][e.Package] = r
	}
}

// A verdict is what the results say of some judges.
type verdict struct {
	missing, passed bool     // a judge did not run; a judge passed
	failed          []string // the tests that failed
	skipped         []string // the reasons of tests that were skipped
}

func (all Results) judge(patterns []string) verdict {
	var v verdict
	for _, pattern := range patterns {
		ran := false
		for name, packages := range all {
			if !Match(pattern, name) {
				continue
			}
			ran = true
			for _, r := range packages {
				switch r.outcome {
				case passed:
					v.passed = true
				case failed:
					v.failed = append(v.failed, "`"+name+"`")
				case skipped:
					v.skipped = append(v.skipped, r.reason)
				}
			}
		}
		v.missing = v.missing || !ran
	}
	for _, list := range []*[]string{&v.failed, &v.skipped} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return v
}

// Update takes the states of the rows from results and returns the IDs of the rows that changed.
func (t *Table) Update(results Results) []string {
	var changed []string
	for i := range t.Rows {
		r := &t.Rows[i]
		if state := r.judged(results); state != "" && state != r.State {
			r.State = state
			changed = append(changed, r.ID)
		}
	}
	return changed
}

// judged returns the row's new state, or nothing where the old one stays.
func (r *Row) judged(results Results) string {
	if v := results.judge(r.Judges()); len(v.failed) > 0 {
		return "failed: " + strings.Join(v.failed, ", ")
	}
	v := results.judge(r.Whole)
	switch {
	case len(v.skipped) > 0:
		reasons := strings.ReplaceAll(strings.Join(v.skipped, "; "), "|", "/")
		return "open: not run here: " + reasons
	case v.missing || !v.passed:
		return ""
	case r.State == "survived" || strings.HasPrefix(r.State, "survived: "):
		return ""
	}
	return "survived"
}
