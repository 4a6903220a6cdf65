// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

const pageSize = pages.PageSize

// The parts that a worker takes at a time: pages to generate, and bytes to copy.
const (
	pageGrain = 64
	copyGrain = 1 << 20
)

// A source supplies pages, from a file or a generator.
type source struct{ sample []byte }

func newSource(file string) (source, error) {
	if file == "" {
		return source{}, nil
	}
	programs, err := pagefile.Load(file)
	if err != nil {
		return source{}, err
	}
	var s source
	for _, p := range programs {
		for at := 0; at < len(p.Pages); at += pageSize {
			if page := p.Pages[at : at+pageSize]; !sameFilled(page) {
				s.sample = append(s.sample, page...)
			}
		}
	}
	if len(s.sample) == 0 {
		return s, errors.New("the file has only same-filled pages")
	}
	return s, nil
}

// name describes the pages.
func (s source) name() string {
	if s.sample == nil {
		return "generated"
	}
	return "sampled"
}

// sameFilled reports whether a page is one word of eight bytes, repeated.
func sameFilled(page []byte) bool { return bytes.Equal(page[8:], page[:len(page)-8]) }

// fill fills dst with pages; generated ones differ for each seed.
func (s source) fill(dst []byte, seed uint64) {
	n := len(dst) / pageSize
	inParallel(n, pageGrain, func(from, to int) error {
		if s.sample != nil {
			for i := from; i < to; i++ {
				at := (i + int(seed)*n) % (len(s.sample) / pageSize) * pageSize
				copy(dst[i*pageSize:(i+1)*pageSize], s.sample[at:])
			}
			return nil
		}
		for stream := seed<<32 + uint64(from)<<8; from < to; stream++ {
			for _, page := range pages.Mix(to-from, stream) {
				if from < to && !sameFilled(page) {
					copy(dst[from*pageSize:], page)
					from++
				}
			}
		}
		return nil
	})
}

// inParallel calls do on parts of 0 to n on all cores. The first error ends it.
func inParallel(n, grain int, do func(from, to int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), (n+grain-1)/grain)
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for !failed.Load() {
				to := int(next.Add(int64(grain)))
				from := to - grain
				if from >= n {
					return
				}
				if errs[w] = do(from, min(to, n)); errs[w] != nil {
					failed.Store(true)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pagesEqual returns an error if the pages differ.
func pagesEqual(got, want []byte) error {
	return inParallel(len(want)/pageSize, pageGrain, func(from, to int) error {
		for i := from; i < to; i++ {
			if at := i * pageSize; !bytes.Equal(got[at:at+pageSize], want[at:at+pageSize]) {
				return wrongPage(i)
			}
		}
		return nil
	})
}
