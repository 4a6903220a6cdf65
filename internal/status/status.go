// SPDX-License-Identifier: Apache-2.0

// Package status holds the JSON that a device and the command line exchange: the content of
// DIR/control/status, and the announcement of a process that has become ready or has failed.
//
// Values are plain. Functions are safe for concurrent use.
package status

import (
	"slices"
	"strings"
	"time"
)

// Status is the content of DIR/control/status: one snapshot of a serving process, as JSON. Sizes
// are bytes and I/O is counted in pages unless a field says otherwise. It is a plain value: nothing
// in it changes after it was made.
type Status struct {
	// Time is when the snapshot was taken.
	Time time.Time `json:"time"`
	// Version is the version of the program that serves.
	Version string `json:"version"`
	// PID is the process that ends last, in its own PID namespace: the keeper.
	PID int `json:"pid"`
	// KeeperPID is the process that holds the device, and starts another worker when one dies.
	KeeperPID int `json:"keeper_pid"`
	// WorkerPID is the process that serves.
	WorkerPID int `json:"worker_pid"`
	// Restarts is how many workers have died.
	Restarts int `json:"restarts"`
	// RestartsRecent is how many of them died within the last ten minutes, 512 at most.
	RestartsRecent int `json:"restarts_recent"`
	// LastRestart is when the last of them died; null when none has.
	LastRestart *time.Time `json:"last_restart"`
	// LastExit says how it ended, as in "killed by signal 9"; empty when none has died.
	LastExit string `json:"last_exit"`
	// SurvivesCrash says whether everything goes on should the worker die.
	SurvivesCrash bool `json:"survives_crash"`
	// UptimeSeconds is the time since the device became ready.
	UptimeSeconds float64 `json:"uptime_seconds"`
	// Dir is the mount point, absolute and without symbolic links.
	Dir string `json:"dir"`
	// Name is the device's name below dev and block: "zram0".
	Name string `json:"name"`
	// Disksize is the size of the data file.
	Disksize uint64 `json:"disksize"`
	// Algorithm is the canonical text of the codec selection, as codec.Parse reads it.
	Algorithm string `json:"algorithm"`
	// MemLimit bounds Memory.MemUsedTotal; 0 means that there is no limit.
	MemLimit uint64 `json:"mem_limit"`
	// Streams is the number of requests that can be worked on at the same time.
	Streams int `json:"streams"`
	// Opens is the number of open handles on the data file; a loop device holds one.
	Opens int `json:"opens"`
	// Loops are the loop devices on a hidden data file, as the command that hid it has noted them.
	Loops []string `json:"loops"`
	// Memory describes the stored pages and the memory that they take.
	Memory Memory `json:"memory"`
	// ProcessMemoryBytes is the memory of keeper and worker without Memory: heaps, stacks, the
	// memory of requests, page tables, and the code that both share. It is 0 where /proc cannot be
	// read.
	ProcessMemoryBytes uint64 `json:"process_memory_bytes"`
	// CPUSeconds is the processor time of the keeper and of all workers since the device was made,
	// with those that have died. It never decreases.
	CPUSeconds float64 `json:"cpu_seconds_total"`
	// Codecs splits what is stored by the format of the objects.
	Codecs []Codec `json:"codecs"`
	// Instructions are the instruction sets of the serving process.
	Instructions Instructions `json:"instructions"`
	// IO counts requests and errors.
	IO IO `json:"io"`
	// Operations has counts and latencies by kind: read, write, discard and flush, in this order.
	Operations []Operation `json:"operations"`
	// Batches has the numbers of pages of requests: of reads, writes and discards, in this order.
	Batches []Batch `json:"batches"`
	// LastMinute has the rates of the last minute.
	LastMinute Minute `json:"last_minute"`
	// Stalls counts the requests that waited for memory.
	Stalls Stalls `json:"stalls"`
	// Backing describes the backing device, and what was written back to it.
	Backing Backing `json:"backing"`
	// Ages says how long ago stored pages were written or read.
	Ages Ages `json:"ages"`
	// EventsTotal counts the events since the device was made by their kind, see [telemetry.Kind].
	// Kinds without an event are left out.
	EventsTotal map[string]uint64 `json:"events_total"`
	// SettingsLost says which settings that were changed since the device was made are not in
	// effect, since their text is damaged or of another version: one sentence each.
	SettingsLost []string `json:"settings_lost"`
	// Fuse has the settings that were agreed with the kernel at the mount.
	Fuse Fuse `json:"fuse"`
	// Latency says whether idle processors are kept from halting, and what that saves.
	Latency Latency `json:"latency"`
	// Cold says from which age on pages are cold, and what became of cold pages.
	Cold Cold `json:"cold"`
	// Scrub says when the checksums of all pages were proved, and what that found.
	Scrub Scrub `json:"scrub"`
	// Spill says what the device has moved to its backing device by itself.
	Spill Spill `json:"spill"`
	// OnFull is what a write does that finds the memory limit reached: "spill", "stall" or "error".
	OnFull string `json:"on_full"`
	// Process describes heap and log of the serving process.
	Process Process `json:"process"`
	// Protections are the measures taken before the device became ready, in the order in which they
	// were taken.
	Protections []Protection `json:"protections"`
}

