// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// Chosen is what writes to attributes have changed since the device was made. It lies in the memory
// of requests: the next server goes on with it, whatever has ended the one before.
type Chosen struct {
	// Algorithm is the text of the algorithm for new pages; empty for the one of Config.
	Algorithm string `json:"algorithm,omitempty"`
	// MemLimit is the memory limit in bytes, 0 for none; nil for the one that the store was opened
	// with.
	MemLimit *uint64 `json:"mem_limit,omitempty"`
	// Recompression are the algorithms of recompression, of the priorities 1 to 3; empty for none.
	Recompression [recompressions]string `json:"recompression,omitzero"`
	// WritebackLimit and WritebackLimited are what writeback_limit and writeback_limit_enable show.
	WritebackLimit   uint64 `json:"writeback_limit,omitempty"`
	WritebackLimited bool   `json:"writeback_limited,omitempty"`
	// Resized is the number of the last request that changed the size of the device; 0 for none.
	Resized uint64 `json:"resized,omitempty"`
}

// recompressions is the number of algorithms for recompression, as ZRAM_MAX_COMPS - 1 of the
// kernel.
const recompressions = 3

// errTooLong means that what was chosen has no room in the memory of requests.
var errTooLong = fmt.Errorf("%w: together with the other settings this is too long", syscall.E2BIG)

// Apply makes a store, which nobody uses yet, go on with what was chosen. The device was made with
// that algorithm.
func (c Chosen) Apply(s *store.Store, made codec.Algorithm) error {
	if c.MemLimit != nil {
		s.SetMemLimit(*c.MemLimit)
	}
	if c.Algorithm == "" {
		return nil
	}
	algorithm, err := Config{Algorithm: made}.chosenAlgorithm(c.Algorithm)
	if err != nil {
		return err
	}
	return s.SetAlgorithm(algorithm)
}

// Chosen returns what the attributes of the device were set to. A server has the same, and changes
// it; so a process that serves the files asks before it makes the store.
func (f Files) Chosen() (Chosen, error) {
	mem, err := mapRequests(f.Requests)
	if err != nil {
		return Chosen{}, err
	}
	r := requests{mem}
	_, err = r.shape()
	var c Chosen
	if err == nil {
		c, err = r.chosen()
	}
	return c, errors.Join(err, r.unmap())
}

// chosen reads what keepChosen has written last.
func (r requests) chosen() (c Chosen, err error) {
	word := r.word(wordChosen).Load()
	length := word & chosenLength
	if length == 0 {
		return c, nil
	}
	if length > chosenSize {
		return c, errRequests
	}
	if err := json.Unmarshal(r.chosenRoom(word >> chosenShift)[:length], &c); err != nil {
		return c, fmt.Errorf("%w: %w", errRequests, err)
	}
	return c, nil
}

// keepChosen keeps c for successors. There is room for two texts, written in turn, so that a
// process that is killed meanwhile leaves the one before.
func (r requests) keepChosen(c Chosen) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(text) > chosenSize {
		return errTooLong
	}
	turn := r.word(wordChosen).Load()>>chosenShift + 1
	copy(r.chosenRoom(turn), text)
	r.word(wordChosen).Store(turn<<chosenShift | uint64(len(text)))
	return nil
}

// chosenRoom is the room for the text of a turn.
func (r requests) chosenRoom(turn uint64) []byte {
	at := chosenAt + int(turn%2)*chosenSize
	return r.mem[at : at+chosenSize]
}
