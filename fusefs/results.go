// SPDX-License-Identifier: Apache-2.0

package fusefs

import "github.com/hanwen/go-fuse/v2/fuse"

var _ fuse.ReadResult = (*result)(nil)

// resultsKept is how many results exist from the start. One is in use from the
// end of Read until go-fuse has asked it for its bytes, a few instructions later
// in the same goroutine: requestsAtOnce bounds them, at 64.
const resultsKept = 256

// results hands out read results without allocating. sync.Pool would not do: it
// forgets what it holds when the garbage collector runs.
type results struct {
	free chan *result
}

// A result passes bytes to go-fuse. The one in its library is allocated anew
// for each read.
type result struct {
	data []byte  // until Done
	home results // immutable
}

func newResults() results {
	r := results{free: make(chan *result, resultsKept)}
	all := make([]result, resultsKept)
	for i := range all {
		all[i].home = r
		r.free <- &all[i]
	}
	return r
}

// take returns a result over data. Should all be in use, it makes one more
// rather than wait for go-fuse.
func (r results) take(data []byte) *result {
	select {
	case one := <-r.free:
		one.data = data
		return one
	default:
		return &result{data: data, home: r}
	}
}

// Bytes returns the data, which lies in go-fuse's buffer already, or is a
// snapshot that does not change.
func (r *result) Bytes([]byte) ([]byte, fuse.Status) { return r.data, fuse.OK }

// Size is the number of bytes.
func (r *result) Size() int { return len(r.data) }

// Done gives the result back. With DisableSplice go-fuse calls it exactly once
// for every result, whatever the status (protocolServer.handleRequest).
func (r *result) Done() {
	r.data = nil
	select {
	case r.home.free <- r:
	default: // one more than there were at the start
	}
}
