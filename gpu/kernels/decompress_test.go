// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zramfs/zramfs/codec/lz4"
	"github.com/zramfs/zramfs/codec/page"
	"github.com/zramfs/zramfs/gpu/ptx"
)

// format is one of the two that kernels decompress, with the codec that says what is right.
type format struct {
	name               string
	decompress, verify func() (*ptx.Kernel, error)
	compress           func(t *testing.T, p []byte) []byte
	codec              func(dst, object []byte) error
	table              bool
	most               int
}

var formats = []format{
	{"lz4", LZ4Decompress, LZ4Verify, lz4Object, lz4.Decompress, false, MaxLZ4Object},
	{"page", PageDecompress, PageVerify, pageObject, page.Decompress, true, MaxPageObject},
}

// arguments are those of both kernels of a format.
func (f format) arguments(d *device, objects [][]byte, out, statuses uint64) []uint64 {
	addresses, lengths := d.place(objects)
	args := []uint64{addresses, lengths, out, statuses, uint64(len(objects))}
	if f.table {
		args = append(args, d.input("table", 4, PageTable()))
	}
	return args
}

// objects compresses pages, and leaves out those that the format does not make smaller.
func (f format) objects(t *testing.T, all [][]byte) (objects, originals [][]byte) {
	for _, p := range all {
		if object := f.compress(t, p); len(object) > 0 {
			objects, originals = append(objects, object), append(originals, p)
		}
	}
	return objects, originals
}

// run decompresses objects by the kernel and holds each against the codec.
func (f format) run(t *testing.T, k *ptx.Kernel, seed uint64, objects [][]byte) (refused int) {
	t.Helper()
	refused, err := f.judge(t, k, seed, objects)
	if err != nil {
		t.Fatal(err)
	}
	return refused
}

// judge is run that returns what is wrong: a fault, or something that is not as the codec has it.
// Of pages that are refused nothing may be written.
func (f format) judge(t *testing.T, k *ptx.Kernel, seed uint64, objects [][]byte) (refused int, err error) {
	t.Helper()
	d := newDevice(t)
	d.Seed = seed
	out, statuses := d.output("pages", PageSize, len(objects)), d.output("statuses", 4, len(objects))
	if _, err = d.launch(k, len(objects), f.arguments(d, objects, out, statuses)...); err != nil {
		return 0, err
	}
	pages, said := d.read(out, PageSize*len(objects)), d.read(statuses, 4*len(objects))
	untouched := bytes.Repeat([]byte{0xCC}, PageSize)
	var want [PageSize]byte
	for i, object := range objects {
		err := f.codec(want[:], object)
		status := binary.LittleEndian.Uint32(said[4*i:])
		if ok := status == StatusOK; ok != (err == nil) || status > StatusCorrupt {
			return 0, fmt.Errorf("object %d of %d bytes, %x: status %d, the codec says %v", i, len(object), object, status, err)
		}
		page := want[:]
		if err != nil {
			page = untouched
			refused++
		}
		if !bytes.Equal(pages[PageSize*i:PageSize*(i+1)], page) {
			return 0, fmt.Errorf("object %d, status %d: the kernel made another page", i, status)
		}
	}
	return refused, nil
}

func eachFormat(t *testing.T, do func(t *testing.T, f format)) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) { do(t, f) })
	}
}

func TestDecompressesPages(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		k := build(t, f.decompress)
		eachSource(t, fewer(120), func(t *testing.T, all [][]byte) {
			objects, _ := f.objects(t, all)
			if refused := f.run(t, k, 0, objects); refused > 0 {
				t.Errorf("%d objects refused", refused)
			}
			f.run(t, k, 7, objects[:min(20, len(objects))])
		})
	})
}

func TestCorruptObjectsAreJudgedAsByTheCodec(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		k := build(t, f.decompress)
		rng := rand.New(rand.NewPCG(3, 4))
		eachSource(t, 40, func(t *testing.T, all [][]byte) {
			objects, _ := f.objects(t, all)
			var broken [][]byte
			for len(broken) < fewer(1600) {
				broken = append(broken, damage(rng, objects[len(broken)%len(objects)]))
			}
			refused := f.run(t, k, 0, broken)
			t.Logf("%d of %d objects refused", refused, len(broken))
			if refused < len(broken)/4 || refused > len(broken)*31/32 {
				t.Errorf("%d of %d objects were refused: the test proves little", refused, len(broken))
			}
		})
	})
}

// A length that no object has is refused before anything is loaded: here the addresses lead
// nowhere.
func TestWrongLengthsAreRefused(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		wrong := []uint32{0, uint32(f.most) + 1, 1 << 16, 1 << 31, 1<<32 - 1}
		if f.table {
			wrong = append(wrong, 1, 2)
		}
		for _, kernel := range []*ptx.Kernel{build(t, f.decompress), build(t, f.verify)} {
			d := newDevice(t)
			out, statuses := d.output("out", PageSize, len(wrong)), d.output("statuses", 4, len(wrong))
			args := f.arguments(d, make([][]byte, len(wrong)), out, statuses)
			args[0] = d.input("addresses", 8, bytes.Repeat([]byte{0xBD}, 8*len(wrong)))
			args[1] = d.input("lengths", 4, words(wrong))
			d.mustLaunch(kernel, len(wrong), args...)
			for i, said := range d.read(statuses, 4*len(wrong)) {
				if i%4 == 0 && said != StatusCorrupt {
					t.Errorf("length %d: status %d", wrong[i/4], said)
				}
			}
		}
	})
}

// The verifying kernels say the same of objects as the decompressing ones, and of a page its hash.
func TestVerifyHashesPages(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		k := build(t, f.verify)
		rng := rand.New(rand.NewPCG(5, 6))
		eachSource(t, fewer(60), func(t *testing.T, all [][]byte) {
			objects, originals := f.objects(t, all)
			for i := range fewer(200) {
				objects = append(objects, damage(rng, objects[i%len(originals)]))
			}
			for seed, count := range map[uint64]int{0: len(objects), 9: fewer(30)} {
				d := newDevice(t)
				d.Seed = seed
				hashes, statuses := d.output("hashes", 8, count), d.output("statuses", 4, count)
				d.mustLaunch(k, count, f.arguments(d, objects[:count], hashes, statuses)...)
				said, status := d.read(hashes, 8*count), d.read(statuses, 4*count)
				var page [PageSize]byte
				for i, object := range objects[:count] {
					want, wantStatus := uint64(0), byte(StatusCorrupt)
					if f.codec(page[:], object) == nil {
						want, wantStatus = Hash(page[:]), StatusOK
					}
					if got := binary.LittleEndian.Uint64(said[8*i:]); got != want || status[4*i] != wantStatus {
						t.Fatalf("object %d: hash %#x and status %d, want %#x and %d", i, got, status[4*i], want, wantStatus)
					}
				}
			}
		})
	})
}

// The codec refuses what is longer than the kernels read, or there would be objects that only the
// CPU reads.
func TestNoLZ4ObjectIsLongerThanTheLimit(t *testing.T) {
	page := bytes.Repeat([]byte{7}, PageSize)
	longest := modelSequence{0, PageSize, 0, 0}.append(nil, page)
	var back [PageSize]byte
	for pad := range 3 {
		object := append(bytes.Clone(longest), make([]byte, MaxLZ4Object+pad-len(longest))...)
		if err := lz4.Decompress(back[:], object); err == nil {
			t.Errorf("%d bytes were read", len(object))
		}
	}
	if err := lz4.Decompress(back[:], longest); err != nil || len(longest) > MaxLZ4Object-16 {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
}
