// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/protect"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/store"
)

// statusJSON makes the content of DIR/control/status. It runs inside a request, so it only reads
// counters, its own and the kernel's, and facts that were collected before. It waits until the
// worker is ready, which never depends on a request.
func (w *worker) statusJSON(loops []string) ([]byte, error) {
	<-w.ready
	return w.encodeStatus(loops)
}

func (w *worker) encodeStatus(loops []string) ([]byte, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	text, err := json.MarshalIndent(w.status(loops), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return append(text, '\n'), nil
}

func (w *worker) status(loops []string) status.Status {
	stats, settings := w.store.Stats(), w.server.Negotiated()
	heap := protect.Heap()
	operations, batches := operationStatus(w.counters.Area)
	return status.Status{
		Time:           now(),
		Version:        w.cfg.Version,
		PID:            w.facts.PID,
		KeeperPID:      w.facts.PID,
		WorkerPID:      os.Getpid(),
		Restarts:       w.facts.Count,
		RestartsRecent: w.facts.since(time.Now().Add(-recentTime)),
		LastRestart:    w.facts.last(),
		LastExit:       w.facts.LastExit,
		SurvivesCrash:  w.kept.Load(),
		UptimeSeconds:  (fusefs.SinceBoot() - w.facts.Ready).Seconds(),
		Dir:            w.cfg.Dir,
		Name:           deviceName,
		Disksize:       w.cfg.Disksize,
		Algorithm:      w.store.Algorithm().String(),
		MemLimit:       stats.MemLimit,
		Streams:        settings.Threads,
		Opens:          w.server.OpenCount(),
		Loops:          append([]string{}, loops...),
		Memory:         memoryStatus(stats),

		ProcessMemoryBytes: processMemory(w.server.RequestBytes(), w.kept.Load()),
		CPUSeconds:         w.cpuTime().Seconds(),

		Codecs:       codecStatus(stats),
		Instructions: status.ReadInstructions(),
		IO:           ioStatus(stats),
		Operations:   operations,
		Batches:      batches,
		LastMinute:   minuteStatus(w.counters.Area),
		Stalls:       stallStatus(w.counters.Area),
		Backing:      w.backingStatus(stats),
		Ages:         agesStatus(stats.Ages),
		EventsTotal:  w.counters.Area.EventsTotal(),
		SettingsLost: append([]string{}, w.lostSettings...),
		Fuse: status.Fuse{
			Connection:    settings.Connection,
			MaxWrite:      settings.MaxWrite,
			MaxBackground: settings.MaxBackground,
			AsyncDIO:      settings.AsyncDIO,
		},
		Latency: w.awake.Status(),
		Cold:    w.cold.Status(),
		Scrub:   w.scrub.Status(),
		Spill:   w.spill.Load().Status(),
		OnFull:  string(cmp.Or(w.cfg.OnFull, store.FullSpill)),
		Process: status.Process{
			HeapBytes:         heap.Bytes,
			HeapReleasedBytes: heap.Released,
			GCCycles:          heap.Cycles,
			LogLinesDropped:   w.logs.Dropped(),
		},
		Protections: w.protections,
	}
}

func memoryStatus(s store.Stats) status.Memory {
	return status.Memory{
		OrigDataSize:   s.OrigDataSize,
		ComprDataSize:  s.ComprDataSize,
		MemUsedTotal:   s.MemUsedTotal,
		MemUsedMax:     s.MemUsedMax,
		SamePages:      s.SamePages,
		HugePages:      s.HugePages,
		HugePagesSince: s.HugePagesSince,
		PagesCompacted: s.PagesCompacted,
		PagesStored:    s.OrigDataSize / store.PageSize,
		IndexBytes:     s.IndexBytes,
		ReserveBytes:   s.ReserveBytes,

		RecountedSegments: s.RecountedSegments,
	}
}

func ioStatus(s store.Stats) status.IO {
	return status.IO{
		Reads:          s.Reads,
		Writes:         s.Writes,
		Discards:       s.NotifyFree,
		FailedReads:    s.FailedReads.Count,
		FailedWrites:   s.FailedWrites.Count,
		NotifyFree:     s.NotifyFree,
		ChecksumErrors: s.ChecksumErrors.Count,

		FailedReadTimes:    timesOf(s.FailedReads),
		FailedWriteTimes:   timesOf(s.FailedWrites),
		ChecksumErrorTimes: timesOf(s.ChecksumErrors),
	}
}

func timesOf(c store.ErrorCount) status.ErrorTimes {
	return status.ErrorTimes{First: c.First, Last: c.Last}
}

// codecStatus lists the formats of stored pages. Same-filled pages have several identifiers of
// their own in the image (28 and above) and are one here.
func codecStatus(s store.Stats) []status.Codec {
	const firstSame = 28
	list := []status.Codec{}
	for id, c := range s.Codecs[:firstSame] {
		if c.Pages > 0 {
			list = append(list, status.Codec{Name: codec.ID(id).String(), Pages: c.Pages, Bytes: c.Bytes})
		}
	}
	if s.SamePages > 0 {
		list = append(list, status.Codec{Name: "same", Pages: s.SamePages})
	}
	return list
}
