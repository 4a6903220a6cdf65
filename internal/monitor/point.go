// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"cmp"
	"slices"
	"time"

	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
)

// A Point is a device at a time, and its rates since the point before. Sizes are in bytes, pages
// have 4096 of them. It is the JSON of stats, and plain data: nothing in it changes. Where the
// device did not answer, its own figures are 0.
type Point struct {
	// Time is that of the answer.
	Time time.Time `json:"time"`
	// Seconds is the time that the rates are over; 0 where they are unknown, as at first.
	Seconds float64 `json:"seconds"`
	// Dir is the device's name in messages: its mount point, if known.
	Dir string `json:"dir"`
	// Answer is ok, timeout, dead, elsewhere or error.
	Answer string `json:"answer"`
	// Health is healthy or degraded.
	Health string `json:"health"`
	// Uptime is the time since the device became ready, in seconds; 0 where it did not answer.
	Uptime float64 `json:"uptime_seconds"`
	// SwapSize is the size of its swap areas, SwapUsed what programs use of them; 0 for a device
	// that is not used as swap.
	SwapSize uint64 `json:"swap_size"`
	SwapUsed uint64 `json:"swap_used"`
	// Stored is the uncompressed size of everything stored.
	Stored uint64 `json:"orig_data_size"`
	// Memory is the memory that holds it, index and waste included; MemoryLimit bounds it, 0 for
	// none.
	Memory      uint64 `json:"mem_used_total"`
	MemoryLimit uint64 `json:"mem_limit"`
	// InZswap are pages that zswap holds in front of the device, uncompressed, and Zswap the memory
	// that they take: the device's share by used slots.
	InZswap uint64 `json:"in_zswap"`
	Zswap   uint64 `json:"zswap_memory_bytes"`
	// Processes is the memory of keeper and worker without Memory, Slots that of the process that
	// holds ballast.
	Processes uint64 `json:"process_memory_bytes"`
	Slots     uint64 `json:"slots_memory_bytes"`
	// Saved is what programs have in swap, less Memory, Zswap, Processes and Slots; of a device
	// that is not used as swap it is Stored less them. It is negative for a device that costs more.
	Saved int64 `json:"saved"`
	// Ratio is Stored and InZswap for each byte of Memory and Zswap; 0 below 1 MiB.
	Ratio float64 `json:"ratio"`
	// ZswapIn are pages a second that zswap has answered faults with, and ZswapBack those that it
	// has written back: in front of all swap areas of the machine.
	ZswapIn   float64 `json:"zswap_in_per_second"`
	ZswapBack float64 `json:"zswap_written_back_per_second"`
	// In are pages read from the device, as in swap-ins; Out are pages written.
	In  status.Flow `json:"in"`
	Out status.Flow `json:"out"`
	// ReadTime and WriteTime say what part of a request is the device's own.
	ReadTime  swapdev.Split `json:"read_time"`
	WriteTime swapdev.Split `json:"write_time"`
	// Discards is the rate of pages that the kernel gave back.
	Discards float64 `json:"discards_per_second"`
	// CPU is the processor time of keeper and worker for each second, in processors; null where it
	// is unknown.
	CPU *float64 `json:"cpu"`
	// PressureSome and PressureFull are the machine's memory pressure over ten seconds, in per
	// cent; null where the kernel does not tell them.
	PressureSome *float64 `json:"pressure_some_percent"`
	PressureFull *float64 `json:"pressure_full_percent"`
	// Growth is the change of SwapUsed over the last minute, or since the point before where that
	// is longer ago, in bytes a second; of Stored for a device that is not used as swap.
	Growth float64 `json:"growth_bytes_per_second"`
	// FullIn is the time until the swap areas or the memory limit are full at that growth; null
	// where neither comes within a day.
	FullIn *float64 `json:"full_in_seconds"`
	// FailedReads, FailedWrites and ChecksumErrors count since the device was made.
	FailedReads    uint64 `json:"failed_reads"`
	FailedWrites   uint64 `json:"failed_writes"`
	ChecksumErrors uint64 `json:"checksum_errors"`
	// Restarts is how many workers have died.
	Restarts int `json:"restarts"`
	// Codecs splits what is stored by format, the one with the most pages first.
	Codecs []status.Codec `json:"codecs"`

	at time.Time // Time on the clock that is never set
}

// state returns the point of a sample without rates.
func state(s Sample) Point {
	d := s.Device
	p := Point{Time: s.At.Round(0).UTC(), at: s.At, Dir: d.Title(), Answer: d.Answer(), Health: "healthy", SwapUsed: d.Used(), Codecs: []status.Codec{}}
	if len(s.Problems) > 0 {
		p.Health = "degraded"
	}
	if swap := d.Swap(); swap != nil {
		p.SwapSize = swap.Size
	}
	if s.PressureKnown {
		p.PressureSome, p.PressureFull = &s.Pressure.Some, &s.Pressure.Full
	}
	if d.Status != nil {
		p.take(d)
	}
	return p
}

// take adds what the status of d says.
func (p *Point) take(d swapdev.Device) {
	st := d.Status
	m := st.Memory
	p.Uptime = st.UptimeSeconds
	all := d.Memory()
	p.Stored, p.Memory, p.MemoryLimit, p.Processes, p.Slots = m.OrigDataSize, all.Store, st.MemLimit, all.Processes, all.Slots
	p.Zswap, p.Saved = all.Zswap, SavedBy(d)
	if u := swapdev.NewUsage(d); u != nil {
		p.InZswap = u.InZswap
	}
	p.Ratio = swapdev.Ratio(p.Stored+p.InZswap, p.Memory+p.Zswap)
	p.FailedReads, p.FailedWrites, p.ChecksumErrors = st.IO.FailedReads, st.IO.FailedWrites, st.IO.ChecksumErrors
	p.Restarts = st.Restarts
	p.Codecs = slices.Clone(st.Codecs)
	slices.SortStableFunc(p.Codecs, func(a, b status.Codec) int { return cmp.Compare(b.Pages, a.Pages) })
}

// Errors is the number of all errors since the device was made.
func (p Point) Errors() uint64 { return p.FailedReads + p.FailedWrites + p.ChecksumErrors }

// Answered reports whether the point has figures of the device itself.
func (p Point) Answered() bool { return p.Uptime > 0 }
