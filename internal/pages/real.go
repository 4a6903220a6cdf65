// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"sync"
	"testing"

	"github.com/zramfs/zramfs/internal/pages/pagefile"
	"github.com/zramfs/zramfs/internal/require"
)

// loaded holds the real pages of this process. Tests share them, because a page
// file is tens of megabytes.
var loaded struct {
	once  sync.Once
	pages [][]byte
	err   error
}

// Real returns the sampled pages of the file that pagefile.Find names, each of
// PageSize bytes, in file order. Without such a file it skips the test, or fails
// it where the environment demands "pages" (see package require); a file that is
// there and damaged fails it always.
//
// The file is read once in a process: callers share the pages and must not write
// to them. Real may be called from several goroutines.
func Real(tb testing.TB) [][]byte {
	tb.Helper()
	require.Pages(tb)
	loaded.once.Do(func() { loaded.pages, loaded.err = readAll() })
	if loaded.err != nil {
		tb.Fatalf("%v (fix: go run ./tools/pagesample)", loaded.err)
	}
	return loaded.pages
}

func readAll() ([][]byte, error) {
	path, err := pagefile.Find()
	if err != nil {
		return nil, err
	}
	programs, err := pagefile.Load(path)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, program := range programs {
		for at := 0; at < len(program.Pages); at += PageSize {
			all = append(all, program.Pages[at:at+PageSize:at+PageSize])
		}
	}
	return all, nil
}
