// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
	"github.com/zramfs/zramfs/internal/pages/pagefile"
)

// The tests look for the page file in the repository, as the program does.
func TestMain(m *testing.M) {
	if path, err := findPages(); err == nil && os.Getenv(pagefile.Variable) == "" {
		if err := os.Setenv(pagefile.Variable, path); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// blocks returns the contestants of ours that read LZ4 blocks, one for each implementation.
func blocks(t *testing.T) []*contestant {
	t.Helper()
	all, err := ours(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(c *contestant) bool { return !c.block })
	if len(all) == 0 {
		t.Fatal("we have no LZ4")
	}
	return all
}

// oraclePages returns some pages of every kind, and every n-th of the sample.
func oraclePages(t *testing.T, n int) sample {
	t.Helper()
	s := sample{name: "oracle", pages: pages.Mix(400, 3)}
	for i, page := range pages.Real(t) {
		if i%n == 0 {
			s.pages = append(s.pages, page)
		}
	}
	return s
}

// liblz4 reads what we write and we read what it writes, every implementation.
func TestOracleReadsEachOther(t *testing.T) {
	s := oraclePages(t, 5)
	for _, c := range blocks(t) {
		t.Run(c.name, func(t *testing.T) {
			if _, err := verify(s, c); err != nil {
				t.Error(err)
			}
		})
	}
}

// seeds returns LZ4 blocks of ours and of liblz4's.
func seeds(t *testing.T, count int) [][]byte {
	t.Helper()
	b := newBatch(count)
	s := oraclePages(t, 97)
	b.load(s.pages, 0, max(1, len(s.pages)/count))
	if err := libCompress(b, nil); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for i := range b.n {
		all = append(all, slices.Clone(b.object(i)))
	}
	for _, c := range blocks(t) {
		if err := c.pack(b); err != nil {
			t.Fatal(err)
		}
		for i := range b.n {
			if b.ids[i] == codec.LZ4 {
				all = append(all, slices.Clone(b.object(i)))
			}
		}
	}
	return all
}

// A judge compares the answers of all decoders to the same bytes.
type judge struct {
	all    []*contestant
	counts map[verdict]int
	// accepted counts what the others take of each verdict.
	lib, own map[verdict]int
}

func newJudge(t *testing.T) *judge {
	return &judge{all: blocks(t), counts: map[verdict]int{}, lib: map[verdict]int{}, own: map[verdict]int{}}
}

// compare fails the test unless all accept what is valid and refuse what is broken, with the same
// bytes; where the format leaves a choice, our implementations must make the same.
func (j *judge) compare(t *testing.T, object []byte) {
	t.Helper()
	var want, got, first [codec.PageSize]byte
	v := reference(want[:], object)
	j.counts[v]++
	n, err := libDecode(got[:], object)
	libTook := err == nil && n == codec.PageSize
	if libTook {
		j.lib[v]++
	}
	if v == valid && !libTook || v == broken && libTook || libTook && v < zeroOffset && got != want {
		t.Fatalf("liblz4 took it: %v, which the reference says is %d: %x", libTook, v, object)
	}
	var took bool
	for i, c := range j.all {
		err := c.decode(got[:], object)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("%s: got %v: %x", c.name, err, object)
		}
		if v == valid && err != nil || v >= zeroOffset && err == nil || err == nil && got != want {
			t.Fatalf("%s: got %v, the reference says it is %d: %x", c.name, err, v, object)
		}
		if i == 0 {
			took, first = err == nil, got
		}
		if took != (err == nil) || took && got != first {
			t.Fatalf("%s and %s disagree: %x", c.name, j.all[0].name, object)
		}
	}
	if took {
		j.own[v]++
	}
}

// enough fails the test unless it met blocks of every kind that it has to tell apart.
func (j *judge) enough(t *testing.T, verdicts ...verdict) {
	t.Helper()
	t.Logf("valid, sloppy, zero offset, broken: %d %d %d %d, of which liblz4 takes %v and we %v", j.counts[valid], j.counts[sloppy], j.counts[zeroOffset],
		j.counts[broken], j.lib, j.own)
	for _, v := range verdicts {
		if j.counts[v] == 0 {
			t.Errorf("no block was of kind %d: the test proves nothing", v)
		}
	}
}

func TestOracleBitFlips(t *testing.T) {
	j := newJudge(t)
	for _, object := range seeds(t, 4) {
		for bit := range len(object) * 8 {
			object[bit/8] ^= 1 << (bit % 8)
			j.compare(t, object)
			object[bit/8] ^= 1 << (bit % 8)
		}
	}
	j.enough(t, valid, broken)
}

func TestOracleTruncations(t *testing.T) {
	j := newJudge(t)
	for _, object := range seeds(t, 24) {
		for n := range object {
			j.compare(t, object[:n])
		}
		j.compare(t, append(slices.Clone(object), 0))
	}
	j.enough(t, broken)
}

// Blocks are spliced, and made of noise in which lengths and distances are likely.
func TestOracleNoise(t *testing.T) {
	j := newJudge(t)
	all := seeds(t, 40)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		object := slices.Clone(all[rng.IntN(len(all))])
		switch rng.IntN(3) {
		case 0:
			other := all[rng.IntN(len(all))]
			object = append(object[:rng.IntN(len(object)+1)], other[rng.IntN(len(other)):]...)
		case 1:
			for range 1 + rng.IntN(4) {
				object[rng.IntN(len(object))] = byte([]int{0, 1, 8, 15, 16, 240, 255, rng.IntN(256)}[rng.IntN(8)])
			}
		case 2:
			at := rng.IntN(len(object))
			object = slices.Insert(object, at, bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(20))...)
		}
		j.compare(t, object)
	}
	j.enough(t, valid, broken, zeroOffset)
}

