// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"zramfs/codec"
	"zramfs/store"
)

// statusJSON makes the contents of DIR/control/status. It runs inside a request, so it reads counters and facts that
// were collected before, and nothing else. It waits for the device to be announced, which never depends on a request.
func (d *device) statusJSON() ([]byte, error) {
	<-d.ready
	text, err := json.MarshalIndent(d.status(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	return append(text, '\n'), nil
}

func (d *device) status() Status {
	stats := d.store.Stats()
	process := processStatus()
	process.LogLinesDropped = d.logs.Dropped()
	return Status{
		Version:       d.cfg.Version,
		PID:           os.Getpid(),
		UptimeSeconds: time.Since(d.started).Seconds(),
		Dir:           d.cfg.Dir,
		Name:          deviceName,
		Disksize:      d.cfg.Disksize,
		Algorithm:     d.cfg.Algorithm.String(),
		MemLimit:      d.cfg.MemLimit,
		Streams:       d.streams,
		Opens:         d.server.OpenCount(),
		Memory:        memoryStatus(stats),
		Codecs:        codecStatus(stats),
		Instructions:  Instructions(),
		IO:            ioStatus(stats),
		Fuse: FuseStatus{
			MaxWrite:      d.settings.MaxWrite,
			MaxBackground: d.settings.MaxBackground,
			AsyncDIO:      d.settings.AsyncDIO,
		},
		Process:     process,
		Protections: d.protections,
	}
}

func memoryStatus(s store.Stats) MemoryStatus {
	return MemoryStatus{
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
	}
}

// Instructions returns what the codecs of this process run on. It asks nobody: all of it is found out when the program starts.
func Instructions() InstructionStatus {
	sets := codec.InstructionSets()
	s := InstructionStatus{Detected: sets.Detected, Usable: sets.Usable, Codecs: []ImplementationStatus{}}
	for _, a := range codec.Comparable() {
		if v := a.Variants()[0]; v.Set != "" {
			s.Codecs = append(s.Codecs, ImplementationStatus{Name: v.Name, Set: v.Set})
		}
	}
	return s
}

func ioStatus(s store.Stats) IOStatus {
	return IOStatus{
		Reads:          s.Reads,
		Writes:         s.Writes,
		Discards:       s.NotifyFree,
		FailedReads:    s.FailedReads,
		FailedWrites:   s.FailedWrites,
		NotifyFree:     s.NotifyFree,
		ChecksumErrors: s.ChecksumErrors,
	}
}

// codecStatus lists the formats that something is stored in. Same-filled pages have several identifiers of their own in
// the image (28 and above) and are one here.
func codecStatus(s store.Stats) []CodecStatus {
	const firstSame = 28
	list := []CodecStatus{}
	for id, c := range s.Codecs[:firstSame] {
		if c.Pages > 0 {
			list = append(list, CodecStatus{Name: codec.ID(id).String(), Pages: c.Pages, Bytes: c.Bytes})
		}
	}
	if s.SamePages > 0 {
		list = append(list, CodecStatus{Name: "same", Pages: s.SamePages})
	}
	return list
}
