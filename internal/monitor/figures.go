// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/telemetry/latency"
)

const pageSize = 4096 // bytes

// A MetricSample is one value. Its labels are those of Metric.AllLabels, in that order.
type MetricSample struct {
	Name   string
	Labels []string
	Value  float64
	// Buckets are the cumulative counts below Bounds, and Count all; only of a Histogram, whose
	// Value is the sum.
	Buckets []uint64
	Count   uint64
}

// A Build is the program that makes the metrics.
type Build struct{ Version, Revision, Go string }

// A Look is what one look at all devices has found.
type Look struct {
	Time    time.Time // after the answers
	Took    time.Duration
	Devices []swapdev.Device
	// Pressure is the share of ten seconds in which a task waited for memory, in per cent;
	// PressureKnown is false where the kernel does not tell.
	Pressure      float64
	PressureKnown bool
}

// TakeLook looks at all devices, or at the named ones, for little more than helper.AnswerTime.
// Errors are those of swapdev.Find.
func TakeLook(names ...string) (Look, error) {
	start := time.Now()
	found, err := swapdev.Find(names...)
	if err != nil {
		return Look{}, err
	}
	l := Look{Time: time.Now(), Took: time.Since(start), Devices: found}
	l.Pressure, l.PressureKnown = host.Local.Pressure()
	return l, nil
}

// Of returns the samples of a look. Two devices with one name, as after a mount on a mount, give
// the samples of the first, and so does a status that has something twice. Labels are UTF-8, which
// names of directories need not be.
func Of(l Look, b Build) []MetricSample {
	var s samples
	seen := map[string]bool{}
	for _, d := range l.Devices {
		s.device = valid(d.Title())
		if seen[s.device] {
			continue
		}
		seen[s.device] = true
		s.take(d, l.Time)
	}
	known := map[string]bool{}
	s.all = slices.DeleteFunc(s.all, func(x MetricSample) bool {
		key := fmt.Sprintf("%s%q", x.Name, x.Labels)
		twice := known[key]
		known[key] = true
		return twice
	})
	if l.PressureKnown {
		s.all = append(s.all, MetricSample{Name: Pressure, Value: l.Pressure / 100})
	}
	return append(s.all, MetricSample{Name: LookTime, Value: l.Took.Seconds()},
		MetricSample{Name: BuildInfo, Labels: []string{b.Version, b.Revision, b.Go}, Value: 1})
}

// valid returns text as a label may have it.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// samples are those of a device and the ones before it.
type samples struct {
	device string
	all    []MetricSample
}

func (s *samples) add(name string, value float64, labels ...string) {
	s.all = append(s.all, MetricSample{Name: name, Labels: append([]string{s.device}, labels...), Value: value})
}

func (s *samples) flag(name string, on bool, labels ...string) {
	value := 0.0
	if on {
		value = 1
	}
	s.add(name, value, labels...)
}

// take adds the samples of a device: of one that does not answer only those that the kernel knows.
func (s *samples) take(d swapdev.Device, now time.Time) {
	s.flag(Up, d.Status != nil)
	s.add(answer, 1, d.Answer())
	s.add(Problems, float64(len(swapdev.Diagnose(d, now))))
	if swap := d.Swap(); swap != nil {
		s.add(SwapSize, float64(swap.Size))
		s.add(SwapUsed, float64(d.Used()))
	}
	if len(d.Loops) > 0 {
		s.add(loopRequests, float64(d.Block.Reads), "read")
		s.add(loopRequests, float64(d.Block.Writes), "write")
		s.add(loopTime, d.Block.ReadTime.Seconds(), "read")
		s.add(loopTime, d.Block.WriteTime.Seconds(), "write")
	}
	if d.Status == nil {
		return
	}
	s.add(deviceInfo, 1, valid(d.Name()), d.Status.Algorithm, d.Status.Version)
	if u := swapdev.NewUsage(d); u != nil {
		s.add(swapPrograms, float64(u.InSwap))
		s.add(swapZswap, float64(u.InZswap))
		s.add(swapCopies, float64(u.Copies))
		s.add(swapFreed, float64(u.Freed))
		z := d.SwapUse.Zswap // of the machine: Of removes those of further devices
		s.all = append(s.all, MetricSample{Name: zswapPages, Labels: []string{"read"}, Value: float64(z.Loads)},
			MetricSample{Name: zswapPages, Labels: []string{"write"}, Value: float64(z.Stores)},
			MetricSample{Name: zswapPages, Labels: []string{"writeback"}, Value: float64(z.WrittenBack)})
	}
	s.add(Saved, float64(SavedBy(d)))
	s.memory(d)
	s.service(d.Status)
}

// SavedBy is what a device saves, in bytes: swapdev.Usage.Saved, or what is stored less the memory
// that it takes where the device is no swap. It is 0 for one that does not answer.
func SavedBy(d swapdev.Device) int64 {
	if u := swapdev.NewUsage(d); u != nil {
		return u.Saved
	}
	if d.Status == nil {
		return 0
	}
	return int64(d.Status.Memory.OrigDataSize) - int64(d.Memory().Taken)
}

