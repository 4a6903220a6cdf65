// SPDX-License-Identifier: Apache-2.0

// Package journal shows what a device has done: its last operations, in words, as JSON and in the
// trace-event format that Perfetto and Chrome read, and its events. It reads the memory that the
// keeper hands out, so a worker that hangs or is dead does not matter, and no request is made.
package journal
