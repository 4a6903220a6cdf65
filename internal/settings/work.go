// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/store"
)

// Work is something that a device does once, when an attribute is written. It is a plain value.
type Work struct{ order }

// Compact returns the work of giving memory back that is left over between objects.
func Compact() Work { return Work{order{"compact", "1"}} }

// MarkIdle returns the work of marking pages idle that were not accessed for that time; 0 marks
// all. Ages are whole seconds.
func MarkIdle(age time.Duration) Work {
	if age <= 0 {
		return Work{order{"idle", "all"}}
	}
	return Work{order{"idle", strconv.FormatInt(int64(age/time.Second), 10)}}
}

// A Recompression says which pages Recompress is to make smaller, and by what. The zero value is
// all pages, by the first algorithm that is set for it.
type Recompression struct {
	Type      string // idle, huge or huge_idle; empty for all pages
	Threshold uint64 // bytes: only objects of this length or more; 0 for all
	MaxPages  uint64 // how many to try at most; 0 for no bound
	Algorithm string // one of those that are set; empty for the first
	Priority  int    // 1 to 3: of those that are set; 0 for the first
}

// Work returns the work of a recompression. Its errors wrap ErrUsage.
func (r Recompression) Work() (Work, error) {
	var words []string
	add := func(key string, value any) { words = append(words, fmt.Sprintf("%s=%v", key, value)) }
	switch r.Type {
	case "":
	case "idle", "huge", "huge_idle":
		add("type", r.Type)
	default:
		return Work{}, fmt.Errorf("%w: type %q: want idle, huge or huge_idle", ErrUsage, r.Type)
	}
	if r.Threshold >= store.PageSize {
		return Work{}, fmt.Errorf("%w: threshold %d: want less than a page, %d bytes", ErrUsage, r.Threshold, store.PageSize)
	}
	if r.Threshold > 0 {
		add("threshold", r.Threshold)
	}
	if r.MaxPages > 0 {
		add("max_pages", r.MaxPages)
	}
	if strings.ContainsAny(r.Algorithm, " \t\n") {
		return Work{}, fmt.Errorf("%w: algorithm %q: want a name without blanks", ErrUsage, r.Algorithm)
	}
	if r.Algorithm != "" {
		add("algo", r.Algorithm)
	}
	if r.Priority < 0 || r.Priority > 3 {
		return Work{}, fmt.Errorf("%w: priority %d: want 1 to 3", ErrUsage, r.Priority)
	}
	if r.Priority > 0 {
		add("priority", r.Priority)
	}
	if len(words) == 0 { // the attribute takes no empty text
		add("max_pages", 0)
	}
	return Work{order{"recompress", strings.Join(words, " ")}}, nil
}

// Candidates returns how many pages of a device a recompression looks at, at most.
func (r Recompression) Candidates(d swapdev.Device) uint64 {
	if d.Status == nil {
		return 0
	}
	m, ages := d.Status.Memory, d.Status.Ages
	n := m.PagesStored - min(m.PagesStored, m.SamePages+ages.Recompressed+ages.Incompressible)
	if strings.HasPrefix(r.Type, "huge") {
		n = min(n, m.HugePages)
	}
	if strings.HasSuffix(r.Type, "idle") {
		n = min(n, ages.Idle)
	}
	if r.MaxPages > 0 {
		n = min(n, r.MaxPages)
	}
	return n
}

// Do has a device do the work, and returns once that is done: minutes for many pages. Once ctx ends
// it returns helper.ErrNoAnswer, while the device goes on.
func (w Work) Do(ctx context.Context, d swapdev.Device) error {
	_, err := helper.Call(ctx, helper.Write, attributePath(d, w.attribute), w.text)
	return explain(d, w.attribute+" "+d.Dir, w.order, err)
}

// RecompressionBy returns the algorithm that recompression takes where none is named; empty where
// none is set.
func RecompressionBy(d swapdev.Device) (string, error) {
	text, err := helper.CallTimeout(setTime, helper.Read, attributePath(d, "recomp_algorithm"))
	if err != nil {
		return "", explain(d, "read recomp_algorithm of "+d.Dir, order{}, err)
	}
	first, _, _ := strings.Cut(string(text), "\n") // the lowest priority; the chosen one is in brackets
	_, rest, _ := strings.Cut(first, "[")
	name, _, _ := strings.Cut(rest, "]")
	return name, nil
}
