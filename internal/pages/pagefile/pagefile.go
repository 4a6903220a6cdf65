// SPDX-License-Identifier: Apache-2.0

package pagefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// PageSize is the size of a page in bytes, on every machine.
const PageSize = 4096

// MaxPages is the number of pages that a file may hold at most (4 GiB).
const MaxPages = 1 << 20

// ErrFormat means that a file is no page file, is of another version, or is
// damaged; the error that wraps it says which.
var ErrFormat = errors.New("not a valid page file")

// A Program is one sampled program.
type Program struct {
	// Name tells the program from the others, as "python" or "gcc"; 1 to 255
	// bytes.
	Name string
	// Pages holds whole pages, one after another: its length is a multiple of
	// PageSize.
	Pages []byte
}

// Count returns the number of pages.
func (p Program) Count() int { return len(p.Pages) / PageSize }

// Info is what a file's header tells.
type Info struct {
	// Names holds the programs' names in file order.
	Names []string
	// Counts holds the number of pages of the program at the same index.
	Counts []int
	// Pages is the sum of Counts.
	Pages int
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save writes the programs to path, and its directory when that is missing. It
// replaces a file at path only when everything has been written; the file is
// readable by its owner alone, because it holds memory of programs.
func Save(path string, programs []Program) error {
	head, err := encodeHeader(programs)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("save pages: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("save pages: %w", err)
	}
	if err := errors.Join(writeAll(file, head, programs), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("save %s: %w", path, err), os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(fmt.Errorf("save pages: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// Load reads a whole file and checks it. Its pages lie in one allocation.
func Load(path string) ([]Program, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load pages: %w", err)
	}
	programs, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return programs, nil
}

// Inspect reads a file's header, and checks that the file is as long as it says.
// It does not read the pages.
func Inspect(path string) (Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return Info{}, fmt.Errorf("inspect pages: %w", err)
	}
	defer file.Close()
	info, err := inspect(file)
	if err != nil {
		return Info{}, fmt.Errorf("inspect %s: %w", path, err)
	}
	return info, nil
}

func inspect(file *os.File) (Info, error) {
	stat, err := file.Stat()
	if err != nil {
		return Info{}, err
	}
	head := make([]byte, min(stat.Size(), maxHeader))
	if _, err := io.ReadFull(file, head); err != nil {
		return Info{}, err
	}
	info, length, err := decodeHeader(head)
	if err != nil {
		return Info{}, err
	}
	if want := fileSize(length, info.Pages); stat.Size() != want {
		return Info{}, fmt.Errorf("%w: %d bytes where the header says %d", ErrFormat, stat.Size(), want)
	}
	return info, nil
}

func writeAll(file *os.File, head []byte, programs []Program) error {
	sum := crc32.New(castagnoli)
	buffered := bufio.NewWriter(file)
	out := io.MultiWriter(buffered, sum)
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, program := range programs {
		if _, err := out.Write(program.Pages); err != nil {
			return err
		}
	}
	if err := binary.Write(buffered, binary.LittleEndian, sum.Sum32()); err != nil {
		return err
	}
	return buffered.Flush()
}

func decode(data []byte) ([]Program, error) {
	info, length, err := decodeHeader(data)
	if err != nil {
		return nil, err
	}
	if want := fileSize(length, info.Pages); int64(len(data)) != want {
		return nil, fmt.Errorf("%w: %d bytes where the header says %d", ErrFormat, len(data), want)
	}
	body, trailer := data[:len(data)-trailerSize], data[len(data)-trailerSize:]
	if sum, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(trailer); sum != want {
		return nil, fmt.Errorf("%w: checksum %08x where the file says %08x", ErrFormat, sum, want)
	}
	programs := make([]Program, len(info.Names))
	pages := body[length:]
	for i, name := range info.Names {
		size := info.Counts[i] * PageSize
		programs[i] = Program{Name: name, Pages: pages[:size:size]}
		pages = pages[size:]
	}
	return programs, nil
}
