// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/host"
)

// inChild runs one of children and wants it to succeed: it announces itself when it has, and its
// complaint when not.
func inChild(t *testing.T, name string) {
	t.Helper()
	if _, err := Spawn([]string{name}); err != nil {
		t.Error(err)
	}
}

// report announces the outcome of a child that inChild has started.
func report(err error) error {
	if err != nil {
		return writeFailure(announcement(), &StartError{Message: err.Error(), Code: 1})
	}
	return writeReady(announcement(), &Report{})
}

// TestLockMemory wants the report and the kernel to agree, whatever this user may do.
func TestLockMemory(t *testing.T) { inChild(t, "lock") }

func childLock() error {
	p := lockMemory()
	locked, err := host.Local.Field(selfStatus, "VmLck")
	_, unlimited := lockLimit()
	switch {
	case err != nil:
		return report(err)
	case (p.State == StateOK) != unlimited:
		return report(fmt.Errorf("%+v with unlimited %v", p, unlimited))
	case p.State == StateOK && strings.HasPrefix(locked, "0 "):
		return report(fmt.Errorf("%+v, and VmLck is %s", p, locked))
	case p.State != StateOK && p.State != StateFail, !p.Essential, p.Detail == "":
		return report(fmt.Errorf("%+v", p))
	}
	return report(nil)
}

// TestCollector wants the heap to keep its memory under the kind of garbage that requests make: a
// page fault or two for each collection, of some ten thousand pieces of garbage.
func TestCollector(t *testing.T) { inChild(t, "collect") }

var garbage []byte // keeps what it holds from being placed on the stack; several processors may write it, none reads it

func childCollect() error {
	takeBallast()
	p := restCollector()
	rehearse(churnOnce)
	if p.State != StateOK {
		if raceEnabled || p.State == StateWarn && p.Detail != "" {
			return report(nil) // a build or a machine that has no address space to spare
		}
		return report(fmt.Errorf("%+v", p))
	}
	var tries []string
	for range 4 { // the heap settles in the first; a machine that is busy with other things may take one more
		before, faults := processStatus(), minorFaults()
		churn()
		cycles := processStatus().GCCycles - before.GCCycles
		faults = minorFaults() - faults
		if cycles > 0 && faults < 10*int64(cycles) {
			return report(nil)
		}
		tries = append(tries, fmt.Sprintf("%d page faults in %d collections", faults, cycles))
	}
	return report(errors.New(strings.Join(tries, ", ")))
}

// churn makes some hundred MiB of garbage, a little slower than it could: requests do other things
// too.
func churn() {
	for i := range 5 << 10 {
		churnOnce()
		if i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// churnOnce leaves as much as a reading of the status does.
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