// Short blocks whose every field is drawn, so that they often come out at a page, or a few bytes
// off.
func TestOracleMadeBlocks(t *testing.T) {
	j := newJudge(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60_000 {
		j.compare(t, made(rng))
	}
	j.enough(t, valid, sloppy, zeroOffset, broken)
}

// made writes a few sequences that fill a page, mostly.
func made(rng *rand.Rand) []byte {
	var object []byte
	left := codec.PageSize + []int{0, 0, 0, 0, 0, -1, 1, 300}[rng.IntN(8)]
	for at := 0; rng.IntN(6) > 0 && left-at > 40; {
		literals, match := rng.IntN(1+rng.IntN(400)), 4+rng.IntN(1+rng.IntN(3000))
		literals = min(literals, left-at-20)
		match = min(match, left-at-literals-rng.IntN(16))
		if match < 4 {
			break
		}
		distance := 1 + rng.IntN(max(at+literals, 1))
		if rng.IntN(200) == 0 {
			distance = []int{0, at + literals + 1, 65535}[rng.IntN(3)]
		}
		object = sequence(object, literals, match)
		object = append(object, byte(distance), byte(distance>>8))
		object = extend(object, match-4)
		at += literals + match
		if left-at < 16 || rng.IntN(5) == 0 {
			return sequence(object, left-at, 4)
		}
		if len(object) > 3000 {
			break
		}
	}
	return object
}

// sequence appends a token and its literals.
func sequence(object []byte, literals, match int) []byte {
	object = append(object, byte(min(literals, 15)<<4|min(match-4, 15)))
	object = extend(object, literals)
	for i := range literals {
		object = append(object, byte(i*7+len(object)))
	}
	return object
}

// extend appends the bytes that go on a length of 15 and more.
func extend(object []byte, n int) []byte {
	if n < 15 {
		return object
	}
	for n -= 15; n >= 255; n -= 255 {
		object = append(object, 255)
	}
	return append(object, byte(n))
}
