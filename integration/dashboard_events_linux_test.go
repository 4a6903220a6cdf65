// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/require"
)

// The dashboard has what the device has noted, from before serve was started.
func TestDashboardHasEvents(t *testing.T) {
	require.FUSE(t)
	require.Root(t)
	const died = "killed by signal 9"
	dir := mount(t, "--size", "16M")
	c := newCrashing(t, dir)
	c.kill()
	c.settled()
	url := startDashboard(t)
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
