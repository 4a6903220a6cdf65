// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"encoding/binary"
	"math/bits"
)

// modelBatch is what a warp knows of up to 32 tokens, one in each lane.
type modelBatch struct {
	literals, length, kind, distance [lanes]int
	out, from                        [lanes]int // where the token's bytes begin in the page, where its literals do in their stream
}

// modelPage decompresses an object of the page format as the kernel does, 32 tokens at a time.
func modelPage(object []byte) (page []byte, ok bool) {
	n := len(object)
	if n < 3 || n > MaxPageObject {
		return nil, false
	}
	counts := int(object[0]) | int(object[1])<<8 | int(object[2])<<16
	literals, tokens := object[3:], counts>>12
	firstToken, literalsLeft := n-tokens, counts&0xfff
	if 3+literalsLeft+tokens > n {
		return nil, false
	}
	nearAt, farAt := 3+literalsLeft, firstToken
	page = make([]byte, PageSize)
	state := [lanes]int{1, 8, 4, 16}
	out, used := 0, 0
	for ; tokens > 0; tokens, firstToken = tokens-lanes, firstToken+lanes {
		var b modelBatch
		count := min(tokens, lanes)
		nears, fars := b.look(object[firstToken : firstToken+count])
		nearsAll, farsAll := bits.OnesCount32(nears), bits.OnesCount32(fars)
		if nearAt+nearsAll > farAt-2*farsAll {
			return nil, false
		}
		b.distances(object[nearAt:], object[:farAt], nears, fars)
		nearAt, farAt = nearAt+nearsAll, farAt-2*farsAll
		literalsSum, sum := b.places(out, used)
		b.remember(&state)
		if used+literalsSum > literalsLeft || out+sum > PageSize || !b.reach() {
			return nil, false
		}
		b.copy(page, literals, count, out, sum)
		out, used = out+sum, used+literalsSum
	}
	return page, out == PageSize && used == literalsLeft && nearAt == farAt
}

// look finds the tokens in the table and says which take a near byte and which a far word.
func (b *modelBatch) look(tokens []byte) (nears, fars uint32) {
	for lane, token := range tokens {
		entry := binary.LittleEndian.Uint32(modelTable[4*int(token):])
		b.literals[lane], b.length[lane], b.kind[lane] = int(entry&255), int(entry>>8&255), int(entry>>16)
		switch b.kind[lane] {
		case kindNear, kindLiteralRun, kindMatchRun:
			nears |= 1 << lane
		case kindFar:
			fars |= 1 << lane
		}
	}
	return nears, fars
}

var modelTable = PageTable()

// distances takes near bytes from the front and far words from the back.
func (b *modelBatch) distances(near, far []byte, nears, fars uint32) {
	for lane := range lanes {
		before := uint32(1)<<lane - 1
		if nears>>lane&1 != 0 {
			n := int(near[bits.OnesCount32(nears&before)])
			if b.distance[lane] = n + 1; n >= 64 {
				b.distance[lane] = 8*n - 440
			}
			switch b.kind[lane] {
			case kindLiteralRun:
				b.literals[lane] = runUnit * (n + 1)
			case kindMatchRun:
				b.length[lane] = runUnit * (n + 1)
			}
		}
		if fars>>lane&1 != 0 {
			w := int(binary.LittleEndian.Uint16(far[len(far)-2*bits.OnesCount32(fars&before)-2:]))
			b.distance[lane], b.length[lane] = w&0xfff, b.length[lane]+w>>12
		}
	}
}

// places sums up what the tokens before each one write and take.
func (b *modelBatch) places(out, used int) (literals, all int) {
	for lane := range lanes {
		b.out[lane], b.from[lane] = out+all, used+literals
		literals += b.literals[lane]
		all += b.literals[lane] + b.length[lane]
	}
	return literals, all
}

// A move tells of each remembered distance, a byte each, where it comes from: 0 to 3 is what was at
// that rank before, 128 and more the distance of the lane of that number.
var modelMoves = [8]uint32{moveLast, moveSecond, moveThird, moveFourth, moveNew, moveNew, moveLast, moveLast}

// modelThen is the move that does a and then b.
func modelThen(a, b uint32) uint32 {
	var c uint32
	for i := 0; i < 32; i += 8 {
		from := b >> i & 255
		if from < 128 {
			from = a >> (8 * from) & 255
		}
		c |= from << i
	}
	return c
}

// remember resolves the distances of the tokens that name a rank, by a scan over moves, and gives
// the state after the last.
func (b *modelBatch) remember(state *[lanes]int) {
	var move [lanes]uint32
	for lane := range lanes {
		if move[lane] = modelMoves[b.kind[lane]]; move[lane] == moveNew {
			move[lane] |= 128 | uint32(lane)
		}
	}
	for d := 1; d < lanes; d *= 2 {
		before := move
		for lane := d; lane < lanes; lane++ {
			move[lane] = modelThen(before[lane-d], before[lane])
		}
	}
	find := func(from uint32) int {
		if from >= 128 {
			return b.distance[from-128]
		}
		return state[from]
	}
	var next, found [lanes]int
	for lane := range lanes {
		found[lane] = find(move[lane] & 255)
		next[lane] = find(uint32(uint64(move[lanes-1]) >> (8 * min(lane, 4)) & 255))
	}
	b.distance, *state = found, next
}

// reach tells whether all matches begin inside of the page.
func (b *modelBatch) reach() bool {
	for lane := range lanes {
		if b.length[lane] > 0 && uint(b.distance[lane]-1) >= uint(b.out[lane]+b.literals[lane]) {
			return false
		}
	}
	return true
}

// copy writes the bytes of the batch, 32 at a time: each lane finds the token that its byte is of
// by the marks of where tokens begin.
func (b *modelBatch) copy(page, literals []byte, count, out, sum int) {
	var marks [PageSize / 32]uint32
	for lane := range count {
		marks[(b.out[lane]-out)/32] |= 1 << ((b.out[lane] - out) % 32)
	}
	before := -1
	for chunk := 0; chunk < sum; chunk += lanes {
		mark := marks[chunk/32]
		var source, value [lanes]int // of source, what is below zero is the lane -1-source of this chunk; literals lie behind the page
		for lane := range min(lanes, sum-chunk) {
			token := before + bits.OnesCount32(mark&(2<<lane-1))
			at := out + chunk + lane
			switch in := at - b.out[token] - b.literals[token]; {
			case in < 0:
				source[lane] = PageSize + b.from[token] + at - b.out[token]
			case b.distance[token] > lane:
				source[lane] = at - b.distance[token]
			default:
				source[lane] = -1 - (lane - b.distance[token])
			}
		}
		modelSettle(&source)
		for lane := range lanes {
			if source[lane] >= PageSize {
				value[lane] = int(literals[source[lane]-PageSize])
			} else {
				value[lane] = int(page[source[lane]])
			}
		}
		for lane := range min(lanes, sum-chunk) {
			page[out+chunk+lane] = byte(value[lane])
		}
		before += bits.OnesCount32(mark)
	}
}

// modelSettle replaces lanes by what those come from, as often as a way of 32 lanes can be halved.
func modelSettle(source *[lanes]int) {
	for range 5 {
		old := *source
		for lane := range lanes {
			if old[lane] < 0 {
				source[lane] = old[-1-old[lane]]
			}
		}
	}
}
