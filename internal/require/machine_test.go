// SPDX-License-Identifier: Apache-2.0

package require

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes files below a directory of the test's, and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Nodes without memory, without processors, or whose processors this process must not use, are
// none.
func TestNUMANodesAreThoseThatCanBeUsed(t *testing.T) {
	files := map[string]string{
		"has_memory": "0-2,4\n", "node0/cpulist": "0-3,8\n", "node1/cpulist": "\n", "node2/cpulist": "4-7\n", "node3/cpulist": "9\n", "node4/cpulist": "10-11\n",
		"status": "Name:\tx\nCpus_allowed:\tfff\nCpus_allowed_list:\t1-7,9\n",
	}
	dir := tree(t, files)
	nodes, missing := tryNUMA(dir, filepath.Join(dir, "status"))
	if missing != nil || !slices.EqualFunc(nodes, [][]int{{1, 2, 3}, {4, 5, 6, 7}}, slices.Equal) {
		t.Errorf("nodes %v, missing %+v", nodes, missing)
	}
	for what, spoil := range map[string][2]string{
		"1": {"status", "Cpus_allowed_list:\t1-3\n"}, "no Cpus_allowed_list": {"status", "Name:\tx\n"},
		"invalid syntax": {"has_memory", "0-x"}, "more than": {"has_memory", "0-4000000000"}, "node9": {"has_memory", "0,9"},
	} {
		changed := map[string]string{}
		for name, text := range files {
			changed[name] = text
		}
		changed[spoil[0]] = spoil[1]
		dir := tree(t, changed)
		if _, missing := tryNUMA(dir, filepath.Join(dir, "status")); missing == nil || !strings.Contains(missing.cause.Error(), what) {
			t.Errorf("%s is %q: %+v", spoil[0], spoil[1], missing)
		}
	}
}

// The packages' energy is added up, also when a counter begins again, and what is part of a package
// is not counted twice.
func TestEnergyIsThatOfThePackages(t *testing.T) {
	dir := tree(t, map[string]string{
		"intel-rapl:0/name": "package-0\n", "intel-rapl:0/energy_uj": "5000000\n", "intel-rapl:0/max_energy_range_uj": "9000000\n",
		"intel-rapl:1/name": "package-1\n", "intel-rapl:1/energy_uj": "8000000\n", "intel-rapl:1/max_energy_range_uj": "9000000\n",
		"intel-rapl:0:0/name": "core\n", "intel-rapl:0:0/energy_uj": "1\n", "intel-rapl:2/name": "psys\n", "intel-rapl:2/energy_uj": "1\n",
	})
	counter, missing := tryEnergy(dir)
	if missing != nil {
		t.Fatal(missing.cause)
	}
	before, err := counter.Read()
	if err != nil || !slices.Equal(before, []uint64{5000000, 8000000}) {
		t.Fatalf("counters at %v: %v", before, err)
	}
	if used, err := counter.Joules(before, []uint64{7500000, 1000000}); used != 4.5 || err != nil {
		t.Errorf("%v J: %v", used, err)
	}
	for _, files := range []map[string]string{
		{}, {"a/name": "psys\n", "a/energy_uj": "1\n"}, {"a/name": "package-0\n", "a/energy_uj": "much\n"}, {"a/energy_uj": "1\n"},
	} {
		if _, missing := tryEnergy(tree(t, files)); missing == nil {
			t.Errorf("%v is a counter", files)
		}
	}
}
