// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"strings"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
)

// groups has a Root for each machine.
const groups host.Root = "../host/testdata/cgroup/"

func TestCgroup(t *testing.T) {
	const ram = 8 << 30
	tests := []struct {
		name   string
		state  status.State
		detail string
	}{
		{"v1-unlimited", status.OK, "no limit"},
		{"v1-limited-above", status.Fail, "/sys/fs/cgroup/memory/user/memory.limit_in_bytes is 536870912"},
		{"v1-limit-beyond-ram", status.OK, "no limit"},
		{"v1-container", status.Fail, "/sys/fs/cgroup/memory/memory.limit_in_bytes is 1073741824"},
		{"v1-outside", status.Fail, "/sys/fs/cgroup/memory/memory.limit_in_bytes is 1073741824"},
		{"v2-unlimited", status.OK, "no limit"},
		{"v2-high", status.Warn, "/sys/fs/cgroup/user.slice/memory.high is 268435456"},
		{"hybrid", status.Fail, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes is 536870912"},
		{"garbled", status.Warn, "cannot tell"},
		{"garbled-limit", status.Warn, "cannot tell"},
		{"no-cgroups", status.OK, "no limit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := CheckCgroup(groups+host.Root(test.name), ram, groupTasks)
			if p.State != test.state || !strings.Contains(p.Detail, test.detail) {
				t.Errorf("%s %q; want %s %q", p.State, p.Detail, test.state, test.detail)
			}
			if !p.Essential || p.Name != status.NameCgroup {
				t.Errorf("protection %+v", p)
			}
		})
	}
	if p := CheckCgroup(groups+"v1-unlimited", 0, groupTasks); p.State != status.OK {
		t.Errorf("with unknown memory: %+v", p)
	}
	if p := CheckCgroup(groups+"v1-limit-beyond-ram", 0, groupTasks); p.State != status.Fail {
		t.Errorf("with unknown memory: %+v", p)
	}
}
