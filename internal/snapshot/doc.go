// SPDX-License-Identifier: Apache-2.0

// Package snapshot encodes and decodes the file of zramfs snapshot: the objects of a device as they
// are, in blocks with checksums. docs/snapshot-format.md describes the file.
//
// An Encoder returns the parts of a file one after the other, the same bytes for the same pages, so
// that a resumed save can compare them with the file that it goes on with. A Reader trusts no field
// and names the position of damage. Package imaging reads and writes devices.
package snapshot
