// SPDX-License-Identifier: Apache-2.0

package chronicle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/internal/safeopen"
)

// The file: a header of 4096 bytes, then for each of MaxDevices its rows of tiers 1 and 2, each at
// its step's number modulo the tier's rows. All numbers are little-endian.
//
//	header   magic, 4 zero bytes, MaxDevices names of nameSize bytes each, filled with zeros
//	row      int64 time in seconds, Fields float32, uint32 CRC-32C of what is before it
const (
	magic      = "zramfs history 1\n\x00\x00\x00"
	headerSize = 4096
	namesAt    = 64
	nameSize   = 480
	rowSize    = 8 + 4*int(Fields) + 4
)

// ErrInUse means that another process writes the file.
var ErrInUse = errors.New("another process has it open: name another file with --history")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A file is the part of a chronicle that survives the process.
type file struct{ f *os.File }

// deviceSize is the size of a device's rows, and fileSize that of the file, 1.5 MiB.
func deviceSize() int64 {
	n := 0
	for _, t := range tiers[1:] {
		n += t.rows * rowSize
	}
	return int64(n)
}

func fileSize() int64 { return headerSize + MaxDevices*deviceSize() }

// openFile opens or makes the file, with its directory, readable by its owner only. It refuses a
// file of another user, whose directory it may be.
func openFile(path string) (_ *file, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	f, err := safeopen.OpenOwn(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW)
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the history %s: %w", path, err), f.Close())
		}
	}()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, ErrInUse
	}
	return &file{f}, begin(f)
}

// begin makes f a history unless it is one. It refuses another kind of file.
func begin(f *os.File) error {
	header := make([]byte, headerSize)
	n, err := f.ReadAt(header, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// A machine that lost power before the disk had the header left a file of the right size.
	lost := info.Size() == fileSize() && bytes.Equal(header, make([]byte, headerSize))
	if n > 0 && !lost && !bytes.HasPrefix(header[:n], []byte("zramfs history ")) {
		return errors.New("it is another kind of file")
	}
	if bytes.HasPrefix(header, []byte(magic)) && info.Size() == fileSize() {
		return nil
	}
	if err := errors.Join(f.Truncate(0), f.Truncate(fileSize())); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(magic), 0)
	return err
}

func (f *file) close() error { return f.f.Close() }

// name notes the name of device n, and forgets the rows of the device before it.
func (f *file) name(n int, name string) error {
	text := make([]byte, nameSize)
	copy(text, name)
	_, err := f.f.WriteAt(text, namesAt+int64(n)*nameSize)
	if err != nil {
		return err
	}
	_, err = f.f.WriteAt(make([]byte, deviceSize()), headerSize+int64(n)*deviceSize())
	return err
}

// offset is the place of a row.
func offset(n, tierNumber int, at time.Time) int64 {
	t := tiers[tierNumber]
	place := headerSize + int64(n)*deviceSize()
	for _, before := range tiers[1:tierNumber] {
		place += int64(before.rows * rowSize)
	}
	return place + at.Unix()/int64(t.step/time.Second)%int64(t.rows)*int64(rowSize)
}

// write writes the row of a step. The kernel writes it to the disk when it likes.
func (f *file) write(n int, d *device, tierNumber int, r Row) error {
	if len(d.name) > nameSize {
		return nil // it could not be told from another
	}
	_, err := f.f.WriteAt(encode(r), offset(n, tierNumber, r.Time))
	return err
}

// encode returns the bytes of a row.
func encode(r Row) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, rowSize), uint64(r.Time.Unix()))
	for _, v := range r.Values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decode returns the row in b; false where there is none, or a damaged one.
func decode(b []byte) (Row, bool) {
	body, sum := b[:rowSize-4], binary.LittleEndian.Uint32(b[rowSize-4:])
	seconds := int64(binary.LittleEndian.Uint64(body))
	if crc32.Checksum(body, castagnoli) != sum || seconds <= 0 {
		return Row{}, false
	}
	r := Row{Time: time.Unix(seconds, 0)}
	for i := range r.Values {
		r.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[8+4*i:]))
	}
	return r, true
}

// load reads all devices.
func (f *file) load() ([]*device, error) {
	text := make([]byte, fileSize())
	if _, err := f.f.ReadAt(text, 0); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	if string(text[:len(magic)]) != magic {
		return nil, errors.New("read the history: it is another kind of file")
	}
	var all []*device
	for n := range MaxDevices {
		name, _, _ := bytes.Cut(text[namesAt+n*nameSize:][:nameSize], []byte{0})
		if len(name) == 0 {
			break
		}
		d := newDevice(string(name))
		rows := text[headerSize+int64(n)*deviceSize():]
		for i := range tiers[1:] {
			rows = d.read(i+1, rows)
		}
		all = append(all, d)
	}
	return all, nil
}

// read reads the rows of a tier and returns the bytes behind them.
func (d *device) read(tierNumber int, b []byte) []byte {
	t := tiers[tierNumber]
	for place := range t.rows {
		r, ok := decode(b[place*rowSize:][:rowSize])
		if !ok || int(r.Time.Unix()/int64(t.step/time.Second))%t.rows != place {
			continue
		}
		d.rings[tierNumber][place] = r
		if r.Time.After(d.seen) {
			d.seen = r.Time
		}
	}
	return b[t.rows*rowSize:]
}
