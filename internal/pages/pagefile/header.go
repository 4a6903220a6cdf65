// SPDX-License-Identifier: Apache-2.0

package pagefile

import (
	"encoding/binary"
	"fmt"
)

// The header's parts, as the package comment draws them.
const (
	magic       = "ZRPAGES\n"
	version     = 1
	fixedSize   = 24
	trailerSize = 4
	// maxPrograms bounds a header to maxHeader bytes.
	maxPrograms = 1024
	maxName     = 255
	maxHeader   = (fixedSize + maxPrograms*(1+maxName+4) + PageSize - 1) / PageSize * PageSize
)

// fileSize returns the size of a file with this header length and page count.
func fileSize(header, pages int) int64 {
	return int64(header) + int64(pages)*PageSize + trailerSize
}

func encodeHeader(programs []Program) ([]byte, error) {
	if len(programs) > maxPrograms {
		return nil, fmt.Errorf("encode header: %d programs, at most %d fit", len(programs), maxPrograms)
	}
	head := append([]byte(magic), make([]byte, fixedSize-len(magic))...)
	total := 0
	for _, program := range programs {
		if len(program.Name) == 0 || len(program.Name) > maxName {
			return nil, fmt.Errorf("encode header: the name %q is not 1 to %d bytes long", program.Name, maxName)
		}
		if len(program.Pages)%PageSize != 0 {
			return nil, fmt.Errorf("encode header: %s has %d bytes, not whole pages", program.Name, len(program.Pages))
		}
		total += program.Count()
		head = append(head, byte(len(program.Name)))
		head = append(head, program.Name...)
		head = binary.LittleEndian.AppendUint32(head, uint32(program.Count()))
	}
	if total > MaxPages {
		return nil, fmt.Errorf("encode header: %d pages, at most %d fit", total, MaxPages)
	}
	if rest := len(head) % PageSize; rest != 0 {
		head = append(head, make([]byte, PageSize-rest)...)
	}
	binary.LittleEndian.PutUint32(head[8:], version)
	binary.LittleEndian.PutUint32(head[12:], PageSize)
	binary.LittleEndian.PutUint32(head[16:], uint32(len(head)))
	binary.LittleEndian.PutUint32(head[20:], uint32(len(programs)))
	return head, nil
}

// decodeHeader reads the header that data begins with and returns it and its
// length. Data may go on, and may be anything.
func decodeHeader(data []byte) (Info, int, error) {
	if len(data) < fixedSize || string(data[:len(magic)]) != magic {
		return Info{}, 0, fmt.Errorf("%w: no magic number", ErrFormat)
	}
	if got := binary.LittleEndian.Uint32(data[8:]); got != version {
		return Info{}, 0, fmt.Errorf("%w: version %d, this program knows %d", ErrFormat, got, version)
	}
	if got := binary.LittleEndian.Uint32(data[12:]); got != PageSize {
		return Info{}, 0, fmt.Errorf("%w: page size %d", ErrFormat, got)
	}
	length, programs := binary.LittleEndian.Uint32(data[16:]), binary.LittleEndian.Uint32(data[20:])
	if length < fixedSize || length > maxHeader || length%PageSize != 0 || int(length) > len(data) {
		return Info{}, 0, fmt.Errorf("%w: header of %d bytes", ErrFormat, length)
	}
	if programs > maxPrograms {
		return Info{}, 0, fmt.Errorf("%w: %d programs", ErrFormat, programs)
	}
	info, err := decodeEntries(data[fixedSize:length], int(programs))
	return info, int(length), err
}

func decodeEntries(entries []byte, programs int) (Info, error) {
	info := Info{Names: make([]string, programs), Counts: make([]int, programs)}
	for i := range programs {
		if len(entries) == 0 || entries[0] == 0 || len(entries) < 1+int(entries[0])+4 {
			return Info{}, fmt.Errorf("%w: program %d of %d is cut off", ErrFormat, i+1, programs)
		}
		name := int(entries[0])
		info.Names[i] = string(entries[1 : 1+name])
		count := binary.LittleEndian.Uint32(entries[1+name:])
		if count > MaxPages || info.Pages+int(count) > MaxPages {
			return Info{}, fmt.Errorf("%w: more than %d pages", ErrFormat, MaxPages)
		}
		info.Counts[i] = int(count)
		info.Pages += int(count)
		entries = entries[1+name+4:]
	}
	return info, nil
}
