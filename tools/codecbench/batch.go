// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"

	"github.com/zramfs/zramfs/codec"
)

// slotSize is the room in bytes for one object: more than any of the contestants can make of a
// page.
const slotSize = 4096 + 512

// A batch is the pages of one round and what a contestant makes of them.
type batch struct {
	n       int        // pages in use
	src     []byte     // the pages, one after another
	slots   []byte     // object i begins at i*slotSize
	lengths []int32    // of the objects
	ids     []codec.ID // of the objects, for our codecs
	out     []byte     // the pages that came back
}

func newBatch(n int) *batch {
	b := &batch{
		src: make([]byte, n*codec.PageSize), slots: make([]byte, n*slotSize), lengths: make([]int32, n),
		ids: make([]codec.ID, n), out: make([]byte, n*codec.PageSize),
	}
	// Touched now, so that no round pays for it.
	for _, memory := range [][]byte{b.src, b.slots, b.out} {
		for i := range memory {
			memory[i] = 1
		}
	}
	return b
}

// load takes every step-th group of neighbouring pages, from group number start on and around their
// end, as many as fit.
func (b *batch) load(all [][]byte, start, step int) {
	const group = codec.ClusterPages
	b.n = min(len(b.lengths), len(all))
	for i := range b.n {
		copy(b.page(i), all[((start+i/group*step)*group+i%group)%len(all)])
	}
}

func (b *batch) page(i int) []byte {
	return b.src[i*codec.PageSize : (i+1)*codec.PageSize : (i+1)*codec.PageSize]
}

func (b *batch) slot(i int) []byte {
	return b.slots[i*slotSize : (i+1)*slotSize : (i+1)*slotSize]
}

func (b *batch) object(i int) []byte { return b.slot(i)[:b.lengths[i]:b.lengths[i]] }

func (b *batch) back(i int) []byte {
	return b.out[i*codec.PageSize : (i+1)*codec.PageSize : (i+1)*codec.PageSize]
}

// check compares what came back with what went in.
func (b *batch) check() error {
	for i := range b.n {
		if !bytes.Equal(b.page(i), b.back(i)) {
			return fmt.Errorf("page %d of the batch came back different", i)
		}
	}
	return nil
}

// spoil makes sure that check cannot find a page that an earlier contestant brought back.
func (b *batch) spoil() {
	for i := range b.n {
		page := b.back(i)
		for at := 0; at < len(page); at += 64 {
			page[at] = ^b.page(i)[at]
		}
	}
}

// stored returns the bytes that the objects take, none more than its page or pages.
func (b *batch) stored() int {
	sum := 0
	for i, n := range b.lengths[:b.n] {
		most := codec.PageSize
		if b.ids[i] == codec.ZstdCluster || b.ids[i] == codec.PageDenseCluster {
			most *= codec.ClusterPages
		}
		sum += min(int(n), most)
	}
	return sum
}
