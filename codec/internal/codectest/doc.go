// SPDX-License-Identifier: Apache-2.0

// Package codectest gives the tests of the codecs what they share: a long stream of distinct pages
// made of a few base pages, buffers that lie between inaccessible pages, and a way through all
// implementations of a primitive.
//
// The package is for tests alone; no program imports it.
package codectest
