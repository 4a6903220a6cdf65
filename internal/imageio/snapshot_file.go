// SPDX-License-Identifier: Apache-2.0

package imageio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/codec/bulk"
	"github.com/zramfs/zramfs/internal/snapshot"
	"github.com/zramfs/zramfs/internal/term"
)

// errNoFile means that a path does not name a regular file.
var errNoFile = errors.New("not a regular file")

// A snapshotFile reads a snapshot block by block, from the beginning as often as needed, and has
// its objects decompressed. One goroutine uses it.
type snapshotFile struct {
	file      *os.File
	size      int64
	reader    *snapshot.Reader
	algorithm codec.Algorithm // which reads its objects
	runner    *runner
	batch     *bulk.Batch // the objects of the last block
	record    []int       // which record of the block is each of them
	pages     []byte      // of the last block, if they are wanted
}

// openSnapshot opens the snapshot that a file holds.
func openSnapshot(name string) (_ *snapshotFile, err error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is refused, not waited for
	if err != nil {
		return nil, err
	}
	f := &snapshotFile{file: file}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	f.size = info.Size()
	if f.reader, err = snapshot.NewReader(file, f.size); err != nil {
		return nil, err
	}
	if f.algorithm, err = readingAlgorithm(f.reader.Header.Dictionary); err != nil {
		return nil, err
	}
	if f.runner, err = newRunner(f.algorithm, Options{Mode: Off}, snapshot.BlockPages); err != nil {
		return nil, err
	}
	f.batch, f.record = bulk.NewBatch(bulk.Verify, snapshot.BlockPages), make([]int, snapshot.BlockPages)
	f.batch.Slot = make([]uint32, snapshot.BlockPages)
	return f, nil
}

// readingAlgorithm returns an algorithm whose decompressor has a dictionary, if that is not empty.
func readingAlgorithm(dictionary []byte) (codec.Algorithm, error) {
	if len(dictionary) == 0 {
		return codec.Parse("lz4")
	}
	const name = "snapshot"
	a, err := codec.Parse("zstd(dict=" + name + ")")
	if err != nil {
		return a, err
	}
	return a.WithDictionary(name, dictionary)
}

func (f *snapshotFile) close() error {
	f.runner.close()
	return f.file.Close()
}

// rewind goes back to the beginning.
func (f *snapshotFile) rewind() (err error) {
	f.reader, err = snapshot.NewReader(f.file, f.size)
	return err
}

// want has each keep the pages of a block.
func (f *snapshotFile) want() {
	f.pages = make([]byte, snapshot.BlockPages*pageSize)
	f.batch.Op, f.batch.Pages = bulk.Decompress, f.pages
}

// each passes all blocks to done, and the file's bytes to p. With read it proves that each object
// can be read. All that is damaged is a DamageError.
func (f *snapshotFile) each(ctx context.Context, read bool, p term.Steps, done func(*snapshot.Block) error) error {
	for at := int64(0); ; at = f.reader.Offset() {
		b, err := f.reader.Next()
		if errors.Is(err, io.EOF) {
			return p.Add(uint64(f.size - at))
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && read {
			err = f.read(ctx, b)
		}
		if err == nil {
			err = done(b)
		}
		if err == nil {
			err = p.Add(uint64(f.reader.Offset() - at))
		}
		if err != nil {
			return err
		}
	}
}

// read decompresses the objects of a block.
func (f *snapshotFile) read(ctx context.Context, b *snapshot.Block) error {
	q := f.batch
	q.N, q.Regions = 0, [][]byte{b.Data}
	clear(f.pages)
	for i, id := range b.ID {
		if id == codec.None {
			if f.pages != nil {
				fillPage(f.pages[int(b.Page[i])*pageSize:][:pageSize], b.Word(i))
			}
			continue
		}
		q.ID[q.N], q.Offset[q.N], q.Length[q.N], q.Slot[q.N] = id, b.At[i], b.Length[i], b.Page[i]
		f.record[q.N] = i
		q.N++
	}
	if err := f.runner.run(ctx, q); err != nil {
		return err
	}
	if f.pages != nil {
		f.pages = q.Pages // run may have taken others
	}
	for n, v := range q.Verdict[:q.N] {
		if v != bulk.Done {
			i := f.record[n]
			page := b.First + uint64(b.Page[i])
			return &snapshot.DamageError{Offset: b.ObjectOffset(i), Page: page, What: fmt.Sprintf("the object of page %d cannot be read: %s", page, v)}
		}
	}
	return nil
}
