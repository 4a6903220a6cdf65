// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

// statusLine is one line of status.
type statusLine struct{ name, text string }

// sides returns everything that status prints about a running device. A side without information
// has no text.
func (r report) sides() []statusLine {
	s := []statusLine{{"device", r.deviceWords()}, {"swap", r.swapWords()}}
	if r.Status == nil {
		return s
	}
	if r.Usage != nil {
		s = append(s, statusLine{"in swap", r.Usage.Words(r.Swap.Size)}, statusLine{"slots", r.use.SlotsWords()},
			statusLine{"zswap", r.zswapWords})
	}
	s = append(s,
		statusLine{"served by", serverWords(r.Status, r.now)},
		statusLine{"memory", r.Memory.Words()},
		statusLine{"store", memoryWords(r.Status)},
		statusLine{"saved", r.savedWords()},
		statusLine{"pages", codecWords(r.Status)},
		statusLine{"backing device", backingWords(r.Status.Backing)},
		statusLine{"spill", spillWords(r.Status)},
		statusLine{"code", instructionWords(r.Status.Instructions)},
		statusLine{"latency", latencyWords(r.Status.Latency)},
		statusLine{"cold pages", coldWords(r.Status.Cold)},
		statusLine{"scrub", scrubWords(r.Status.Scrub, r.now)},
		statusLine{"requests", requestWords(r.Status.Operations)},
		statusLine{"at the loop", splitWords(r.ReadTime, r.WriteTime)},
		statusLine{"last minute", minuteWords(r.Status.LastMinute)},
		statusLine{"errors", errorWords(r.Status.IO)},
	)
	for _, p := range r.Status.Protections {
		s = append(s, statusLine{p.Name, protectionWords(p)})
	}
	return s
}

func (r report) uptime() string {
	if r.Status == nil {
		return ""
	}
	return ", up " + term.Time(time.Duration(r.Status.UptimeSeconds*float64(time.Second)))
}

func (r report) deviceWords() string {
	var words []string
	if r.Status != nil {
		words = append(words, term.Size(r.Status.Disksize), r.Status.Algorithm)
		if !r.Status.Fuse.AsyncDIO {
			words = append(words, "one request at a time (the kernel has no asynchronous direct I/O for it)")
		}
	}
	if r.Loop == nil {
		return strings.Join(append(words, "no loop device"), ", ")
	}
	direct := "direct I/O on"
	paths := make([]string, len(r.Loops))
	for i, loop := range r.Loops {
		paths[i] = loop.Path
		if !loop.DirectIO {
			direct = "direct I/O off"
		}
	}
	return strings.Join(append(words, swapdev.AreaNames(paths), direct, fmt.Sprintf("%d-byte blocks", r.Loop.BlockSize)), ", ")
}

func (r report) swapWords() string {
	if r.Swap == nil && r.unseen {
		return "unknown"
	}
	if r.Swap == nil {
		return "not used as swap"
	}
	areas := ""
	if n := r.areas(); n > 1 {
		areas = fmt.Sprintf(" in %d areas", n)
	}
	if r.hidden {
		return fmt.Sprintf("on, at most %s of %s used%s: /proc/swaps here does not show it", term.Size(r.Swap.Used), term.Size(r.Swap.Size), areas)
	}
	return fmt.Sprintf("%s of %s used as in /proc/swaps%s, priority %d",
		term.Size(r.Swap.Used), term.Size(r.Swap.Size), areas, r.Swap.Priority)
}

// areas is the number of swap areas.
func (r report) areas() int {
	n := 0
	for _, loop := range r.Loops {
		if loop.Swap != nil {
			n++
		}
	}
	return n
}

// serverWords says which processes serve, and whether the device survives a crash of the worker.
func serverWords(s *status.Status, now time.Time) string {
	text := fmt.Sprintf("worker %d for keeper %d", s.WorkerPID, s.KeeperPID)
	if s.SurvivesCrash {
		text += ", survives a crash"
	} else {
		text += ", does not survive a crash"
	}
	if s.Restarts == 0 {
		return text
	}
	return text + ", " + swapdev.RestartWords(s, now)
}

func (r report) savedWords() string {
	if r.Usage == nil {
		return ""
	}
	return r.Usage.SavedWords()
}

func memoryWords(s *status.Status) string {
	m := s.Memory
	text := fmt.Sprintf("%s, at most %s so far", swapdev.TierWords(m.MemUsedTotal, m.OrigDataSize), term.Size(m.MemUsedMax))
	if s.MemLimit > 0 {
		return text + fmt.Sprintf(", limit %s", term.Size(s.MemLimit))
	}
	return text + ", no limit"
}

// codecWords is the mix of formats, the largest share first; formats without pages are left out.
func codecWords(s *status.Status) string {
	var total uint64
	for _, c := range s.Codecs {
		total += c.Pages
	}
	if total == 0 {
		return "none"
	}
	codecs := slices.Clone(s.Codecs)
	slices.SortStableFunc(codecs, func(a, b status.Codec) int { return cmp.Compare(b.Pages, a.Pages) })
	words := make([]string, 0, len(codecs))
	for _, c := range codecs {
		if c.Pages > 0 {
			words = append(words, term.Share(c.Pages, total)+" "+c.Name)
		}
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(words, ", "))
}

// spillWords is the line of status on pages that went to the backing device by themselves.
func spillWords(s *status.Status) string {
	c := s.Spill
	switch {
	case s.Backing.Path == "":
		return ""
	case c.State == status.Off:
		return "only where writeback asks for it: " + c.Reason
	}
	text := fmt.Sprintf("%s so far, %s of %s in the last 24 hours", term.Pages(c.Pages), term.Size(c.SpentBytes), term.Size(c.DailyBytes))
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	return text
}

