// SPDX-License-Identifier: Apache-2.0

package monitor

// A Kind is a metric type of Prometheus.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// A Metric describes one name of the exposition.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string // after "device", which each metric but the last three has
	Help   string   // one sentence without a full stop
}

// The names that other packages build upon.
const (
	Up              = "zramfs_up"
	Problems        = "zramfs_problems"
	SwapSize        = "zramfs_swap_size_bytes"
	SwapUsed        = "zramfs_swap_used_bytes"
	Data            = "zramfs_data_bytes"
	Compressed      = "zramfs_compressed_bytes"
	MemoryUsed      = "zramfs_memory_used_bytes"
	MemoryLimit     = "zramfs_memory_limit_bytes"
	MemoryParts     = "zramfs_memory_bytes"
	Saved           = "zramfs_saved_bytes"
	Pages           = "zramfs_pages"
	OperationPages  = "zramfs_operation_pages_total"
	OperationTime   = "zramfs_operation_duration_seconds"
	Errors          = "zramfs_errors_total"
	Restarts        = "zramfs_worker_restarts_total"
	BuildInfo       = "zramfs_build_info"
	Pressure        = "zramfs_pressure_memory_some_avg10_ratio"
	LookTime        = "zramfs_look_seconds"
	deviceInfo      = "zramfs_device_info"
	answer          = "zramfs_answer"
	uptime          = "zramfs_uptime_seconds"
	diskSize        = "zramfs_disk_size_bytes"
	memoryPeak      = "zramfs_memory_used_peak_bytes"
	swapPrograms    = "zramfs_swap_programs_bytes"
	swapZswap       = "zramfs_swap_zswap_bytes"
	swapCopies      = "zramfs_swap_copies_bytes"
	swapFreed       = "zramfs_swap_freed_bytes"
	codecBytes      = "zramfs_codec_bytes"
	hugePages       = "zramfs_huge_pages_total"
	pagesCompacted  = "zramfs_pages_compacted_total"
	survivesCrash   = "zramfs_survives_crash"
	restartsRecent  = "zramfs_worker_restarts_recent"
	protection      = "zramfs_protection"
	cpuSeconds      = "zramfs_cpu_seconds_total"
	pollingSeconds  = "zramfs_processors_polling_seconds_total"
	scrubEnded      = "zramfs_scrub_timestamp_seconds"
	scrubDamaged    = "zramfs_scrub_damaged_pages"
	coldAge         = "zramfs_cold_age_seconds"
	coldReads       = "zramfs_cold_read_ratio"
	coldSaved       = "zramfs_cold_saved_bytes_total"
	coldTime        = "zramfs_cold_spent_seconds_total"
	logLinesDropped = "zramfs_log_lines_dropped_total"
	operations      = "zramfs_operations_total"
	operationBytes  = "zramfs_operation_bytes_total"
	operationErrors = "zramfs_operation_errors_total"
	backingSize     = "zramfs_backing_size_bytes"
	backingUsed     = "zramfs_backing_used_bytes"
	backingPages    = "zramfs_backing_operation_pages_total"
	backingErrors   = "zramfs_backing_write_errors_total"
	stalls          = "zramfs_stalls_total"
	stallTime       = "zramfs_stall_seconds_total"
	events          = "zramfs_events_total"
	agePages        = "zramfs_age_pages"
	refaults        = "zramfs_refaults_total"
	loopRequests    = "zramfs_loop_operations_total"
	loopTime        = "zramfs_loop_operation_seconds_total"
	zswapPages      = "zramfs_zswap_pages_total"
)

