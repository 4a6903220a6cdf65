// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"strconv"
	"testing"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/require"
)

// harmless are parameters whose next number no program notices: after how many microseconds the
// kernel counts a work item as one that hogs a CPU, and how often in seconds it sums up its memory
// counters.
var harmless = []Parameter{"/sys/module/workqueue/parameters/cpu_intensive_thresh_us", "vm.stat_interval"}

// The kernel of this machine takes a parameter of each kind and gives it back.
func TestKernelTakesAndGivesBack(t *testing.T) {
	require.Root(t)
	var settings []Setting
	before, during := map[Parameter]string{}, map[Parameter]string{}
	for _, p := range harmless {
		now, err := p.Read(host.Local)
		if err != nil {
			t.Logf("not in this kernel: %v", err)
			continue
		}
		n, err := strconv.Atoi(now)
		if err != nil {
			t.Fatal(err)
		}
		before[p], during[p] = now, strconv.Itoa(n+1)
		settings = append(settings, Setting{Parameter: p, Value: during[p]})
		t.Cleanup(func() {
			if err := p.set(host.Local, now); err != nil {
				t.Errorf("%s is left changed: %v", p, err)
			}
		})
	}
	if len(settings) == 0 {
		t.Fatalf("none of %v is here", harmless)
	}
	own, r := Apply(host.Local, settings, nil, forgetful)
	want(t, host.Local, during)
	if len(own) != len(settings) || len(r.Warnings) != 0 {
		t.Errorf("%v, %+v", own, r)
	}
	r = Restore(host.Local, own, nil)
	want(t, host.Local, before)
	if len(r.Done) != len(settings) || len(r.Warnings) != 0 {
		t.Errorf("%+v", r)
	}
}
