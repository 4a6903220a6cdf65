// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
)

// defaultColumns are the columns of list without flags, in zramctl's order.
const defaultColumns = "NAME,ALGORITHM,DISKSIZE,DATA,COMPR,TOTAL,STREAMS,MOUNTPOINT"

// swapMountpoint is zramctl's MOUNTPOINT of a swap area.
const swapMountpoint = "[SWAP]"

// The suffixes for a device whose mount is in another mount namespace, and for one without a
// serving process.
const (
	swapElsewhere = swapMountpoint + " elsewhere"
	swapDead      = swapMountpoint + " dead"
)

// listColumn is one column of list.
type listColumn struct {
	term.Column
	help string
	// value returns the cell's content: text, a byteSize, a count, a ratio, or nil if unknown.
	value func(swapdev.Device) any
}

// The kinds of value that are printed differently from text (string).
type (
	byteSize uint64  // 173.5M, or 181927936 with --bytes
	count    uint64  // always digits alone
	ratio    float64 // four decimals
)

// listColumns are zramctl's columns (util-linux 2.42) in its order, the order of --output-all.
var listColumns = []listColumn{
	{term.Column{Name: "NAME", Elastic: true}, "loop device, the first of several, else the data file",
		func(d swapdev.Device) any { return d.Name() }},
	{term.Column{Name: "DISKSIZE", Right: true}, "limit on the uncompressed amount of data",
		func(d swapdev.Device) any { return disksizeOf(d) }},
	{term.Column{Name: "DATA", Right: true, Preferred: 5}, "uncompressed size of stored data",
		sizeOf(func(d swapdev.Device) uint64 { return d.Status.Memory.OrigDataSize })},
	{term.Column{Name: "COMPR", Right: true}, "compressed size of stored data",
		sizeOf(func(d swapdev.Device) uint64 { return d.Status.Memory.ComprDataSize })},
	{term.Column{Name: "ALGORITHM"}, "the selected compression algorithm",
		func(d swapdev.Device) any { return algorithmOf(d) }},
	{term.Column{Name: "STREAMS", Right: true}, "number of requests worked on at the same time",
		countOf(func(d swapdev.Device) uint64 { return uint64(max(d.Status.Streams, 0)) })},
	{term.Column{Name: "ZERO-PAGES", Right: true}, "pages of one repeated word, which take no memory",
		countOf(func(d swapdev.Device) uint64 { return d.Status.Memory.SamePages })},
	{term.Column{Name: "TOTAL", Right: true}, "all memory in use, with index and fragmentation",
		sizeOf(func(d swapdev.Device) uint64 { return d.Status.Memory.MemUsedTotal })},
	{term.Column{Name: "MEM-LIMIT", Right: true}, "limit on TOTAL, 0 for none",
		sizeOf(func(d swapdev.Device) uint64 { return d.Status.MemLimit })},
	{term.Column{Name: "MEM-USED", Right: true}, "largest TOTAL so far",
		sizeOf(func(d swapdev.Device) uint64 { return d.Status.Memory.MemUsedMax })},
	{term.Column{Name: "MIGRATED", Right: true}, "pages freed by compaction",
		sizeOf(func(d swapdev.Device) uint64 { return d.Status.Memory.PagesCompacted })},
	{term.Column{Name: "COMP-RATIO", Right: true}, "DATA for each byte of TOTAL",
		func(d swapdev.Device) any { return ratioOf(d) }},
	{term.Column{Name: "MOUNTPOINT", Elastic: true, Truncate: true}, "where it is mounted, [SWAP] for swap, with elsewhere or dead where it is not served from here",
		func(d swapdev.Device) any { return useOf(d) }},
}

// swapColumns divide the data of a swap device; zramctl has no such columns. They are printed if
// --output names them.
var swapColumns = []listColumn{
	{term.Column{Name: "IN-SWAP", Right: true}, "what programs have in swap and not in memory",
		usageOf(func(u *swapdev.Usage) uint64 { return u.InSwap })},
	{term.Column{Name: "IN-ZSWAP", Right: true}, "the part of IN-SWAP that zswap holds",
		usageOf(func(u *swapdev.Usage) uint64 { return u.InZswap })},
	{term.Column{Name: "ZSWAP-TOTAL", Right: true}, "memory that zswap takes for it",
		sizeOf(func(d swapdev.Device) uint64 { return d.Memory().Zswap })},
	{term.Column{Name: "COPIES", Right: true}, "pages in swap that are in memory too",
		usageOf(func(u *swapdev.Usage) uint64 { return u.Copies })},
	{term.Column{Name: "FREED", Right: true}, "freed by programs, and not yet returned by the kernel",
		usageOf(func(u *swapdev.Usage) uint64 { return u.Freed })},
}