// Metrics are all metrics, in the order of the documentation.
var Metrics = []Metric{
	{Up, Gauge, nil, "Whether the device answers (1) or not (0)"},
	{answer, Gauge, []string{"answer"}, "How the device answers: ok, timeout, dead, elsewhere or error; always 1"},
	{Problems, Gauge, nil, "Number of reasons for which status calls the device degraded; 0 is healthy"},
	{deviceInfo, Gauge, []string{"name", "algorithm", "version"}, "Name, algorithm and version of the serving program; always 1"},
	{uptime, Gauge, nil, "Time since the device became ready"},
	{diskSize, Gauge, nil, "Size of the device"},
	{Data, Gauge, nil, "Uncompressed size of everything stored"},
	{Compressed, Gauge, nil, "Size of all stored objects"},
	{MemoryUsed, Gauge, nil, "Memory that holds what is stored, with index and waste"},
	{memoryPeak, Gauge, nil, "Largest value of zramfs_memory_used_bytes so far"},
	{MemoryLimit, Gauge, nil, "Limit of zramfs_memory_used_bytes; 0 is none"},
	{MemoryParts, Gauge, []string{"kind"}, "Memory of the device by kind: objects, waste, index, reserve, process, slots and its share of zswap; together all that it takes"},
	{Saved, Gauge, nil, "What programs have in swap, less the memory that the device and its share of zswap take; negative where they cost more"},
	{SwapSize, Gauge, nil, "Size of the device's swap areas; absent where it is no swap"},
	{SwapUsed, Gauge, nil, "Used part of the swap areas, without the ballast of zramfsd"},
	{swapPrograms, Gauge, nil, "Memory of programs that is in swap and not in memory"},
	{swapZswap, Gauge, nil, "Part of zramfs_swap_programs_bytes that zswap holds: the device's share by used slots"},
	{swapCopies, Gauge, nil, "Pages in swap that are in memory as well"},
	{swapFreed, Gauge, nil, "Stored pages that programs have freed and the kernel has not given back"},
	{Pages, Gauge, []string{"codec"}, "Stored pages by the format of their objects; same has none"},
	{codecBytes, Gauge, []string{"codec"}, "Size of the stored objects by format"},
	{hugePages, Counter, nil, "Incompressible pages written"},
	{pagesCompacted, Counter, nil, "Pages that compaction has freed"},
	{OperationPages, Counter, []string{"op"}, "Pages read, written and discarded"},
	{operations, Counter, []string{"op"}, "Requests: read, write, discard and flush"},
	{operationBytes, Counter, []string{"op"}, "Bytes read, written and discarded"},
	{operationErrors, Counter, []string{"op"}, "Requests that ended in an error"},
	{OperationTime, Histogram, []string{"op"}, "Time from a request's arrival at the worker to the answer"},
	{loopRequests, Counter, []string{"op"}, "Requests that the loop devices have completed: read and write"},
	{loopTime, Counter, []string{"op"}, "Time of those requests, with the kernel's way to the device and back"},
	{stalls, Counter, nil, "Requests that waited for memory"},
	{stallTime, Counter, nil, "Time that requests waited for memory"},
	{backingSize, Gauge, nil, "Room for pages on the backing device; absent without one"},
	{backingUsed, Gauge, nil, "Pages that lie on the backing device"},
	{backingPages, Counter, []string{"op"}, "Pages read from the backing device and written to it"},
	{backingErrors, Counter, nil, "Writes to the backing device that failed"},
	{agePages, Gauge, []string{"age"}, "Stored pages by the time since they were written or read, in seconds at the least"},
	{refaults, Counter, []string{"age"}, "Pages read since the device was made, by the same time before"},
	{events, Counter, []string{"kind"}, "Events since the device was made, by their kind"},
	{Errors, Counter, []string{"kind"}, "Pages that failed: read, write, and checksum for damaged ones"},
	{Restarts, Counter, nil, "Workers that have died"},
	{restartsRecent, Gauge, nil, "Workers that have died within the last ten minutes"},
	{survivesCrash, Gauge, nil, "Whether everything goes on should the worker die (1) or not (0)"},
	{protection, Gauge, []string{"name"}, "Whether a protection of the serving process holds (1) or not (0)"},
	{cpuSeconds, Counter, nil, "Processor time of keeper and workers since the device was made, with workers that have died"},
	{pollingSeconds, Counter, nil, "Time during which the device kept idle processors from halting"},
	{coldAge, Gauge, nil, "Age from which on pages count as cold"},
	{coldReads, Gauge, nil, "Part of the stored pages that was read in the last minute after they became cold"},
	{coldSaved, Counter, nil, "Bytes by which packing made the objects of cold pages shorter"},
	{coldTime, Counter, nil, "Processor time that packing took"},
	{scrubEnded, Gauge, nil, "When the last scrub ended, in Unix time; absent before the first one did"},
	{scrubDamaged, Gauge, nil, "Damaged pages that the last scrub found"},
	{logLinesDropped, Counter, nil, "Log lines of the serving process that found no room"},
	{Pressure, Gauge, nil, "Share of the last ten seconds in which a task of the machine waited for memory"},
	{zswapPages, Counter, []string{"op"}, "Pages that zswap has read, taken (write) and written back since boot, of all swap of the machine"},
	{LookTime, Gauge, nil, "Time that asking all devices took"},
	{BuildInfo, Gauge, []string{"version", "revision", "goversion"}, "Program that made these metrics; always 1"},
}

// Bounds are the upper bounds of the buckets of a Histogram, in seconds: powers of two nanoseconds
// from 4 us to 1 s, which the device's own histograms have too, so that the counts are exact.
var Bounds = func() (all []float64) {
	for ns := uint64(1) << 12; ns <= 1<<30; ns <<= 1 {
		all = append(all, float64(ns)/1e9)
	}
	return all
}()

// Find returns the metric of a name; false where there is none.
func Find(name string) (Metric, bool) {
	for _, m := range Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// AllLabels returns the names of all labels of the metric, in the order of a MetricSample's values.
func (m Metric) AllLabels() []string {
	switch m.Name {
	case Pressure, zswapPages, LookTime, BuildInfo:
		return m.Labels
	}
	return append([]string{"device"}, m.Labels...)
}
