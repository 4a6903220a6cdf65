// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoEngine reports a text that names an engine for bulk work which this program does not have.
var ErrNoEngine = errors.New("no such engine")

// engines are the engines for bulk work that "backend=" may name: those that this program was built
// with. Without any the word is read all the same, so that it is refused for what it asks and not
// as an unknown one. Changed by init functions alone.
var engines []string

// OfferEngine lets [Parse] accept "backend=" with this name from now on, for an engine that the
// program was built with. Whether the machine has what it needs is found out when it is opened. It
// is to be called by init functions alone.
func OfferEngine(name string) {
	if !slices.Contains(engines, name) {
		engines = append(engines, name)
	}
}

// maxBatch bounds "batch=", in pages: 4 GiB of them.
const maxBatch = 1 << 20

// Engine returns the engine for bulk work that "backend=" names, or nothing, and how many pages it
// is to be given at a time, 0 where that is left to it. Compressors and decompressors take no
// notice of either: they are for one page at a time.
func (a Algorithm) Engine() (name string, batch int) { return a.backend, int(a.batch) }

// shown returns the keys that it makes sense to offer here.
func shown(keys []string) []string {
	if len(engines) > 0 {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == keyBackend || key == keyBatch })
}

// checkEngine refuses an engine that there is not, and a batch for none.
func checkEngine(params map[string]string) error {
	name, asked := params[keyBackend]
	if _, ok := params[keyBatch]; ok && !asked {
		return fmt.Errorf("batch= needs backend=")
	}
	switch {
	case !asked || slices.Contains(engines, name):
		return nil
	case len(engines) == 0:
		return fmt.Errorf("backend=%q: %w in this program, leave it out", name, ErrNoEngine)
	}
	return fmt.Errorf("backend=%q: %w in this program, it has %s", name, ErrNoEngine, strings.Join(engines, ", "))
}
