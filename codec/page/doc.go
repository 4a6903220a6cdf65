// SPDX-License-Identifier: Apache-2.0

// Package page is a compression format for one thing: 4 KiB pages of memory.
//
// Memory is arrays of structures, so most of what repeats does so at one of the last few distances.
// An object names these by their rank and gives them no byte, and its other distances have 12 bits
// or, where they are small or multiples of eight, 8. One byte, a token, says how many literals
// come, which distance follows and for how many bytes: the 254 combinations that memory needs most.
// On real pages objects are a third shorter than LZ4's, and shorter than zstd makes them at its
// fast levels.
//
// The object keeps literals, distances and tokens apart, so that where a token's bytes lie follows
// from counts alone: a vector unit or a GPU warp can place many tokens at once. docs/page-format.md
// has the format byte by byte.
//
// [Encoder.Compress] goes into an object by parse, which finds matches, and assemble, which puts
// the streams behind one another; [Decoder.Decompress] comes out of it by split and decode. Parse
// and decode exist in Go and, as package impl describes, in assembly for some machines; all give
// the same bytes.
//
// The dense level, [DenseEncoder] and [DenseDecoder], writes the same streams in Huffman codes that
// are part of the format: objects are a sixth shorter, at two thirds of the speed.
// docs/page-dense-format.md has it byte by byte.
//
// [ClusterEncoder] and [ClusterDecoder] write up to eight neighbouring pages together, and
// read any of them alone: what one page has in common with those before it is in the object
// once, and one set of Huffman codes, made for them, serves all. The encoder weighs all ways
// to write a page against one another. docs/page-cluster-format.md has the format byte by
// byte.
//
// Encoders belong to one worker each, and so do the decoders of the dense level and of
// clusters; the others keep no state. None allocates after it was made.
package page
