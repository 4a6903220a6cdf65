// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"github.com/zramfs/zramfs/cmd/zramfs/term"
	"github.com/zramfs/zramfs/procpages"
)

// sampleTime bounds how long processes are looked through. Measured, 1.5 GiB in small pages took
// 0.12 s.
const sampleTime = time.Minute

// A pageSample is pages to measure, and what they stand for. Immutable once made.
type pageSample struct {
	pages   []byte // whole pages, one after the other
	total   int64  // pages that there were to choose from
	source  string // for people
	swapped int64  // bytes that the sampled processes have in swap, which were not looked at
	looked  int    // processes that were sampled
	left    leftOut
}

// leftOut counts processes that had memory but are not, or not wholly, in a sample.
type leftOut struct {
	Denied int `json:"not_permitted"`
	Gone   int `json:"ended"`
	Late   int `json:"not_reached"` // there was no time
}

// count returns the number of pages in the sample.
func (s pageSample) count() int { return len(s.pages) / pageSize }

// sampleFile returns at most limit pages of a file, spread evenly. What is in the last page behind
// the end of the file counts as zeros, as it does when a file is mapped.
func sampleFile(path string, limit int) (s pageSample, err error) {
	info, err := os.Stat(path) // before opening: a pipe would be waited for
	if err != nil {
		return s, err
	}
	if mode := info.Mode(); !mode.IsRegular() && (mode&fs.ModeDevice == 0 || mode&fs.ModeCharDevice != 0) {
		return s, fmt.Errorf("%s is neither a file nor a block device", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Seek(0, io.SeekEnd) // a block device has no size in its Stat
	if err != nil {
		return s, err
	}
	if size == 0 {
		return s, fmt.Errorf("%s is empty", path)
	}
	s.source = path
	s.total = (size + pageSize - 1) / pageSize
	count := min(int64(limit), s.total)
	s.pages = make([]byte, count*pageSize)
	for i := range count {
		at := pageNumber(i, count, s.total) * pageSize
		page := s.pages[i*pageSize : (i+1)*pageSize]
		if _, err := f.ReadAt(page[:min(pageSize, size-at)], at); err != nil {
			return s, fmt.Errorf("read %s at %d: %w", path, at, err)
		}
	}
	return s, nil
}

// pageNumber is which of total pages the i-th of count is, evenly spread. The product of the
// largest numbers that there are, a sample of 4 GiB from 8 EiB, needs more than 64 bits, so it is
// taken apart.
func pageNumber(i, count, total int64) int64 {
	return i*(total/count) + i*(total%count)/count
}

// sampler samples processes.
type sampler struct {
	limit    int           // pages at most
	all      bool          // the processes were not named: one that cannot be looked into is left out, and no error
	time     time.Duration // at most
	terminal io.Writer     // where progress is shown, if it is one
}

// sampleProcesses returns pages of processes, spread evenly over all that they have resident. A
// process that ends meanwhile is no error as long as something is left.
func (p sampler) sampleProcesses(ctx context.Context, pids []int) (pageSample, error) {
	ctx, cancel := context.WithTimeout(ctx, p.time)
	defer cancel()
	counts, expected, s, err := p.count(pids)
	if err != nil {
		return s, err
	}
	sample := procpages.NewSample(p.limit, expected/pageSize, rand.Float64())
	show := term.NewSteps(p.terminal, "looking through memory", expected)
	for _, c := range counts {
		err := context.Cause(ctx)
		if err == nil {
			err = sample.Add(ctx, c.pid)
		}
		switch {
		case err == nil:
			s.looked++
			s.swapped += c.Swapped
		case errors.Is(err, procpages.ErrGone):
			s.left.Gone++
		case errors.Is(err, context.DeadlineExceeded):
			s.left.Late++
		case p.all && errors.Is(err, fs.ErrPermission):
			s.left.Denied++
		case errors.Is(err, fs.ErrPermission):
			return s, fmt.Errorf("%w; it takes root, or CAP_SYS_PTRACE", err)
		default:
			return s, err
		}
		if err := show.Add(uint64(c.Resident)); err != nil {
			return s, err
		}
	}
	s.pages, s.total = sample.Pages(), sample.Seen()
	return s, errors.Join(s.check(), show.End())
}

// counted is a process and what the kernel counts in it.
type counted struct {
	procpages.Count
	pid int
}

// count returns the processes that have resident anonymous memory, and how many bytes together.
func (p sampler) count(pids []int) (counts []counted, expected int64, s pageSample, err error) {
	for _, pid := range pids {
		c, err := procpages.CountOf(pid)
		switch {
		case errors.Is(err, procpages.ErrGone) && p.all: // it ended before it was looked at
		case errors.Is(err, procpages.ErrGone):
			return nil, 0, s, fmt.Errorf("there is no process %d", pid)
		case err != nil:
			return nil, 0, s, err
		case c.Resident > 0:
			counts = append(counts, counted{c, pid})
			expected += c.Resident
		}
	}
	s.source = "all processes"
	if !p.all {
		s.source = processWords(pids)
	}
	return counts, expected, s, nil
}

// check refuses a sample without pages, and says why it has none.
func (s pageSample) check() error {
	switch {
	case s.count() > 0:
		return nil
	case s.left.Denied > 0:
		return errors.New("no process may be looked into: it takes root, or CAP_SYS_PTRACE")
	case s.left.Gone > 0:
		return procpages.ErrGone
	case s.left.Late > 0:
		return errors.New("there was no time to look at anything")
	}
	return errors.New("there are no resident anonymous pages")
}

// allProcesses returns all processes but this one, whose memory is about to end.
func allProcesses() ([]int, error) {
	pids, err := procpages.Processes()
	if err != nil {
		return nil, err
	}
	var others []int
	for _, pid := range pids {
		if pid != os.Getpid() {
			others = append(others, pid)
		}
	}
	return others, nil
}

// processWords names processes for people.
func processWords(pids []int) string {
	if len(pids) == 1 {
		return fmt.Sprintf("process %d", pids[0])
	}
	return fmt.Sprintf("%d processes", len(pids))
}