// usageOf is the value of a column that only swap devices have.
func usageOf(f func(*swapdev.Usage) uint64) func(swapdev.Device) any {
	return func(d swapdev.Device) any {
		u := swapdev.NewUsage(d)
		if u == nil {
			return nil
		}
		return byteSize(f(u))
	}
}

func findColumn(name string) (listColumn, bool) {
	for _, column := range slices.Concat(listColumns, swapColumns) {
		if strings.EqualFold(column.Name, name) {
			return column, true
		}
	}
	return listColumn{}, false
}

func columnHelp() string {
	var out strings.Builder
	for _, column := range slices.Concat(listColumns, swapColumns) {
		fmt.Fprintf(&out, "%-11s %s\n", column.Name, column.help)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// sizeOf is the value of a column from the status.
func sizeOf(f func(swapdev.Device) uint64) func(swapdev.Device) any {
	return func(d swapdev.Device) any {
		if d.Status == nil {
			return nil
		}
		return byteSize(f(d))
	}
}

// countOf is sizeOf for numbers that are not bytes.
func countOf(f func(swapdev.Device) uint64) func(swapdev.Device) any {
	return func(d swapdev.Device) any {
		if d.Status == nil {
			return nil
		}
		return count(f(d))
	}
}

// disksizeOf falls back on the loop devices: the kernel knows their sizes even if the server does
// not answer.
func disksizeOf(d swapdev.Device) any {
	if d.Status != nil {
		return byteSize(d.Status.Disksize)
	}
	if len(d.Loops) == 0 {
		return nil
	}
	var size byteSize
	for _, loop := range d.Loops {
		size += byteSize(loop.Size)
	}
	return size
}

func algorithmOf(d swapdev.Device) any {
	if d.Status == nil {
		return nil
	}
	return d.Status.Algorithm
}

func ratioOf(d swapdev.Device) any {
	if d.Status == nil || d.Status.Memory.MemUsedTotal == 0 {
		return nil
	}
	return ratio(float64(d.Status.Memory.OrigDataSize) / float64(d.Status.Memory.MemUsedTotal))
}

func useOf(d swapdev.Device) any {
	switch {
	case len(d.Swaps) > 0 && errors.Is(d.Err, swapdev.ErrDead):
		return swapDead
	case len(d.Swaps) > 0 && d.Elsewhere:
		return swapElsewhere
	case len(d.Swaps) > 0:
		return swapMountpoint
	case d.Mountpoint != "":
		return d.Mountpoint
	}
	return nil
}

// formatCell prints a column's value for a table; an unknown one is empty.
func formatCell(value any, bytes bool) string {
	switch v := value.(type) {
	case byteSize:
		if bytes {
			return strconv.FormatUint(uint64(v), 10)
		}
		return term.Size(uint64(v))
	case count:
		return strconv.FormatUint(uint64(v), 10)
	case ratio:
		return strconv.FormatFloat(float64(v), 'f', 4, 64)
	case string:
		return v
	}
	return ""
}

// listJSON prints the devices in the shape of losetup --json: one array under the key zramfs, the
// columns' names in lower case, null for unknown values. Unlike losetup's, sizes are always numbers
// of bytes, and answer says whether the device has answered.
func listJSON(found []swapdev.Device, columns []listColumn) (string, error) {
	objects := make([]string, len(found))
	for i, d := range found {
		members := make([]string, len(columns))
		for j, column := range columns {
			value, err := jsonValue(column.value(d))
			if err != nil {
				return "", fmt.Errorf("print %s as JSON: %w", column.Name, err)
			}
			members[j] = fmt.Sprintf("         %q: %s", strings.ToLower(column.Name), value)
		}
		members = append(members, fmt.Sprintf("         \"answer\": %q", d.Answer()))
		objects[i] = "{\n" + strings.Join(members, ",\n") + "\n      }"
	}
	list := strings.Join(objects, ",")
	if list != "" {
		list = "      " + list
	}
	return "{\n   " + schemaMember + ",\n   \"zramfs\": [\n" + list + "\n   ]\n}\n", nil
}

func jsonValue(value any) (string, error) {
	if r, ok := value.(ratio); ok {
		value = json.RawMessage(formatCell(r, true))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // a path is not markup
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
