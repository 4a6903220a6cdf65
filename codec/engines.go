// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoEngine reports a text that names an engine for bulk work which the caller does not have.
var ErrNoEngine = errors.New("no such engine")

// maxBatch bounds "batch=", in pages: 4 GiB of them.
const maxBatch = 1 << 20

// Engine returns the engine for bulk work that "backend=" names, or nothing, and how many pages it
// is given at a time, 0 where the engine decides. Compressors and decompressors ignore both: they
// are for one page at a time.
func (a Algorithm) Engine() (name string, batch int) { return a.backend, int(a.batch) }

// offered returns the keys to name in an error: without an engine those for engines are left out.
func offered(keys, engines []string) []string {
	if len(engines) > 0 {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == keyBackend || key == keyBatch })
}

// AnyEngine among the engines of [Parse] accepts any name: another process has checked it.
const AnyEngine = "*"

// checkEngine refuses an engine that is none of engines, and a batch for none.
func checkEngine(params map[string]string, engines []string) error {
	name, asked := params[keyBackend]
	if _, ok := params[keyBatch]; ok && !asked {
		return fmt.Errorf("batch= needs backend=")
	}
	switch {
	case !asked || slices.Contains(engines, name) || slices.Contains(engines, AnyEngine):
		return nil
	case len(engines) == 0:
		return fmt.Errorf("backend=%q: %w in this program, leave it out", name, ErrNoEngine)
	}
	return fmt.Errorf("backend=%q: %w in this program, it has %s", name, ErrNoEngine, strings.Join(engines, ", "))
}
