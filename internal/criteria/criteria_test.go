// SPDX-License-Identifier: Apache-2.0

package criteria

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const page = `# Claims

| ID | claim | judged by | state |
|---|---|---|---|
| F001 | whole | ` + "`TestF001A`, `TestF001B*`" + ` | open: no test |
| F002 | figure kept | ` + "`TestF002`" + ` | survived: 1.04 |
| F003 | one fails | ` + "`TestF003`" + `, in part ` + "`TestF003Part`" + ` | survived |
| F004 | skipped here | ` + "`TestF004`" + ` | survived |
| F005 | did not run | ` + "`TestF005`" + ` | survived |
| F006 | only in part | ` + "`make bench`" + `, in part ` + "`TestF006`" + ` | falsified: 3 of 4 |
| G.101 | by hand | ` + "`make bench`" + ` | excluded: no batches |
| H1 | in two packages | ` + "`TestH1`" + ` | open: no test |
`

const output = `{"Action":"pass","Package":"a","Test":"TestF001A"}
{"Action":"skip","Package":"a","Test":"TestF001A"}
{"Action":"pass","Package":"a","Test":"TestF001Bold"}
{"Action":"fail","Package":"a","Test":"TestF001Bold/subtest"}
{"Action":"pass","Package":"a","Test":"TestF002"}
{"Action":"pass","Package":"a","Test":"TestF003"}
{"Action":"pass","Package":"a","Test":"TestF003Part"}
{"Action":"fail","Package":"b","Test":"TestF003Part"}
# a build that failed
{"Action":"output","Package":"a","Test":"TestF004","Output":"    require.go:12: no GPU | none (to run this test: a GPU)\n"}
{"Action":"output","Package":"a","Test":"TestF004","Output":"--- SKIP: TestF004 (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestF004"}
{"Action":"pass","Package":"a","Test":"TestF006"}
{"Action":"pass","Package":"a","Test":"TestH1"}
{"Action":"output","Package":"b","Test":"TestH1","Output":"    x_test.go:1: no library\n"}
{"Action":"skip","Package":"b","Test":"TestH1"}
`

func parsed(t *testing.T) *Table {
	t.Helper()
	table, err := Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestUpdate(t *testing.T) {
	table := parsed(t)
	if table.String() != page {
		t.Errorf("an unchanged table is written as\n%s", table)
	}
	results, err := Read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	if changed := table.Update(results); !slices.Equal(changed, []string{"F001", "F003", "F004", "H1"}) {
		t.Errorf("changed are %v", changed)
	}
	states := map[string]string{
		"F001":  "survived",
		"F002":  "survived: 1.04",
		"F003":  "failed: `TestF003Part`",
		"F004":  "open: not run here: no GPU / none",
		"F005":  "survived",
		"F006":  "falsified: 3 of 4",
		"G.101": "excluded: no batches",
		"H1":    "open: not run here: no library",
	}
	again, err := Parse(table.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Rows) != len(states) {
		t.Errorf("%d rows were read back, want %d", len(again.Rows), len(states))
	}
	for _, r := range again.Rows {
		if r.State != states[r.ID] {
			t.Errorf("%s is %q, want %q", r.ID, r.State, states[r.ID])
		}
	}
	if changed := again.Update(results); len(changed) != 0 {
		t.Errorf("the same results change %v again", changed)
	}
}

// A test that failed once and passes now has survived.
func TestUpdateAfterFailure(t *testing.T) {
	table, err := Parse("| F001 | claim | `TestF001` | failed: `TestF001` |\n")
	if err != nil {
		t.Fatal(err)
	}
	results, err := Read(strings.NewReader(`{"Action":"pass","Package":"a","Test":"TestF001"}`))
	if err != nil {
		t.Fatal(err)
	}
	table.Update(results)
	if table.Rows[0].State != "survived" {
		t.Errorf("state is %q", table.Rows[0].State)
	}
}

func TestParseRefusesAnotherNumberOfCells(t *testing.T) {
	for _, line := range []string{"| F001 | a claim | survived |", "| F001 | a | b | c | d |"} {
		if _, err := Parse(line); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
}

func TestPatternSelectsTheJudges(t *testing.T) {
	selects, err := regexp.Compile(parsed(t).Pattern())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"TestF001A": true, "TestF001Bold": true, "TestF006": true, "TestH1": true,
		"TestF001Ab": false, "TestH12": false, "TestOther": false, "XTestH1": false,
	} {
		if selects.MatchString(name) != want {
			t.Errorf("%s selects %s: %v, want %v", selects, name, !want, want)
		}
	}
}
