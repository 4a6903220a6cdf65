// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// TestDashboardKeepsEvents: dashboard and report have what the device has noted, from before they
// were started, and keep it when monitor and device have ended.
func TestDashboardKeepsEvents(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	history := filepath.Join(t.TempDir(), "history")
	const died = "killed by signal 9"
	wantEvents := func(t *testing.T, dir string) {
		t.Helper()
		url := startDashboard(t, "--history", history)
		text := ""
		for end := time.Now().Add(answerTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if _, text = fetch(t, url+"api/now"); strings.Contains(text, died) {
				break
			}
		}
		_, events, _ := strings.Cut(text, `"events":`)
		if strings.Count(events, died) != 1 || !strings.Contains(events, `"device":"`+dir+`"`) {
			t.Errorf("the events of %s are %s", dir, events)
		}
	}
	var dir string
	t.Run("with the device", func(t *testing.T) {
		dir = mount(t, "--size", "16M")
		c := newCrashing(t, dir)
		c.kill()
		c.settled()
		wantEvents(t, dir)
	})
	t.Run("without the device", func(t *testing.T) { wantEvents(t, dir) })
	r := mustRun(t, commandTimeout, "report", "--history", history)
	if strings.Count(r.Stdout, died) != 1 || !strings.Contains(r.Stdout, "<h2>Events</h2>") {
		t.Errorf("the report has not once %q", died)
	}
}
