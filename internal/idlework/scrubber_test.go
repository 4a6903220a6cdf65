// SPDX-License-Identifier: Apache-2.0

package idlework

import (
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/status"
)

// A Scrubber proves all pages, again and again, and ends.
func TestScrubberProvesAll(t *testing.T) {
	c := NewScrubber(newStore(t), 200*time.Millisecond, calm, func(page uint64) { t.Errorf("page %d is damaged", page) })
	if got := c.Status(); got.State != status.Waiting || got.Ended != nil {
		t.Errorf("%+v", got)
	}
	c.Start(direct)
	for until := time.Now().Add(20 * time.Second); c.Status().Ended == nil && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := c.Status(); got.Ended == nil || got.Pages != pages || got.Damaged != 0 || got.State != status.Waiting || got.SpentSeconds <= 0 {
		t.Errorf("%+v", got)
	}
}

func TestScrubberIsOff(t *testing.T) {
	c := NewScrubber(newStore(t), 0, calm, func(uint64) {})
	c.Start(direct)
	if got := c.Status(); got.State != status.Off {
		t.Errorf("%+v", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestParseEvery(t *testing.T) {
	for text, want := range map[string]time.Duration{"off": 0, "24h": ScrubEvery, "90m": 90 * time.Minute} {
		if got, err := ParseEvery(text); got != want || err != nil {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "1s", "-1h", "daily", "24"} {
		if got, err := ParseEvery(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