// backingWords is the line of status on the backing device.
func backingWords(b status.Backing) string {
	if b.Path == "" {
		return ""
	}
	text := fmt.Sprintf("%s: %s of %s, %s written and %s read so far", b.Path, term.Grouped(b.Pages), term.Pages(b.Capacity), term.Grouped(b.Writes), term.Grouped(b.Reads))
	if b.Limited {
		text += fmt.Sprintf(", %s may yet be written", term.Grouped(b.Limit))
	}
	if b.FailedWrites > 0 {
		text += fmt.Sprintf(", %s writes failed", term.Grouped(b.FailedWrites))
	}
	return text
}

// coldWords is the line of status on cold pages.
func coldWords(c status.Cold) string {
	if c.State == status.Off {
		return "not packed: " + c.Reason
	}
	text := fmt.Sprintf("from %s on; %s packed", term.Time(time.Duration(c.AgeSeconds*float64(time.Second))), term.Pages(c.Pages))
	if c.Joined > 0 {
		text += fmt.Sprintf(", %s joined with neighbours", term.Grouped(c.Joined))
	}
	text += fmt.Sprintf(", %s saved", term.Size(c.SavedBytes))
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	return text
}

// scrubWords is the line of status on scrubs.
func scrubWords(s status.Scrub, now time.Time) string {
	if s.State == status.Off {
		return "off"
	}
	text := "none yet"
	if s.Ended != nil {
		text = fmt.Sprintf("%s ago: %s proved, ", term.Time(now.Sub(*s.Ended)), term.Pages(s.Pages))
		if s.Damaged == 0 {
			text += "none damaged"
		} else {
			text += fmt.Sprintf("%s damaged, such as %s", term.Grouped(s.Damaged), strings.Trim(fmt.Sprint(s.DamagedPages), "[]"))
		}
	}
	if s.State == status.Scrubbing {
		text += "; one is under way"
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}

// latencyWords is the line of status on wake-ups.
func latencyWords(l status.Latency) string {
	text := fmt.Sprintf("%s: ", l.Policy)
	switch l.State {
	case status.Off:
		return text + "processors may halt: " + l.Reason
	case status.Held:
		text += "idle processors poll"
	default:
		text += "processors may halt"
		if l.Reason != "" {
			text += " (" + l.Reason + ")"
		}
	}
	text += fmt.Sprintf(", polled %s in all", term.Time(time.Duration(l.HeldSeconds*float64(time.Second))))
	if l.WakeUpUs > 0 {
		text += fmt.Sprintf("; a wake-up takes %.1f us, %.1f while they poll", l.WakeUpUs, l.WakeUpHeldUs)
	}
	return text
}

// requestWords is the line of status on the worker's part of reads and writes since the device was
// made.
func requestWords(operations []status.Operation) string {
	var words []string
	for _, o := range operations {
		if o.Requests > 0 && (o.Op == "read" || o.Op == "write") {
			words = append(words, fmt.Sprintf("%s %ss, p50 %s, p99 %s", term.Grouped(o.Requests), o.Op, microseconds(o.P50), microseconds(o.P99)))
		}
	}
	return strings.Join(words, "; ")
}

// splitWords is the line of status on what part of a request's time is the device's.
func splitWords(read, write swapdev.Split) string {
	var words []string
	for i, s := range []swapdev.Split{read, write} {
		if share, known := s.Share(); known {
			words = append(words, fmt.Sprintf("a %s takes %s, %.0f%% of it in the device", [...]string{"read", "write"}[i], microseconds(uint64(s.Loop)), 100*share))
		}
	}
	if words == nil {
		return ""
	}
	return strings.Join(words, "; ") + " (means)"
}

// minuteWords is the line of status on the last minute, empty where nothing was counted yet.
func minuteWords(m status.Minute) string {
	if m.Seconds == 0 {
		return ""
	}
	words := make([]string, 2)
	for i, f := range []status.Flow{m.In, m.Out} {
		words[i] = fmt.Sprintf("%s pages/s %s", perSecond(f.Pages), [...]string{"in", "out"}[i])
		if f.Requests > 0 {
			words[i] += fmt.Sprintf(", p50 %s, p99 %s", microseconds(uint64(f.P50)), microseconds(uint64(f.P99)))
		}
	}
	text := strings.Join(words, "; ")
	if m.Seconds < 50 {
		text += fmt.Sprintf(" (over %.0f s)", m.Seconds)
	}
	return text
}

// perSecond writes a number a second: whole from ten on, and never as 0 what is more.
func perSecond(n float64) string {
	switch {
	case n == 0:
		return "0"
	case n < 0.1:
		return "under 0.1"
	case n < 10:
		return fmt.Sprintf("%.1f", n)
	}
	return term.Grouped(uint64(n + 0.5))
}

// microseconds writes a time in nanoseconds: three digits, at least one of them before the point.
func microseconds(ns uint64) string {
	digits := 2
	for limit := uint64(10_000); ns >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f us", digits, float64(ns)/1e3)
}

func errorWords(io status.IO) string {
	var words []string
	for _, e := range swapdev.ErrorCounts(io) {
		words = append(words, e.String())
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// instructionWords is the line of status with the codecs' implementations.
func instructionWords(s status.Instructions) string {
	text := strings.Join(s.Usable, ", ")
	if off := s.SwitchedOff(); len(off) > 0 {
		text += "; switched off by ZRAMFS_DISABLE: " + strings.Join(off, ", ")
	}
	if codecs := s.Implementations(); codecs != "" {
		text += "; " + codecs
	}
	return text
}

func protectionWords(p status.Protection) string {
	if p.State == status.OK {
		return p.Detail
	}
	return fmt.Sprintf("%s: %s", p.State, p.Detail)
}
