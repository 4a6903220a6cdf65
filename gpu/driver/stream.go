// SPDX-License-Identifier: Apache-2.0

package driver

import "time"

// A Stream is a queue of work for the device, done in order. Different streams run in parallel.
type Stream struct{ handle uint64 }

// An Event is a point in a stream, and the time when it was reached.
type Event struct{ handle uint64 }

// NewStream makes a stream.
func (t *Thread) NewStream() (Stream, error) {
	h, err := t.calls.newStream()
	return Stream{h}, t.context.check(err)
}

// CloseStream ends a stream; queued work is still done.
func (t *Thread) CloseStream(s Stream) error { return t.context.check(t.calls.closeStream(s.handle)) }

// NewEvent makes an event, which counts as reached.
func (t *Thread) NewEvent() (Event, error) {
	h, err := t.calls.newEvent()
	return Event{h}, t.context.check(err)
}

// CloseEvent ends an event.
func (t *Thread) CloseEvent(e Event) error { return t.context.check(t.calls.closeEvent(e.handle)) }

// Record makes e the point behind all present work of the stream.
func (t *Thread) Record(e Event, s Stream) error {
	return t.context.check(t.calls.record(e.handle, s.handle))
}

// Await makes future work of the stream wait for the event, as it was last recorded.
func (t *Thread) Await(s Stream, e Event) error {
	return t.context.check(t.calls.await(s.handle, e.handle))
}

// Elapsed returns the time between two reached events, as measured by the device.
func (t *Thread) Elapsed(from, to Event) (time.Duration, error) {
	d, err := t.calls.elapsed(from.handle, to.handle)
	return d, t.context.check(err)
}