// Backing describes the backing device of a [Status]. Without one all is zero.
type Backing struct {
	// Path is the file or block device, absolute; empty for none.
	Path string `json:"path"`
	// Capacity is the number of pages that it has room for.
	Capacity uint64 `json:"capacity_pages"`
	// Pages is the number of pages that lie there.
	Pages uint64 `json:"pages"`
	// Reads and Writes count pages read from there and written there so far.
	Reads  uint64 `json:"reads"`
	Writes uint64 `json:"writes"`
	// FailedWrites counts the writes to it that failed so far, of up to 32 pages each.
	FailedWrites uint64 `json:"failed_writes"`
	// Limited says whether Limit counts, which is the number of pages that may yet be written.
	Limited bool   `json:"limited"`
	Limit   uint64 `json:"limit_pages"`
}

// Memory is the memory side of a [Status]. The names are those of zram's mm_stat where it has
// them.
type Memory struct {
	// OrigDataSize is the uncompressed size of everything stored.
	OrigDataSize uint64 `json:"orig_data_size"`
	// ComprDataSize is the size of all stored objects.
	ComprDataSize uint64 `json:"compr_data_size"`
	// MemUsedTotal is the memory that holds them, index and waste included.
	MemUsedTotal uint64 `json:"mem_used_total"`
	// MemUsedMax is the largest MemUsedTotal so far.
	MemUsedMax uint64 `json:"mem_used_max"`
	// SamePages is the number of pages stored as one repeated word, without an object.
	SamePages uint64 `json:"same_pages"`
	// HugePages is the number of incompressible pages stored now.
	HugePages uint64 `json:"huge_pages"`
	// HugePagesSince is the number of incompressible pages written so far.
	HugePagesSince uint64 `json:"huge_pages_since"`
	// PagesCompacted is the number of pages that compaction has freed.
	PagesCompacted uint64 `json:"pages_compacted"`
	// RecountedSegments is the number of segments that the worker has taken back after damage to
	// an index entry or an object's header had made their counts wrong.
	RecountedSegments uint64 `json:"recounted_segments"`
	// PagesStored is the number of pages that hold data, same-filled ones included.
	PagesStored uint64 `json:"pages_stored"`
	// IndexBytes is the part of MemUsedTotal that the page index takes.
	IndexBytes uint64 `json:"index_bytes"`
	// ReserveBytes is memory held ready for writes that must not wait for the kernel.
	ReserveBytes uint64 `json:"reserve_bytes"`
}

// Codec is the share of one object format in what is stored.
type Codec struct {
	// Name is the format, "same" for same-filled pages.
	Name string `json:"name"`
	// Pages is the number of pages stored in this format.
	Pages uint64 `json:"pages"`
	// Bytes is the size of their objects.
	Bytes uint64 `json:"bytes"`
}

