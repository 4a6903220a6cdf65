// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
)

// poolFD is the descriptor by which the load gets the pool: the first after the
// standard three.
const poolFD = 3

// The orders that the load takes, one a line.
const (
	orderFill  = "fill"
	orderWalk  = "walk"
	orderTouch = "touch"
)

var errWrongPage = errors.New("a page came back with wrong content")

// A loadResult is what the load answers to an order, one JSON object a line.
type loadResult struct {
	Error string        `json:"error,omitempty"`
	Pages int           `json:"pages"` // touched
	Took  time.Duration `json:"took"`
	// Touching is the time of all touches together, without that of checking pages.
	Touching time.Duration `json:"touching"`
	// Missed are the touches that waited for the device: major faults. Minor are those whose page
	// readahead had brought into the swap cache: minor faults. Waited is the time of the missed
	// ones together, P50 and P99 are of each.
	Missed int           `json:"missed"`
	Minor  int           `json:"minor"`
	Waited time.Duration `json:"waited"`
	P50    time.Duration `json:"p50"`
	P99    time.Duration `json:"p99"`
}

// A swapLoad is memory that does not fit into the limit of its process's control
// group. It belongs to one goroutine, locked to its thread.
type swapLoad struct {
	memory  []byte
	source  *source
	touches []touch
	missed  histogram
	usage   unix.Rusage // scratch
}

// playLoad is the load's process: its arguments are the control group, the workload, the number of
// pages, how many of them an order touches, and a seed.
func playLoad(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 5 {
		return fmt.Errorf("want GROUP WORKLOAD PAGES TOUCHES SEED, have %q", args)
	}
	var numbers [3]int
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.Atoi(args[i+2]); err != nil || numbers[i] < 0 {
			return fmt.Errorf("not a number: %q", args[i+2])
		}
	}
	touches, err := touchesOf(args[1], numbers[0], numbers[1], uint64(numbers[2]))
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	debug.FreeOSMemory()
	debug.SetGCPercent(-1) // a collection would be measured, and touch memory
	load, err := newSwapLoad(args[0], numbers[0], touches)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(loadResult{}); err != nil { // ready
		return fmt.Errorf("answer: %w", err)
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		result, err := load.obey(lines.Text())
		if err != nil {
			result.Error = err.Error()
		}
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return nil
}

// newSwapLoad maps the memory. The process locks its other memory before it joins the group: that
// is neither swapped nor counted there.
func newSwapLoad(group string, pages int, touches []touch) (*swapLoad, error) {
	pool, err := mapPool(poolFD)
	if err != nil {
		return nil, err
	}
	load := &swapLoad{source: newSource(pool), touches: touches}
	if err := unix.Mlockall(unix.MCL_CURRENT); err != nil {
		return nil, fmt.Errorf("lock memory: %w", err)
	}
	protectFromOOM()
	if err := joinGroup(group); err != nil {
		return nil, err
	}
	load.memory, err = unix.Mmap(-1, 0, pages*codec.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map memory: %w", err)
	}
	// Pages one by one, whatever the machine does for others: that is what the
	// targets are about.
	if err := unix.Madvise(load.memory, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("advise memory: %w", err)
	}
	return load, nil
}

// protectFromOOM keeps a shortage of the whole machine from choosing the load, the
// largest process, as far as it is allowed to: lowering the score needs
// CAP_SYS_RESOURCE. That there is memory enough has been checked before.
func protectFromOOM() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("-500"), 0) }

func mapPool(fd int) ([]byte, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("size pool: %w", err)
	}
	pool, err := unix.Mmap(fd, 0, int(stat.Size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map pool: %w", err)
	}
	return pool, nil
}

func (l *swapLoad) obey(order string) (loadResult, error) {
	switch order {
	case orderFill:
		return l.fill(), nil
	case orderWalk:
		return l.walk(maxWalk)
	case orderTouch:
		return l.touchAll()
	}
	return loadResult{}, fmt.Errorf("unknown order %q", order)
}

// page returns the memory of a page.
func (l *swapLoad) page(number int) []byte {
	return l.memory[number*codec.PageSize : (number+1)*codec.PageSize]
}

// pages returns how many pages there are.
func (l *swapLoad) pages() int { return len(l.memory) / codec.PageSize }

func (l *swapLoad) fill() loadResult {
	began := time.Now()
	for number := range l.pages() {
		l.source.write(l.page(number), number)
	}
	return loadResult{Pages: l.pages(), Took: time.Since(began)}
}

// maxWalk is how long a walk may take: without readahead, on a machine whose CPUs are slow to wake
// up, one of 1.5 GiB could take a whole window.
const maxWalk = 25 * time.Second

// walk reads the pages in order and checks each, all of them or as many as the limit of time lets
// it.
func (l *swapLoad) walk(limit time.Duration) (loadResult, error) {
	const between = 256 // pages from one look at the clock to the next
	began := time.Now()
	for number := range l.pages() {
		if number%between == 0 && number > 0 && time.Since(began) >= limit {
			return loadResult{Pages: number, Took: time.Since(began)}, nil
		}
		if !l.source.holds(l.page(number), number) {
			return loadResult{}, fmt.Errorf("walk: page %d: %w", number, errWrongPage)
		}
	}
	return loadResult{Pages: l.pages(), Took: time.Since(began)}, nil
}

// touchAll reads or writes one byte of a page at a time and then, outside of the time that is
// measured, checks the page. Whether the touch waited for the device, the kernel's count of this
// thread's faults says, which is read before and after that time.
func (l *swapLoad) touchAll() (loadResult, error) {
	result := loadResult{Pages: len(l.touches)}
	l.missed = histogram{}
	began, sum := time.Now(), byte(0)
	var err error
	for _, one := range l.touches {
		number := int(one.page)
		page, first := l.page(number), l.source.first(number)
		major, minor, failed := l.faults()
		err = errors.Join(err, failed)
		before := time.Now()
		if one.write {
			page[0] = first
		} else {
			sum ^= page[0]
		}
		took := time.Since(before)
		majorNow, minorNow, failed := l.faults()
		err = errors.Join(err, failed)
		result.Touching += took
		switch {
		case majorNow > major:
			result.Missed++
			result.Waited += took
			l.missed.add(took)
		case minorNow > minor:
			result.Minor++
		}
		if !l.source.holds(page, number) {
			return result, fmt.Errorf("touch: page %d: %w", number, errWrongPage)
		}
	}
	runtime.KeepAlive(sum)
	result.Took = time.Since(began)
	result.P50, result.P99 = l.missed.percentile(0.50), l.missed.percentile(0.99)
	return result, err
}

// faults returns how many times this thread has waited for a device, and how many times it has
// found a page in memory that it did not have mapped.
func (l *swapLoad) faults() (major, minor int64, err error) {
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &l.usage); err != nil {
		return 0, 0, fmt.Errorf("count page faults: %w", err)
	}
	return l.usage.Majflt, l.usage.Minflt, nil
}
