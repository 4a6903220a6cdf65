// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/zramfs/zramfs/codec"
)

// errDecoded reports an LZ4 block that one side wrote and the other does not read.
var errDecoded = errors.New("decoded wrongly by the other side")

// verify sends the whole sample through c, compares what comes back, lets liblz4 read c's LZ4
// blocks and c liblz4's, and returns the bytes of c's objects.
func verify(s sample, c *contestant) (stored int, err error) {
	b, lib := newBatch(roundPages), newBatch(roundPages)
	for start := 0; start < len(s.pages); start += roundPages {
		part := s.pages[start:min(start+roundPages, len(s.pages))]
		b.load(part, 0, 1)
		if err := there(b, c); err != nil {
			return 0, fmt.Errorf("%s, pages from %d on: %w", c.name, start, err)
		}
		stored += b.stored()
		if !c.block || !c.ours {
			continue
		}
		lib.load(part, 0, 1)
		if err := cross(b, lib, c); err != nil {
			return 0, fmt.Errorf("%s, pages from %d on: %w", c.name, start, err)
		}
	}
	return stored, nil
}

// there sends a batch there and back.
func there(b *batch, c *contestant) error {
	if err := c.pack(b); err != nil {
		return err
	}
	if c.settle != nil {
		c.settle(b)
	}
	b.spoil()
	if err := c.unpack(b); err != nil {
		return err
	}
	return b.check()
}

// cross lets liblz4 decode the blocks in b, which c made, and c those that liblz4 makes of the same
// pages.
func cross(b, lib *batch, c *contestant) error {
	b.spoil()
	for i := range b.n {
		if b.ids[i] != codec.LZ4 {
			copy(b.back(i), b.page(i))
			continue
		}
		if n, err := libDecode(b.back(i), b.object(i)); err != nil || n != codec.PageSize {
			return fmt.Errorf("page %d: liblz4 reads %d bytes of our object, %w", i, n, errors.Join(err, errDecoded))
		}
	}
	if err := b.check(); err != nil {
		return fmt.Errorf("our blocks read by liblz4: %w", err)
	}
	if err := libCompress(lib, nil); err != nil {
		return err
	}
	lib.spoil()
	for i := range lib.n {
		if err := c.decode(lib.back(i), lib.object(i)); err != nil {
			return fmt.Errorf("page %d: liblz4's object: %w", i, errors.Join(err, errDecoded))
		}
	}
	if err := lib.check(); err != nil {
		return fmt.Errorf("liblz4's blocks read by us: %w", err)
	}
	return nil
}
