// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"testing"
)

// Processes come with the most swap first, those without swap and zombies not at all; the group is
// the memory controller's.
func TestSwappedProcesses(t *testing.T) {
	stat := func(state string) string {
		return " (a) " + state + " 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n"
	}
	r := tree(t, map[string]string{
		"proc/7/stat":    "7" + stat("S"),
		"proc/7/status":  "VmSwap:\t      12 kB\n",
		"proc/7/cgroup":  "5:cpu:/c\n4:hugetlb,memory:/m/x\n0::/v2\n",
		"proc/8/stat":    "8" + stat("S"),
		"proc/8/status":  "VmSwap:\t    4096 kB\n",
		"proc/8/cgroup":  "0::/user.slice\n",
		"proc/9/stat":    "9" + stat("S"),
		"proc/9/status":  "VmSwap:\t       0 kB\n",
		"proc/10/stat":   "10" + stat("Z"),
		"proc/10/status": "VmSwap:\t     100 kB\n",
		"proc/11/stat":   "11" + stat("S"),
		"proc/11/status": "VmSwap:\t    4096 kB\n",
		"proc/meminfo":   "",
	})
	want := []Swapped{
		{PID: 8, Name: "a", Bytes: 4 << 20, Group: "/user.slice"},
		{PID: 11, Name: "a", Bytes: 4 << 20},
		{PID: 7, Name: "a", Bytes: 12 << 10, Group: "/m/x"},
	}
	if got, err := r.SwappedProcesses(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// Without a mounted /proc it is not known which processes have memory in swap.
func TestSwappedProcessesWithoutProc(t *testing.T) {
	if got, err := tree(t, map[string]string{"proc/none": ""}).SwappedProcesses(); err == nil {
		t.Errorf("%+v", got)
	}
}

func TestMemoryPressure(t *testing.T) {
	r := tree(t, map[string]string{"proc/pressure/memory": "some avg10=0.82 avg60=0.10 avg300=0.00 total=5\nfull avg10=0.10 avg60=0.01 avg300=0.00 total=3\n"})
	if got, known := r.MemoryPressure(); !known || got != (MemoryPressure{Some: 0.82, Full: 0.1}) {
		t.Errorf("%+v, %v", got, known)
	}
	if got, known := tree(t, nil).MemoryPressure(); known || got != (MemoryPressure{}) {
		t.Errorf("without the file: %+v, %v", got, known)
	}
}
