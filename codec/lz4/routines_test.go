// SPDX-License-Identifier: Apache-2.0

package lz4

import (
	"testing"

	"github.com/zramfs/zramfs/codec/internal/codectest"
	"github.com/zramfs/zramfs/codec/internal/impl"
)

// An encoding is one of the two ways to compress, by one implementation.
type encoding struct {
	name   string
	encode encodeFunc
}

// encodings returns both ways of an implementation.
func (r routines) encodings() []encoding {
	return []encoding{{"standard", r.standard}, {"fast", r.fast}}
}

// eachRoutines runs f as a subtest for each implementation that this machine can run.
func eachRoutines(t *testing.T, f func(t *testing.T, r routines)) {
	t.Helper()
	codectest.EachEntry(t, routinesTable, func(t *testing.T, e impl.Entry[routines]) { f(t, e.F) })
}

// eachEncoding runs f as a subtest for both ways of each implementation, with the decoder of the
// same one.
func eachEncoding(t *testing.T, f func(t *testing.T, encode encodeFunc, decode decodeFunc)) {
	t.Helper()
	eachRoutines(t, func(t *testing.T, r routines) {
		for _, e := range r.encodings() {
			t.Run(e.name, func(t *testing.T) { f(t, e.encode, r.decode) })
		}
	})
}

// generic returns the implementation that the others are compared with.
func generic() routines { return routinesTable[len(routinesTable)-1].F }

// objects returns the objects of some pages of all kinds, by both ways.
func objects(t *testing.T, count int) [][]byte {
	t.Helper()
	var all [][]byte
	for _, e := range generic().encodings() {
		for _, page := range codectest.Generated()[:count] {
			object := make([]byte, MaxObject)
			n := e.encode(object, page, new(table))
			if n == 0 {
				t.Fatalf("%s: no object", e.name)
			}
			all = append(all, object[:n:n])
		}
	}
	return all
}
