// SPDX-License-Identifier: Apache-2.0

package zramfsd

import (
	"github.com/zramfs/zramfs/fusefs"
	"github.com/zramfs/zramfs/internal/pmqos"
)

const (
	// attributeReaders is the number of reads of attributes at a time: fusefs has threads for as
	// many.
	attributeReaders = 4
	// othersTasks is the number of threads of a keeper and of the command that starts it, with
	// spare.
	othersTasks = 48
)

// WorkerThreads is the number of operating system threads that a worker can need at a time: those
// that run goroutines, those of fusefs that wait for memory or for a request, those that measure a
// wake-up, and some that wait for keeper and log.
func WorkerThreads() int {
	return fusefs.Processors() + fusefs.Workers() + attributeReaders + pmqos.Threads
}

// Tasks is the number of threads that a device needs room for: those of its keeper, of the command
// that starts it, and of two workers, as during an upgrade.
func Tasks() int { return othersTasks + 2*WorkerThreads() }
