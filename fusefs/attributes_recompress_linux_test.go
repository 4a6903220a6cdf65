// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zramfs/zramfs/store"
)

// A server that is to stop leaves the recompression to its successor.
func TestRecompressIsLeft(t *testing.T) {
	f, a := newTestDevice(t, Config{Store: newStore(t, store.Config{Disksize: 16 << 20})})
	text := bytes.Repeat([]byte("some text that repeats itself; "), 200)
	for page := range uint64(2000) {
		text[page%pageSize]++
		if _, errno := writeData(f, page*pageSize, text[:pageSize]); errno != 0 {
			t.Fatal(errno)
		}
	}
	a.chosen.Store(&Settings{Recompression: [recompressions]string{"zstd"}})
	a.stopping = func() bool { return true }
	if err := a.recompress(2, []byte("type=all")); !errors.Is(err, ErrLeft) {
		t.Error(err)
	}
}

// TestSetDuringRecompress: other attributes can be set while pages are recompressed, which takes
// long; a second recompression is refused.
func TestSetDuringRecompress(t *testing.T) {
	f := newTestFileSystem(t, 64<<20)
	rng := rand.New(rand.NewPCG(5, 6))
	text := bytes.Repeat([]byte("some text that repeats itself less than LZ4 would like; "), 80)
	for page := range uint64(4000) {
		for i := 0; i < pageSize; i += 1 + int(rng.Uint32()%9) {
			text[i] = 'a' + byte(rng.Uint32()%16)
		}
		if _, errno := writeData(f, page*pageSize, text[:pageSize]); errno != 0 {
			t.Fatal(errno)
		}
	}
	if got := writeAttribute(f, "recomp_algorithm", "algo=zstd(level=19)"); !got.Ok() {
		t.Fatal(got)
	}
	ended := make(chan fuse.Status)
	go func() { ended <- writeAttribute(f, "recompress", "type=all") }()
	for f.store.Stats().RecompressedSince == 0 {
		time.Sleep(time.Millisecond)
	}
	second, limit := writeAttribute(f, "recompress", "type=all"), writeAttribute(f, "mem_limit", "1G")
	select {
	case first := <-ended:
		t.Fatalf("the first one ended before the others: %v, %v, %v", first, second, limit)
	default:
	}
	if second != fuse.EAGAIN || !limit.Ok() {
		t.Errorf("meanwhile a second one ends with %v, a limit is set with %v", second, limit)
	}
	if first := <-ended; !first.Ok() {
		t.Error(first)
	}
	if again := writeAttribute(f, "recompress", "type=all"); !again.Ok() {
		t.Errorf("after the first one: %v", again)
	}
}
