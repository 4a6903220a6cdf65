// SPDX-License-Identifier: Apache-2.0

package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/host"
)

// The values of --tune.
const (
	Keep        = "keep"        // change nothing
	Recommended = "recommended" // apply Settings
)

// A Setting is a value that a parameter gets. It is immutable.
type Setting struct {
	Parameter Parameter
	Value     string
	// Or has the values to take, in turn, where the kernel does not take Value.
	Or []string
	// AtLeast leaves a larger number alone.
	AtLeast bool
	// Only, unless nil, reports whether the setting is of use on a machine; Where says so in words.
	Only  func(host.Root) bool
	Where string
}

// PageCluster is the recommended value of vm.page-cluster: 2^5 pages a swap-in. A request costs
// tens of microseconds and a further page in it about two, so one page at a time, as is advised for
// zram, loses; docs/lab/tried.md has the figures.
const PageCluster = 5

// HaltPoll is how long an idle CPU of a virtual machine polls before it halts, in nanoseconds.
const HaltPoll Parameter = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"

// all are the settings that --tune recommended can make (Documentation/admin-guide/sysctl/vm.rst
// and Documentation/virt/guest-halt-polling.rst of the kernel).
var all = []Setting{
	{Parameter: "vm.page-cluster", Value: strconv.Itoa(PageCluster)},
	// Reading a page back from zramfs takes about half as long as from a disk; the kernel's
	// documentation gives 133 for that ratio.
	{Parameter: "vm.swappiness", Value: "133", AtLeast: true},
	// Reclaim begins and stops with 1.25 % more free memory between the watermarks, so that its
	// requests find memory.
	{Parameter: "vm.watermark_scale_factor", Value: "125", AtLeast: true},
	// After an allocation that mixed kinds of memory, the kernel would reclaim beyond the
	// watermarks for a while, in bursts.
	{Parameter: "vm.watermark_boost_factor", Value: "0"},
	// A halted CPU of a virtual machine takes 10 to 160 us to answer, and a fault needs several
	// answers. The serving process keeps CPUs awake by itself where it can.
	{Parameter: HaltPoll, Value: "200000", AtLeast: true, Only: needsHaltPoll, Where: "where /dev/cpu_dma_latency cannot be used"},
}

// Settings returns what --tune recommended sets on a machine.
func Settings(m host.Root) []Setting {
	return slices.DeleteFunc(slices.Clone(all), func(s Setting) bool { return s.Only != nil && !s.Only(m) })
}

// Pending returns what Apply would change on a machine that no device has tuned, in the order of
// Settings. A parameter that the kernel lacks is left out.
func Pending(m host.Root) ([]Change, error) {
	var pending []Change
	for _, s := range Settings(m) {
		now, err := s.Parameter.Read(m)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !s.met(now) {
			pending = append(pending, Change{s.Parameter, now, s.Value})
		}
	}
	return pending, nil
}

// Help lists the settings of every machine, and those of some with their condition.
func Help() string {
	var words []string
	for _, s := range all {
		switch {
		case s.Where != "":
			words = append(words, fmt.Sprintf("and %s also %s=%s", s.Where, s.Parameter, s.Value))
		default:
			words = append(words, fmt.Sprintf("%s=%s", s.Parameter, s.Value))
		}
	}
	return strings.Join(words, ", ")
}

// met reports whether the value now, in the kernel's text, needs no change.
func (s Setting) met(now string) bool {
	if now == s.Value {
		return true
	}
	want, err := strconv.ParseUint(s.Value, 10, 64)
	if !s.AtLeast || err != nil {
		return false
	}
	n, err := strconv.ParseUint(now, 10, 64)
	return err == nil && n > want
}
