// SPDX-License-Identifier: Apache-2.0

// Package codectest gives the tests of the codecs what they share: a long stream of distinct pages made of a few base pages,
// and buffers that lie between inaccessible pages.
//
// The package is for tests alone; no program imports it.
package codectest