// Instructions is the instruction sets of the serving process, each list best first and plain
// Go ("generic") last.
type Instructions struct {
	// Detected are those of the machine that the program has code for.
	Detected []string `json:"detected"`
	// Usable are those that ZRAMFS_DISABLE left when the process was started.
	Usable []string `json:"usable"`
	// Codecs names the implementation of each algorithm that has several.
	Codecs []Implementation `json:"codecs"`
}

// SwitchedOff returns the detected sets that ZRAMFS_DISABLE has switched off.
func (s Instructions) SwitchedOff() []string {
	return slices.DeleteFunc(slices.Clone(s.Detected), func(set string) bool { return slices.Contains(s.Usable, set) })
}

// Implementations lists the implementations of codecs that have several, in a line.
func (s Instructions) Implementations() string {
	words := make([]string, len(s.Codecs))
	for i, c := range s.Codecs {
		words[i] = c.Name + " by " + c.Set
	}
	return strings.Join(words, ", ")
}

// Implementation is the implementation of an algorithm.
type Implementation struct {
	// Name is the algorithm's.
	Name string `json:"name"`
	// Set is the instruction set of the implementation.
	Set string `json:"set"`
}

// IO counts pages and errors since the device was made, also those of workers that have died.
type IO struct {
	// Reads is the number of pages read.
	Reads uint64 `json:"reads"`
	// Writes is the number of pages written.
	Writes uint64 `json:"writes"`
	// Discards is the number of pages discarded.
	Discards uint64 `json:"discards"`
	// FailedReads is the number of page reads that ended in an error.
	FailedReads uint64 `json:"failed_reads"`
	// FailedWrites is the number of page writes that ended in an error, a full store included.
	FailedWrites uint64 `json:"failed_writes"`
	// NotifyFree is the number of pages that the owner of the device gave back.
	NotifyFree uint64 `json:"notify_free"`
	// ChecksumErrors is the number of reads that met a damaged object.
	ChecksumErrors uint64 `json:"checksum_errors"`
	// FailedReadTimes, FailedWriteTimes and ChecksumErrorTimes say when such errors occurred.
	FailedReadTimes    ErrorTimes `json:"failed_read_times"`
	FailedWriteTimes   ErrorTimes `json:"failed_write_times"`
	ChecksumErrorTimes ErrorTimes `json:"checksum_error_times"`
}

// ErrorTimes are the times of the first and the last error of a kind, over all workers.
// Both are zero, and absent from the JSON, where there was none.
type ErrorTimes struct {
	First time.Time `json:"first,omitzero"` // time of the first
	Last  time.Time `json:"last,omitzero"`  // time of the last
}

// Fuse has the settings of the FUSE connection.
type Fuse struct {
	// Connection is the number of the data file's connection, below /sys/fs/fuse/connections.
	Connection int `json:"connection"`
	// MaxWrite is the largest write request, in bytes.
	MaxWrite int `json:"max_write"`
	// MaxBackground is the number of asynchronous requests that the kernel may have under way.
	MaxBackground int `json:"max_background"`
	// AsyncDIO says that direct I/O is asynchronous; without it a loop device has one request under
	// way at a time.
	AsyncDIO bool `json:"async_dio"`
}

// Process describes the serving process without the store.
type Process struct {
	// HeapBytes is the size of the Go heap, free parts included.
	HeapBytes uint64 `json:"heap_bytes"`
	// HeapReleasedBytes is the part of the heap that the runtime has given back to the kernel.
	// Growth under load means that the page path takes page faults.
	HeapReleasedBytes uint64 `json:"heap_released_bytes"`
	// GCCycles is the number of garbage collections since the process started.
	GCCycles uint64 `json:"gc_cycles"`
	// LogLinesDropped is the number of log lines that found no room in the queue.
	LogLinesDropped uint64 `json:"log_lines_dropped"`
}
