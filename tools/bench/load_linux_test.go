// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
	"github.com/zramfs/zramfs/internal/require"
)

const testSize = 16 << 20

// testPool makes a page file of generated pages and loads it.
func testPool(t *testing.T) *pool {
	t.Helper()
	return poolOf(t, 2*mebibyte/codec.PageSize)
}

// poolOf loads a page file of n pages.
func poolOf(t *testing.T, n int) *pool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pages.zpg")
	memory := bytes.Join(pages.Mix(n, 5), nil)
	if err := pagefile.Save(path, []pagefile.Program{{Name: "mix", Pages: memory}}); err != nil {
		t.Fatal(err)
	}
	t.Setenv(pagefile.Variable, path)
	pool, err := loadPool()
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// A page file may have any number of pages: those beyond the last whole mebibyte are left out.
func TestPoolOfNoWholeMebibytes(t *testing.T) {
	for _, rest := range []int{1, 255} {
		p := poolOf(t, mebibyte/codec.PageSize+rest)
		if p.pages() != mebibyte/codec.PageSize {
			t.Errorf("%d pages of one mebibyte and %d pages", p.pages(), rest)
		}
		file, err := p.share()
		if err != nil {
			t.Fatal(err)
		}
		if info, err := file.Stat(); err != nil || info.Size() != mebibyte {
			t.Errorf("%d bytes are shared, %v", info.Size(), err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// emptyFile makes a sparse file that stands for a device.
func emptyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, testSize); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every writing workload writes whole pages of the pool and nothing else, all over
// the device.
func TestWriteLoadWritesRealPages(t *testing.T) {
	pool := testPool(t)
	known := map[string]bool{string(make([]byte, codec.PageSize)): true}
	for at := 0; at < len(pool.memory); at += codec.PageSize {
		known[string(pool.memory[at:at+codec.PageSize])] = true
	}
	for _, work := range workloads() {
		if !work.write {
			continue
		}
		t.Run(work.String(), func(t *testing.T) {
			path := emptyFile(t)
			got, err := writeLoad(t.Context(), path, testSize, work, pool, 300*time.Millisecond, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got.Requests < 1 || got.Bytes != got.Requests*float64(work.block) || got.P50 <= 0 || got.P99 < got.P50 {
				t.Errorf("figures %+v", got)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			written := map[int]int{}
			for at := 0; at < testSize; at += codec.PageSize {
				page := data[at : at+codec.PageSize]
				if !known[string(page)] {
					t.Fatalf("the page at %d is not one of the pool's", at)
				}
				if page[0] != 0 {
					written[at*4/testSize]++
				}
			}
			if len(written) != 4 && got.Bytes*0.3 > 2*testSize {
				t.Errorf("pages written by quarter of the device: %v", written)
			}
		})
	}
}

// The fill puts the pool's pages on the device in order, again and again.
func TestFill(t *testing.T) {
	pool := testPool(t)
	path := emptyFile(t)
	if err := fill(t.Context(), path, testSize, pool); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat(pool.memory, testSize/len(pool.memory)); !bytes.Equal(data, want) {
		t.Error("the device does not hold the pool's pages in order")
	}
}

// An interrupt ends a load at once, with an error and no figure.
func TestInterruptEndsLoad(t *testing.T) {
	pool := testPool(t)
	for _, work := range workloads() {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began := time.Now()
		bench := &benchmark{size: testSize, pool: pool, opts: options{runtime: time.Minute}}
		if !work.write {
			require.Command(t, "fio")
		}
		got, err := bench.measure(ctx, &device{path: emptyFile(t)}, work, 1)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || got != (figure{}) {
			t.Errorf("%s: %+v, %v", work, got, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: ended after %v", work, took)
		}
	}
}

// Errors of the device come back as errors.
func TestWriteErrors(t *testing.T) {
	pool := testPool(t)
	path := emptyFile(t)
	for _, work := range workloads() {
		if !work.write {
			continue
		}
		_, err := writeLoad(t.Context(), filepath.Join(path, "absent"), testSize, work, pool, time.Second, 1)
		if !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("%s on no device: %v", work, err)
		}
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	load := &load{pool: pool, fd: fd, size: testSize}
	for _, depth := range []int{0, 4} {
		load.workload = workload{write: true, random: true, block: 4096, depth: depth, jobs: 1}
		reader := &job{load: load, rng: testRandom()}
		if err := reader.run(time.Now().Add(time.Second)); !errors.Is(err, unix.EBADF) {
			t.Errorf("depth %d: writing to what was opened for reading: %v", depth, err)
		}
	}
}

// A completion that is an error, or short, is an error.
func TestAsyncCompletionErrors(t *testing.T) {
	pool := testPool(t)
	path := emptyFile(t)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	writer, err := newAsyncWriter(fd, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := writer.close(); err != nil {
			t.Error(err)
		}
	}()
	// An address that is not aligned is refused by O_DIRECT, when the write is
	// submitted or when it completes.
	_, err = writer.submit(pool.address+1, 4096, 0)
	if err == nil {
		_, err = writer.collect(4096)
	}
	if !errors.Is(err, unix.EINVAL) {
		t.Errorf("an unaligned write: %v", err)
	}
	slot, err := writer.submit(pool.address, 4096, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := writer.collect(8192); err == nil || !strings.Contains(err.Error(), "4096 bytes of 8192") {
		t.Errorf("a short write: slot %d of %d, %v", got, slot, err)
	}
	if writer.inFlight() != 0 {
		t.Errorf("%d writes are in flight", writer.inFlight())
	}
}

// The measured loops allocate nothing.
func TestLoadAllocatesNothing(t *testing.T) {
	pool := testPool(t)
	fd, err := unix.Open(emptyFile(t), unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	work := workload{write: true, random: true, block: 4096, depth: 4, jobs: 1}
	job := &job{load: &load{workload: work, pool: pool, fd: fd, size: testSize}, rng: testRandom()}
	writer, err := newAsyncWriter(fd, work.depth)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.close()
	allocs := testing.AllocsPerRun(200, func() {
		address, offset := job.place()
		if _, err := writer.submit(address, work.block, offset); err != nil {
			t.Error(err)
		}
		if _, err := writer.collect(work.block); err != nil {
			t.Error(err)
		}
		job.done.add(time.Since(time.Now()))
	})
	if allocs != 0 {
		t.Errorf("%v allocations a write", allocs)
	}
}

// fio reads a device and its figures are taken over.
func TestReadLoad(t *testing.T) {
	require.Command(t, "fio")
	path := emptyFile(t)
	for _, work := range workloads() {
		if work.write {
			continue
		}
		got, err := readLoad(t.Context(), path, testSize, work, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if got.Requests < 1 || got.P50 <= 0 || got.P99 < got.P50 || got.Bytes/got.Requests < float64(work.block)*0.9 || got.Bytes/got.Requests > float64(work.block)*1.1 {
			t.Errorf("%s: %+v", work, got)
		}
	}
	if _, err := readLoad(t.Context(), path+".absent", testSize, workloads()[0], time.Second); err == nil {
		t.Error("reading what is not there gives figures")
	}
}

func TestPoolNeedsPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.zpg")
	t.Setenv(pagefile.Variable, path)
	if _, err := loadPool(); err == nil || !strings.Contains(err.Error(), "go run ./tools/pagesample") {
		t.Errorf("without a file: %v", err)
	}
	if err := pagefile.Save(path, []pagefile.Program{{Name: "few", Pages: make([]byte, codec.PageSize)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := loadPool(); !errors.Is(err, errFewPages) {
		t.Errorf("with one page: %v", err)
	}
}
