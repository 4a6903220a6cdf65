// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zramfs/zramfs/internal/memproc"

	"github.com/zramfs/zramfs/internal/procpages"
)

// numberedFile makes a file whose pages begin with their numbers, with rest bytes of 0xff after
// them.
func numberedFile(t *testing.T, pages, rest int) string {
	t.Helper()
	memory := make([]byte, pages*pageSize)
	for i := range pages {
		binary.LittleEndian.PutUint64(memory[i*pageSize:], uint64(i))
	}
	path := filepath.Join(t.TempDir(), "pages")
	if err := os.WriteFile(path, append(memory, bytes.Repeat([]byte{0xff}, rest)...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSampleFileIsSpreadEvenly(t *testing.T) {
	for _, test := range []struct {
		pages, limit int
		want         []uint64
	}{
		{4, 10, []uint64{0, 1, 2, 3}}, {4, 4, []uint64{0, 1, 2, 3}}, {12, 4, []uint64{0, 3, 6, 9}}, {10, 3, []uint64{0, 3, 6}}, {5, 1, []uint64{0}},
	} {
		s, err := sampleFile(numberedFile(t, test.pages, 0), test.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for page := range slices.Chunk(s.Pages, pageSize) {
			got = append(got, binary.LittleEndian.Uint64(page))
		}
		if !slices.Equal(got, test.want) || s.Total != int64(test.pages) {
			t.Errorf("%d of %d pages: %d of %d, want %d", test.limit, test.pages, got, s.Total, test.want)
		}
	}
}

// The missing part of the last page counts as zeros.
func TestSampleFileFillsTheLastPage(t *testing.T) {
	s, err := sampleFile(numberedFile(t, 2, 10), 100)
	if err != nil {
		t.Fatal(err)
	}
	last := s.Pages[2*pageSize:]
	want := append(bytes.Repeat([]byte{0xff}, 10), make([]byte, pageSize-10)...)
	if s.Total != 3 || !bytes.Equal(last, want) {
		t.Errorf("%d pages, the last %x", s.Total, last[:20])
	}
}

func TestSampleOfWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, empty := filepath.Join(dir, "pipe"), filepath.Join(dir, "empty")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "neither a file", pipe: "neither a file", "/dev/zero": "neither a file", empty: "is empty",
		filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := sampleFile(path, 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// The largest sample of the largest file does not overflow.
func TestPageNumber(t *testing.T) {
	const total = math.MaxInt64 / pageSize
	const count = 4 << 30 / pageSize
	last := int64(-1)
	for _, i := range []int64{0, 1, count / 2, count - 2, count - 1} {
		n := pageNumber(i, count, total)
		if n <= last || n >= total {
			t.Errorf("page %d of %d is %d of %d, after %d", i, count, n, total, last)
		}
		last = n
	}
	if last < total/count*(count-1) {
		t.Errorf("the last is %d of %d", last, total)
	}
}

// A process that has ended is left out if all processes were asked for, and is an error if it was
// named.
func TestSampleWithoutAProcessThatEnded(t *testing.T) {
	pid, _ := memproc.Start(t)
	gone, end := memproc.Start(t)
	end()
	s, err := sampler{limit: 1000, all: true, time: time.Minute}.sampleProcesses(t.Context(), []int{gone, pid})
	if err != nil || s.Looked != 1 || s.Count() < 500 {
		t.Errorf("%d processes, %d pages, %v", s.Looked, s.Count(), err)
	}
	_, err = sampler{limit: 1000, time: time.Minute}.sampleProcesses(t.Context(), []int{gone, pid})
	if err == nil || !strings.Contains(err.Error(), "there is no process") {
		t.Errorf("a named process that is gone: %v", err)
	}
}

// After TimeLimit, processes not reached are counted, and a sample without pages is an error.
func TestSampleOutOfTime(t *testing.T) {
	pid, _ := memproc.Start(t)
	s, err := sampler{limit: 1000, all: true, time: 0}.sampleProcesses(t.Context(), []int{pid})
	if err == nil || s.Left.Late != 1 {
		t.Errorf("%+v, %v", s.Left, err)
	}
}

func TestSampleWithoutPages(t *testing.T) {
	for _, test := range []struct {
		left LeftOut
		want string
	}{
		{LeftOut{}, "no resident anonymous pages"}, {LeftOut{Denied: 2, Gone: 1}, "may be read"}, {LeftOut{Late: 1}, "in time"},
		{LeftOut{Gone: 1, Late: 1}, procpages.ErrGone.Error()},
	} {
		if err := (Sample{Left: test.left}).check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.left, err, test.want)
		}
	}
}

func TestAllProcessesLeavesOutThisOne(t *testing.T) {
	pids, err := allProcesses()
	if err != nil || slices.Contains(pids, os.Getpid()) || !slices.Contains(pids, os.Getppid()) {
		t.Errorf("%d, %v: without %d, with %d", pids, err, os.Getpid(), os.Getppid())
	}
}

// Generated pages are the same each time, and none is same-filled.
func TestGeneratedSample(t *testing.T) {
	a, b := Generate(100), Generate(100)
	if !slices.Equal(a.Pages, b.Pages) || a.Count() != 100 {
		t.Error("not the same twice")
	}
	if _, same := WithoutSameFilled(a.Pages); same != 0 {
		t.Errorf("%d pages are same-filled", same)
	}
}
