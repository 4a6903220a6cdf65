// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/pages"
)

// few returns a small sample whose last round is not full.
func few() sample { return sample{name: "few", pages: pages.Generate(pages.Text, roundPages+3, 1)} }

// copying returns a contestant that stores pages as they are, for tests to spoil.
func copying() *contestant {
	return pagewise("copy", func(dst, page []byte) (int, error) { return copy(dst, page), nil },
		func(dst, object []byte) error { copy(dst, object); return nil })
}

// A contestant that brings back another page is found, and so is one that brings back nothing and
// leaves what stood there.
func TestCheatsAreFound(t *testing.T) {
	for name, unpack := range map[string]func(b *batch, i int) error{
		"one bit":  func(b *batch, i int) error { copy(b.back(i), b.object(i)); b.back(i)[4095] ^= byte(i % 2); return nil },
		"nothing":  func(*batch, int) error { return nil },
		"an error": func(*batch, int) error { return errors.New("broken") },
	} {
		c := copying()
		c.unpack = each("decompress", unpack)
		if _, err := verify(few(), c); err == nil {
			t.Errorf("%s: was not found", name)
		}
	}
	if stored, err := verify(few(), copying()); err != nil || stored != (roundPages+3)*codec.PageSize {
		t.Errorf("an honest one stores %d bytes, %v", stored, err)
	}
}

// An encoder of ours that liblz4 cannot read is found, and a decoder that cannot read liblz4's.
func TestForeignBlocksAreFound(t *testing.T) {
	algorithm, err := codec.Parse("lz4")
	if err != nil {
		t.Fatal(err)
	}
	honest, err := own(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify(few(), honest); err != nil {
		t.Fatal(err)
	}
	writer := copying()
	writer.ours, writer.block, writer.decode = true, true, honest.decode
	writer.pack = each("compress", func(b *batch, i int) error { b.ids[i] = codec.LZ4; return writer.packOne(b, i) })
	if _, err := verify(few(), writer); !errors.Is(err, errDecoded) {
		t.Errorf("a writer of its own format: %v", err)
	}
	reader := *honest
	reader.decode = func([]byte, []byte) error { return nil }
	if _, err := verify(few(), &reader); err == nil {
		t.Error("a reader of nothing was not found")
	}
}

// Every round meets other pages, and together they meet all.
func TestRoundsCoverTheSample(t *testing.T) {
	all := pages.Generate(pages.SparseInts, 5000, 1)
	b, seen := newBatch(roundPages), map[string]bool{}
	step := max(1, len(all)/roundPages)
	for round := range 100 {
		b.load(all, round, step)
		for i := range b.n {
			seen[string(b.page(i))] = true
		}
	}
	if len(seen) < len(all)*99/100 {
		t.Errorf("%d of %d pages were met", len(seen), len(all))
	}
}

// An interruption of one time in five leaves a page's figure alone.
func TestLatencyIgnoresInterruptions(t *testing.T) {
	rounds := make([][]int64, 5)
	for j := range rounds {
		rounds[j] = make([]int64, 100)
		for i := range rounds[j] {
			rounds[j][i] = int64(1000 * (i + 1))
		}
		rounds[j][7*j] = 1e9
	}
	if got := percentiles(rounds); got != (latency{P50: 51, P99: 100}) {
		t.Errorf("got %+v", got)
	}
}

// The state follows the figure, and a codec of the last release is compared with the implementation
// that is taken now.
func TestCriteriaFollowTheFigures(t *testing.T) {
	old := &report{Tables: []table{{Lines: []line{{Codec: "lz4", Ours: true, RatioX: 1, PackX: 0.8, UnpackX: 1}, {Codec: "gone", Ours: true}}}}}
	now := table{Sample: "test", Lines: []line{
		{Codec: anchorName, RatioX: 1, PackX: 1, UnpackX: 1, Pack: 900, PackLatency: &latency{}},
		{Codec: "lz4:simd=avx2", Ours: true, RatioX: 1, PackX: 0.79, UnpackX: 1.2, Pack: 3100, Unpack: 4000, PackLatency: &latency{P99: 1.4}},
		{Codec: "lz4:simd=generic", Ours: true, RatioX: 1, PackX: 0.1, UnpackX: 0.1, Pack: 499, Unpack: 1001, PackLatency: &latency{P99: 9}},
	}}
	var got []string
	for _, f := range append(speeds(now), regressions(now, old)...) {
		got = append(got, f.ID+" "+f.State)
	}
	want := "F051 FALSIFIED,F051 SURVIVED,F055 SURVIVED,F052 SURVIVED,F052 FALSIFIED,F055 SURVIVED,F053 OPEN,F060 SURVIVED"
	if text := strings.Join(got, ","); text != want {
		t.Errorf("got\n%s, want\n%s", text, want)
	}
	now.Lines[1].PackX = 0.7
	if f := regressions(now, old); len(f) != 1 || f[0].State != falsified {
		t.Errorf("slower, and found is %v", f)
	}
	if f := regressions(now, nil); len(f) != 1 || f[0].State != open {
		t.Errorf("without the last report found is %v", f)
	}
}
