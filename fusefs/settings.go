// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/store"
)

// Negotiated is what writes to attributes have changed since the device was made. It lies in the
// memory of requests: the next server goes on with it, whatever has ended the one before.
type Settings struct {
	// Algorithm is the text of the algorithm for new pages; empty for the one of Config.
	Algorithm string `json:"algorithm,omitempty"`
	// MemLimit is the memory limit in bytes, 0 for none; nil for the one that the store was opened
	// with.
	MemLimit *uint64 `json:"mem_limit,omitempty"`
	// Recompression are the algorithms of recompression, of the priorities 1 to 3; empty for none.
	Recompression [recompressions]string `json:"recompression,omitzero"`
	// WritebackLimit and WritebackLimited are what writeback_limit and writeback_limit_enable show:
	// the pages that may yet be written, and whether that counts.
	WritebackLimit   uint64 `json:"writeback_limit,omitempty"`
	WritebackLimited bool   `json:"writeback_limited,omitempty"`
	// Spent are the pages that Server.Spill has moved, by periods of four hours, the number of a
	// period modulo their number; SpentPeriod is the number of the newest, since 1970.
	Spent       [spentPeriods]uint32 `json:"spent,omitzero"`
	SpentPeriod uint64               `json:"spent_period,omitempty"`
	// Resized is the number of the last request that changed the size of the device; 0 for none.
	Resized uint64 `json:"resized,omitempty"`
}

// recompressions is the number of algorithms for recompression, as ZRAM_MAX_COMPS - 1 of the
// kernel.
const recompressions = 3

// errTooLong means that what was chosen has no room in the memory of requests.
var errTooLong = fmt.Errorf("%w: together with the other settings this is too long", syscall.E2BIG)

// Apply makes a store that serves no request yet go on with the settings c. The device was made
// with that algorithm. It returns the settings that cannot be used, for the log: the store then
// keeps its own.
func (c Settings) Apply(s *store.Store, made codec.Algorithm) (lost []string) {
	if c.MemLimit != nil {
		s.SetMemLimit(*c.MemLimit)
	}
	cfg := Config{Algorithm: made}
	use := func(setting, text string, f func(codec.Algorithm) error) {
		if text == "" {
			return
		}
		algorithm, err := cfg.chosenAlgorithm(text)
		if err == nil {
			err = f(algorithm)
		}
		if err != nil {
			lost = append(lost, fmt.Sprintf("%s %q is not used: %v", setting, text, err))
		}
	}
	use("comp_algorithm", c.Algorithm, s.SetAlgorithm)
	for _, text := range c.Recompression {
		use("recomp_algorithm", text, func(codec.Algorithm) error { return nil })
	}
	return lost
}

// Negotiated returns what the attributes of the device were set to, and what of that is lost, for
// the log: damaged memory does not keep a device from being served. A server has the same, and
// changes it; so a process that serves the files asks before it makes the store.
func (f Files) Settings() (c Settings, lost []string, err error) {
	mem, err := mapRequests(f.Requests)
	if err != nil {
		return Settings{}, nil, err
	}
	r := requests{mem}
	if _, err = r.shape(); err == nil {
		c, lost, _ = r.settings()
	}
	return c, lost, errors.Join(err, r.unmap())
}

// fits fails with E2BIG where keepChosen has no room for c. A setting takes effect only after it.
func (c Settings) fits() error {
	_, err := c.encode()
	return err
}

// settings reads what keepChosen has written last: where that is damaged, what it wrote before.
// turn is the one of the text that it has read.
func (r requests) settings() (c Settings, lost []string, turn uint64) {
	word := r.word(wordChosen).Load()
	turn = word >> chosenShift
	if word == 0 {
		return Settings{}, nil, turn
	}
	if length := word & chosenLength; length <= chosenSize {
		if c, err := decodeChosen(r.chosenRoom(turn)[:length]); err == nil {
			return c, nil, turn
		}
	}
	for _, turn := range []uint64{turn, turn ^ 1} { // the length may be damaged, or the text
		if c, err := decodeChosen(firstObject(r.chosenRoom(turn))); err == nil {
			return c, []string{"the last change of a setting is lost: its text is damaged"}, turn
		}
	}
	return Settings{}, []string{"all changed settings are lost: their text is damaged"}, turn
}

// keepChosen keeps c for successors. There is room for two texts, written in turn, so that a
// process that is killed in between leaves the text before.
func (r requests) keepChosen(c Settings) error {
	text, err := c.encode()
	if err != nil {
		return err
	}
	turn := r.word(wordChosen).Load()>>chosenShift + 1
	if _, _, readable := r.settings(); readable%2 == turn%2 { // the other text is damaged
		turn++
	}
	copy(r.chosenRoom(turn), text)
	r.word(wordChosen).Store(turn<<chosenShift | uint64(len(text)))
	return nil
}

// chosenRoom is the room for the text of a turn.
func (r requests) chosenRoom(turn uint64) []byte {
	at := chosenAt + int(turn%2)*chosenSize
	return r.mem[at : at+chosenSize]
}
