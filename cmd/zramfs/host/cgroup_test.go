// SPDX-License-Identifier: Apache-2.0

package host

import (
	"reflect"
	"testing"
)

// testdata/cgroup/CASE is the Root of a machine.
func TestMemoryLimits(t *testing.T) {
	const (
		ram = 8 << 30
		v1  = "/sys/fs/cgroup/memory"
		v2  = "/sys/fs/cgroup"
	)
	for _, c := range []struct {
		name string
		ram  uint64
		want []MemoryLimit
	}{
		{"v1-unlimited", ram, nil},
		{"v1-limited-above", ram, []MemoryLimit{{v1 + "/user/memory.limit_in_bytes", v1, 512 << 20, true}}},
		{"v1-limit-beyond-ram", ram, nil},
		{"v1-container", ram, []MemoryLimit{{v1 + "/memory.limit_in_bytes", v1, 1 << 30, true}}},
		{"v1-outside", ram, []MemoryLimit{{v1 + "/memory.limit_in_bytes", v1, 1 << 30, true}}},
		{"v2-unlimited", ram, nil},
		{"v2-high", ram, []MemoryLimit{{v2 + "/user.slice/memory.high", v2, 256 << 20, false}}},
		{"no-cgroups", ram, nil},
		{"v1-unlimited", 0, nil},
	} {
		got, err := Root("testdata/cgroup/" + c.name).MemoryLimits(c.ram)
		if err != nil || len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
	for _, name := range []string{"garbled", "garbled-limit"} {
		if got, err := Root("testdata/cgroup/" + name).MemoryLimits(ram); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := Root("testdata/cgroup/v1-limit-beyond-ram").MemoryLimits(0); err != nil || len(got) == 0 {
		t.Errorf("with unknown memory: %+v, %v", got, err)
	}
}
