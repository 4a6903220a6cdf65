// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// commandTime bounds a command in a machine that has no /dev/kvm and shares its processors.
const commandTime = 4 * time.Minute

// Root with all capabilities gets what a service asks of the kernel: the OOM score, and IO_FLUSHER
// for each thread. With a request timeout of FUSE set, swap is refused, by name.
func TestRights(t *testing.T) {
	slow(t)
	m := Start(t, Config{Source: require.System(t), Modules: []string{"loop", "fuse"}, Files: withPrograms(nil)})
	if out := m.Must(commandTime, "mkdir /run/zram; zramfs up --size 64M --devices 1 /run/zram 2>&1; cat /proc/swaps"); !strings.Contains(out, "/dev/loop0") {
		t.Fatalf("swap is off: %s", out)
	}
	status := statusOf(t, m, "/run/zram")
	for _, p := range status.Protections {
		t.Logf("protection %s: %s: %s", p.Name, p.State, p.Detail)
		if p.State != "ok" && (p.Name == "io-flusher" || p.Name == "oom-score" || p.Name == "memory-lock") {
			t.Errorf("%s: %s: %s", p.Name, p.State, p.Detail)
		}
	}
	for _, pid := range []int{status.Keeper, status.Worker} {
		if got := m.Must(commandTime, fmt.Sprintf("cat /proc/%d/oom_score_adj /proc/%[1]d/oom_score", pid)); got != "-1000\n0" {
			t.Errorf("process %d has the OOM scores %q", pid, got)
		}
		got := m.Must(commandTime, fmt.Sprintf("/run/guest-agent flusher %d", pid))
		var of, set, all int
		if _, err := fmt.Sscanf(got, "%d: %d of %d", &of, &set, &all); err != nil || set != all || all == 0 {
			t.Errorf("IO_FLUSHER are so many threads: %s", got)
		}
		t.Logf("IO_FLUSHER are so many threads of process %s", got)
	}

	m.Must(commandTime, "echo 20 >/proc/sys/fs/fuse/max_request_timeout; mkdir /run/other")
	r := m.Run(commandTime, "zramfs up --size 64M --devices 1 /run/other 2>&1")
	if r.Code == 0 || !strings.Contains(r.Output, "fs.fuse.max_request_timeout is 20 s") || m.Must(commandTime, "grep -c /dev/loop /proc/swaps") != "1" {
		t.Errorf("with a request timeout up ends with %d: %s", r.Code, r.Output)
	}
	t.Logf("with a request timeout of FUSE: %s", r.Output)
	m.Must(commandTime, "echo 0 >/proc/sys/fs/fuse/max_request_timeout; zramfs down /run/zram")
}

// A deviceStatus is what a test needs of zramfs status.
type deviceStatus struct {
	Keeper      int `json:"keeper_pid"`
	Worker      int `json:"worker_pid"`
	Protections []struct{ Name, State, Detail string }
}

func statusOf(t *testing.T, m *Machine, dir string) deviceStatus {
	t.Helper()
	for until := time.Now().Add(commandTime); ; {
		var all struct {
			Zramfs []struct{ Status deviceStatus }
		}
		text := m.Run(commandTime, "zramfs status --json "+dir).Output
		err := json.Unmarshal([]byte(text), &all)
		if err == nil && len(all.Zramfs) == 1 && all.Zramfs[0].Status.Worker != 0 {
			return all.Zramfs[0].Status
		}
		// On a busy host a device may take longer to answer than a command waits.
		if time.Now().After(until) {
			t.Fatalf("status of %s: %v\n%s", dir, err, text)
		}
	}
}
