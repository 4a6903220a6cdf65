// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"github.com/zramfs/zramfs/codec/pagescan"
	"github.com/zramfs/zramfs/internal/procpages"
	"github.com/zramfs/zramfs/internal/term"
)

const pageSize = 4096 // bytes

// TimeLimit is the longest time for which processes are read. 1.5 GiB in small pages took 0.12 s.
const TimeLimit = time.Minute

// A Sample is pages to measure and the memory or file that they represent. It is immutable.
type Sample struct {
	Pages   []byte // whole pages, one after the other
	Total   int64  // pages of the source
	Source  string // its name in a report
	Swapped int64  // bytes that the sampled processes have in swap, not read
	Looked  int    // number of processes sampled
	Left    LeftOut
}

// LeftOut counts processes with memory that are not, or not wholly, in a sample.
type LeftOut struct {
	Denied int `json:"not_permitted"` // processes that the command may not look at
	Gone   int `json:"ended"`         // processes that ended during the sampling
	Late   int `json:"not_reached"`   // TimeLimit ended before
}

// Count returns the number of pages in the sample.
func (s Sample) Count() int { return len(s.Pages) / pageSize }

// sampleFile returns at most limit pages of a file, spread evenly. The last page is padded with
// zeros, as in a mapping of the file.
func sampleFile(path string, limit int) (s Sample, err error) {
	f, size, err := open(path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if size == 0 {
		return s, fmt.Errorf("%s is empty", path)
	}
	s.Source = path
	s.Total = (size + pageSize - 1) / pageSize
	count := min(int64(limit), s.Total)
	s.Pages = make([]byte, count*pageSize)
	for i := range count {
		at := pageNumber(i, count, s.Total) * pageSize
		page := s.Pages[i*pageSize : (i+1)*pageSize]
		if _, err := f.ReadAt(page[:min(pageSize, size-at)], at); err != nil {
			return s, fmt.Errorf("read %s at %d: %w", path, at, err)
		}
	}
	return s, nil
}

// open opens a file or a block device, and returns its size.
func open(path string) (f *os.File, size int64, err error) {
	info, err := os.Stat(path) // before opening, which would wait for a pipe
	if err != nil {
		return nil, 0, err
	}
	if mode := info.Mode(); !mode.IsRegular() && (mode&fs.ModeDevice == 0 || mode&fs.ModeCharDevice != 0) {
		return nil, 0, fmt.Errorf("%s is neither a file nor a block device", path)
	}
	if f, err = os.Open(path); err != nil {
		return nil, 0, err
	}
	if size, err = f.Seek(0, io.SeekEnd); err != nil { // a block device has no size in its Stat
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// pageNumber is the number of the i-th of count pages spread evenly over total. The product i*total
// may need more than 64 bits (a sample of 4 GiB from 8 EiB), hence the two terms.
func pageNumber(i, count, total int64) int64 {
	return i*(total/count) + i*(total%count)/count
}

// sampler samples processes.
type sampler struct {
	limit    int           // pages at most
	all      bool          // all processes: unreadable ones are left out
	time     time.Duration // limit
	terminal io.Writer     // shows the progress, if it is a terminal
}

// sampleProcesses returns pages of processes, spread evenly over their resident memory. A process
// may end before it is read, as long as other pages are left.
func (p sampler) sampleProcesses(ctx context.Context, pids []int) (Sample, error) {
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
			s.Looked++
			s.Swapped += c.Swapped
		case errors.Is(err, procpages.ErrGone):
			s.Left.Gone++
		case errors.Is(err, context.DeadlineExceeded):
			s.Left.Late++
		case p.all && errors.Is(err, fs.ErrPermission):
			s.Left.Denied++
		case errors.Is(err, fs.ErrPermission):
			return s, fmt.Errorf("%w; run as root or with CAP_SYS_PTRACE", err)
		default:
			return s, err
		}
		if err := show.Add(uint64(c.Resident)); err != nil {
			return s, err
		}
	}
	s.Pages, s.Total = sample.Pages(), sample.Seen()
	return s, errors.Join(s.check(), show.End())
}

// counted is a process and the memory that the kernel counts in it.
type counted struct {
	procpages.Count
	pid int
}

// count returns the processes that have resident anonymous memory, and their bytes together.
func (p sampler) count(pids []int) (counts []counted, expected int64, s Sample, err error) {
	for _, pid := range pids {
		c, err := procpages.CountOf(pid)
		switch {
		case errors.Is(err, procpages.ErrGone) && p.all: // it has ended
		case errors.Is(err, procpages.ErrGone):
			return nil, 0, s, fmt.Errorf("there is no process %d", pid)
		case err != nil:
			return nil, 0, s, err
		case c.Resident > 0:
			counts = append(counts, counted{c, pid})
			expected += c.Resident
		}
	}
	s.Source = "all processes"
	if !p.all {
		s.Source = processWords(pids)
	}
	return counts, expected, s, nil
}

// check returns the reason why a sample has no pages, as an error.
func (s Sample) check() error {
	switch {
	case s.Count() > 0:
		return nil
	case s.Left.Denied > 0:
		return errors.New("no process may be read; run as root or with CAP_SYS_PTRACE")
	case s.Left.Gone > 0:
		return procpages.ErrGone
	case s.Left.Late > 0:
		return errors.New("no process could be read in time")
	}
	return errors.New("no resident anonymous pages")
}

// allProcesses returns all processes but this one, whose memory ends soon.
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

// processWords names processes in a report.
func processWords(pids []int) string {
	if len(pids) == 1 {
		return fmt.Sprintf("process %d", pids[0])
	}
	return fmt.Sprintf("%d processes", len(pids))
}

// WithoutSameFilled returns the pages that the store would hand to a codec, and the number of the
// others, which are one repeated word. The slices point into pages.
func WithoutSameFilled(pages []byte) (other [][]byte, same int) {
	for at := 0; at+pageSize <= len(pages); at += pageSize {
		page := pages[at : at+pageSize : at+pageSize]
		if _, ok := pagescan.SameFilled(page); ok {
			same++
			continue
		}
		other = append(other, page)
	}
	return other, same
}