// Parts are the kinds of memory that a device takes, in bytes.
type Parts struct{ Objects, Waste, Index, Reserve, Process, Slots, Zswap uint64 }

// PartsOf divides the memory of a device that answers: all parts together are Taken of
// swapdev.Memory, all but Process, Slots and Zswap its Store.
func PartsOf(d swapdev.Device) Parts {
	m, all := d.Status.Memory, d.Memory()
	p := Parts{Objects: m.ComprDataSize, Index: m.IndexBytes, Reserve: m.ReserveBytes, Process: all.Processes, Slots: all.Slots, Zswap: all.Zswap}
	p.Waste = m.MemUsedTotal - min(m.MemUsedTotal, p.Objects+p.Index+p.Reserve)
	return p
}

func (s *samples) memory(d swapdev.Device) {
	st, m := d.Status, d.Status.Memory
	s.add(uptime, st.UptimeSeconds)
	s.add(diskSize, float64(st.Disksize))
	s.add(Data, float64(m.OrigDataSize))
	s.add(Compressed, float64(m.ComprDataSize))
	s.add(MemoryUsed, float64(m.MemUsedTotal))
	s.add(memoryPeak, float64(m.MemUsedMax))
	s.add(MemoryLimit, float64(st.MemLimit))
	p := PartsOf(d)
	s.add(MemoryParts, float64(p.Objects), "objects")
	s.add(MemoryParts, float64(p.Waste), "waste")
	s.add(MemoryParts, float64(p.Index), "index")
	s.add(MemoryParts, float64(p.Reserve), "reserve")
	s.add(MemoryParts, float64(p.Process), "process")
	s.add(MemoryParts, float64(p.Slots), "slots")
	s.add(MemoryParts, float64(p.Zswap), "zswap")
	for _, c := range st.Codecs {
		s.add(Pages, float64(c.Pages), c.Name)
		s.add(codecBytes, float64(c.Bytes), c.Name)
	}
	s.add(hugePages, float64(m.HugePagesSince))
	s.add(pagesCompacted, float64(m.PagesCompacted))
}

func (s *samples) service(st *status.Status) {
	s.operations(st)
	if b := st.Backing; b.Path != "" {
		s.add(backingSize, float64(b.Capacity*pageSize))
		s.add(backingUsed, float64(b.Pages*pageSize))
		s.add(backingPages, float64(b.Reads), "read")
		s.add(backingPages, float64(b.Writes), "write")
		s.add(backingErrors, float64(b.FailedWrites))
	}
	s.add(Errors, float64(st.IO.FailedReads), "read")
	s.add(Errors, float64(st.IO.FailedWrites), "write")
	s.add(Errors, float64(st.IO.ChecksumErrors), "checksum")
	s.add(Restarts, float64(st.Restarts))
	s.add(restartsRecent, float64(st.RestartsRecent))
	s.flag(survivesCrash, st.SurvivesCrash)
	for _, p := range st.Protections {
		s.flag(protection, p.State == status.OK, p.Name)
	}
	s.add(cpuSeconds, st.CPUSeconds)
	s.add(pollingSeconds, st.Latency.HeldSeconds)
	s.add(coldAge, st.Cold.AgeSeconds)
	s.add(coldReads, st.Cold.ReadRate)
	s.add(coldSaved, float64(st.Cold.SavedBytes))
	s.add(coldTime, st.Cold.SpentSeconds)
	if c := st.Scrub; c.Ended != nil {
		s.add(scrubEnded, float64(c.Ended.Unix()))
		s.add(scrubDamaged, float64(c.Damaged))
	}
	s.add(logLinesDropped, float64(st.Process.LogLinesDropped))
}

// operations adds what the device counts of requests.
func (s *samples) operations(st *status.Status) {
	for _, o := range st.Operations {
		s.add(OperationPages, float64(o.Pages), o.Op)
		s.add(operations, float64(o.Requests), o.Op)
		s.add(operationBytes, float64(o.Bytes), o.Op)
		s.add(operationErrors, float64(o.Errors), o.Op)
		s.all = append(s.all, MetricSample{Name: OperationTime, Labels: []string{s.device, o.Op}, Value: o.SecondsTotal,
			Buckets: cumulative(o.Buckets), Count: o.Buckets.Count()})
	}
	s.add(stalls, float64(st.Stalls.Requests))
	s.add(stallTime, st.Stalls.Seconds)
	for _, class := range st.Ages.Classes {
		age := strconv.FormatFloat(class.FromSeconds, 'f', -1, 64)
		s.add(agePages, float64(class.Pages), age)
		s.add(refaults, float64(class.Refaults), age)
	}
	for kind, n := range st.EventsTotal {
		s.add(events, float64(n), kind)
	}
}

// cumulative counts the durations below each of Bounds.
func cumulative(h latency.Histogram) []uint64 {
	counts := make([]uint64, len(Bounds))
	for i, bound := range Bounds {
		for _, b := range h {
			if float64(b[0]) <= bound*1e9 {
				counts[i] += b[1]
			}
		}
	}
	return counts
}
