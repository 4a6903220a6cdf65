// SPDX-License-Identifier: Apache-2.0

package page

// Plans are made for up to planLiterals-1 literals and matches of up to planLength+minLength-1
// bytes.
const (
	planLiterals = 16
	planLength   = 64
	minLength    = 2
)

// A plan says by which tokens a number of literals and a match behind them are written: up to
// three, from the lowest byte on. Bits 24 and 25 are how many; bits 28 to 31 what the far distance
// adds to the length. Where three are not enough the number is zero, the lowest byte is the token
// with the match, and the next two say how many literals are written before it and how many bytes
// of the match behind it.
type plan uint32

// A planTable holds the plans by kind, literals and length, the match's least. It has no plan,
// zero, where there can be none: far matches of fewer than four bytes and near ones of two.
type planTable [kinds * planLiterals * planLength]plan

// planAt is the place of a plan in the table.
func planAt(kind, literals, length int) int {
	return (kind*planLiterals+literals)*planLength + length - minLength
}

// count is how many tokens it has, or 0 where three are not enough.
func (p plan) count() int { return int(p >> 24 & 3) }

// extra is what the far distance adds to the length.
func (p plan) extra() int { return int(p >> 28) }

// plans is immutable once made.
var plans = makePlans()

// A planner knows which tokens there are and what runs of literals alone and of matches at the last
// distance alone cost.
type planner struct {
	number       [kinds][maxLiterals + 1][planLength + minLength]uint8 // the token for these, plus one
	matches      [kinds][]span                                         // what number has tokens for, the longest first
	literalSteps [maxLiterals + 1]int                                  // the longest token of literals alone that is no longer
	matchSteps   [planLength + minLength]int
	literalCost  [maxLiterals + 1]int // how many tokens
	matchCost    [planLength + minLength]int
}

// A span is how many literals and bytes of a match one token stands for.
type span struct{ literals, length int }

func newPlanner() *planner {
	p := new(planner)
	for i, t := range tokens[:literalRun] {
		number := &p.number[t.kind][t.literals]
		number[t.length] = uint8(i) + 1
		for more := 1; t.kind == far && more <= farExtra; more++ {
			number[t.length+uint8(more)] = uint8(i) + 1
		}
	}
	for kind := range p.number {
		for literals := maxLiterals; literals >= 0; literals-- {
			for length := planLength + minLength - 1; length >= minLength; length-- {
				if p.number[kind][literals][length] != 0 {
					p.matches[kind] = append(p.matches[kind], span{literals, length})
				}
			}
		}
	}
	for n := 1; n < len(p.literalCost); n++ {
		p.literalSteps[n] = n
		for p.number[rep0][p.literalSteps[n]][0] == 0 {
			p.literalSteps[n]--
		}
		p.literalCost[n] = 1 + p.literalCost[n-p.literalSteps[n]]
	}
	for n := 1; n < len(p.matchCost); n++ {
		p.matchSteps[n] = min(n, maxLength)
		for p.number[rep0][0][p.matchSteps[n]] == 0 {
			p.matchSteps[n]--
		}
		p.matchCost[n] = 1 + p.matchCost[n-p.matchSteps[n]]
	}
	return p
}

// rules serves makePlans and, for what no plan is made for, the encoder. It is immutable once made.
var rules = newPlanner()

func makePlans() *planTable {
	table := new(planTable)
	for kind := range kinds {
		for literals := range planLiterals {
			for length := minLength; length < planLength+minLength; length++ {
				table[planAt(kind, literals, length)] = rules.plan(kind, literals, length)
			}
		}
	}
	return table
}

// plan finds the fewest tokens: one with the match and as many of the literals and bytes as may be,
// and the rest alone.
func (p *planner) plan(kind, literals, length int) plan {
	best, before, behind := 1<<30, 0, 0
	for _, m := range p.matches[kind] {
		if m.literals > literals || m.length > length {
			continue
		}
		if cost := 1 + p.literalCost[literals-m.literals] + p.matchCost[length-m.length]; cost < best {
			best, before, behind = cost, literals-m.literals, length-m.length
		}
	}
	if best == 1<<30 {
		return 0
	}
	number := p.number[kind][literals-before][length-behind] - 1
	extra := plan(length-behind-int(tokens[number].length)) << 28
	if best > 3 {
		return extra | plan(number) | plan(before)<<8 | plan(behind)<<16
	}
	var list [3]byte
	l := p.appendLiterals(list[:0], before)
	l = p.appendMatch(append(l, number), behind)
	return extra | plan(len(l))<<24 | plan(list[0]) | plan(list[1])<<8 | plan(list[2])<<16
}

// appendLiterals appends tokens for up to maxLiterals literals without a match.
func (p *planner) appendLiterals(list []byte, n int) []byte {
	for ; n > 0; n -= p.literalSteps[n] {
		list = append(list, p.number[rep0][p.literalSteps[n]][0]-1)
	}
	return list
}

// appendMatch appends tokens for up to planLength+minLength-1 bytes more of the last match.
func (p *planner) appendMatch(list []byte, n int) []byte {
	for ; n > 0; n -= p.matchSteps[n] {
		list = append(list, p.number[rep0][0][p.matchSteps[n]]-1)
	}
	return list
}
