// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/zramfs/zramfs/internal/pages"
)

// basePages is how many generated pages a stream is made of: generating one takes longer than
// compressing it.
const basePages = 4096

var generated = sync.OnceValue(func() [][]byte { return pages.Mix(basePages, 1) })

// roundsVariable is the environment variable that sets Rounds. CI sets it to a million.
const roundsVariable = "ZRAMFS_ROUNDS"

// Rounds returns how many pages a round trip should take: 20,000 with -short, else what the
// environment variable ZRAMFS_ROUNDS says, else 100,000.
func Rounds() int {
	if testing.Short() {
		return 20_000
	}
	text := os.Getenv(roundsVariable)
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		panic(roundsVariable + "=" + text + ": not a number of pages")
	}
	return n
}

// Stride returns the step at which to go through what a full run tries one by one: 1, or 11 with
// -short. It has no factor in common with the sizes of bytes and words, so that steps of bits meet
// every bit of a byte.
func Stride() int {
	if testing.Short() {
		return 11
	}
	return 1
}

// Generated returns a few thousand generated pages of all kinds. Tests share them and must not
// write to them.
func Generated() [][]byte { return generated() }

// EachSource runs f as a subtest on generated pages and as another on real ones, which is skipped
// where none were sampled.
func EachSource(t *testing.T, f func(t *testing.T, base [][]byte)) {
	t.Helper()
	t.Run("generated", func(t *testing.T) { f(t, Generated()) })
	t.Run("real", func(t *testing.T) { f(t, pages.Real(t)) })
}

// Derive writes page number i of a stream to page, whose length must be that of the base pages. The
// first len(base) pages of a stream are the base pages themselves; each one after has the start of
// one, the end of another and a few bytes of its own, so that no two are alike.
func Derive(page []byte, base [][]byte, i int) {
	copy(page, base[i%len(base)])
	if i < len(base) {
		return
	}
	rng := rand.New(rand.NewPCG(uint64(i), 0x7061676573))
	cut := rng.IntN(len(page))
	copy(page[cut:], base[rng.IntN(len(base))][cut:])
	for range rng.IntN(4) {
		page[rng.IntN(len(page))] = byte(rng.Uint32())
	}
	binary.LittleEndian.PutUint64(page[rng.IntN(len(page)-7):], uint64(i))
}
