// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
)

func TestWork(t *testing.T) {
	work := func(r Recompression) Work {
		w, err := r.Work()
		if err != nil {
			t.Errorf("%+v: %v", r, err)
		}
		return w
	}
	for _, c := range []struct {
		got  Work
		want string
	}{
		{Compact(), "compact 1"}, {MarkIdle(0), "idle all"}, {MarkIdle(90 * time.Minute), "idle 5400"},
		{work(Recompression{}), "recompress max_pages=0"}, {work(Recompression{Type: "idle"}), "recompress type=idle"},
		{work(Recompression{Type: "huge_idle", Threshold: 3000, MaxPages: 7, Algorithm: "zstd(level=9)", Priority: 2}),
			"recompress type=huge_idle threshold=3000 max_pages=7 algo=zstd(level=9) priority=2"},
	} {
		if got := c.got.attribute + " " + c.got.text; got != c.want {
			t.Errorf("writes %q, want %q", got, c.want)
		}
	}
	for want, r := range map[string]Recompression{
		"want idle, huge": {Type: "old"}, "4096 bytes": {Threshold: 4096}, "1 to 3": {Priority: 4}, "without blanks": {Algorithm: "zstd priority=2"},
	} {
		if _, err := r.Work(); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q in it", r, err, want)
		}
	}
}

// A recompression has as many candidates as pages can be tried, so that its progress ends at 100 %.
func TestCandidates(t *testing.T) {
	d := swapdev.Device{Status: &status.Status{
		Memory: status.Memory{PagesStored: 1000, SamePages: 100, HugePages: 300}, Ages: status.Ages{Idle: 200, Recompressed: 40, Incompressible: 10},
	}}
	for _, c := range []struct {
		r    Recompression
		want uint64
	}{
		{Recompression{}, 850}, {Recompression{Type: "idle"}, 200}, {Recompression{Type: "huge"}, 300}, {Recompression{Type: "huge_idle"}, 200},
		{Recompression{MaxPages: 5}, 5},
	} {
		if got := c.r.Candidates(d); got != c.want {
			t.Errorf("%+v: %d candidates, want %d", c.r, got, c.want)
		}
	}
	if got := (Recompression{}).Candidates(swapdev.Device{}); got != 0 {
		t.Errorf("a silent device has %d candidates", got)
	}
}
