// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/status"
)

// The heap keeps its memory under the garbage that reads of the status leave: a page fault or two
// for each collection of some ten thousand objects.
func TestHeapKeepsItsMemory(t *testing.T) { inChild(t, "heap") }

var garbage []byte // escapes to the heap; one goroutine writes it, none reads it

func childHeap() error {
	ReserveHeap()
	p := CheckCollector()
	WarmUp(nil, churnOnce)
	if p.State != status.OK {
		if raceEnabled || p.State == status.Warn && p.Detail != "" {
			return nil // a build or a machine that has no address space to spare
		}
		return fmt.Errorf("%+v", p)
	}
	var tries []string
	for range 4 { // the heap settles in the first; a machine that is busy with other things may take one more
		before, faults := Heap(), minorFaults()
		churn()
		cycles := Heap().Cycles - before.Cycles
		faults = minorFaults() - faults
		if cycles > 0 && faults < 10*int64(cycles) {
			return nil
		}
		tries = append(tries, fmt.Sprintf("%d page faults in %d collections", faults, cycles))
	}
	return errors.New(strings.Join(tries, ", "))
}

// churn makes some fifty MiB of garbage as reads of the status do, with pauses.
func churn() {
	for range 2 << 10 {
		churnOnce()
		time.Sleep(200 * time.Microsecond)
	}
}

// churnOnce leaves as much garbage as a read of the status.
func churnOnce() {
	for i := range 100 {
		garbage = make([]byte, 300+i%500)
	}
	garbage = make([]byte, 16<<10)
}

func minorFaults() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return -1
	}
	return usage.Minflt
}

func TestMayReserve(t *testing.T) {
	if mayReserve(1<<30, 1<<30) {
		t.Error("may reserve as much as there is memory")
	}
}
