package native

import "sync"

// pieces are how a vector is loaded whose lanes lie some words apart in memory: each piece is eight words that follow
// each other, some of which are lanes. No two lanes have the same place in their pieces, so the pieces are blended, and
// then order brings each lane from its place.
type pieces struct {
	from  []int32 // the first word of each, counted from lane 0
	takes []uint8 // which places of each have lanes
	order [8]uint32
	bytes uint64 // from lane 0 to the end of what is read
}

var allPieces = sync.OnceValue(func() *[MostWords + 1]pieces {
	list := new([MostWords + 1]pieces)
	for words := int32(1); words <= MostWords; words++ {
		list[words] = cut(words)
	}
	return list
})

func piecesOf(words int32) *pieces { return &allPieces()[words] }

// cut finds the pieces for a distance, each for as many lanes as it can. What lies behind the last lane is read only if
// there is no other way.
func cut(words int32) pieces {
	p := pieces{bytes: uint64(28*words + 4)}
	taken := uint8(0)
	for lane := int32(0); lane < 8; {
		n := min(7/words+1, 8-lane)
		from, places := begin(words, lane, n, taken)
		for from < 0 {
			n--
			from, places = begin(words, lane, n, taken)
		}
		for ; n > 0; n, lane = n-1, lane+1 {
			p.order[lane] = uint32(lane*words - from)
		}
		taken |= places
		p.from, p.takes = append(p.from, from), append(p.takes, places)
		p.bytes = max(p.bytes, uint64(4*(from+8)))
	}
	return p
}

// begin finds the first word of a piece for n lanes, with the places that they have in it, or -1: all places must be
// free. One lane always finds a place.
func begin(words, lane, n int32, taken uint8) (from int32, places uint8) {
	first, last := lane*words, (lane+n-1)*words
	from = -1
	for word := first; word >= max(last-7, 0); word-- {
		p := uint8(0)
		for i := range n {
			p |= 1 << (first + i*words - word)
		}
		if p&taken != 0 || from >= 0 && word+8 > 7*words+1 {
			continue
		}
		from, places = word, p
		if word+8 <= 7*words+1 {
			break
		}
	}
	return from, places
}

// loadWords loads a vector whose lanes lie some words apart.
func (c *compiler) loadWords(dst vector, from address, words int32) {
	p := piecesOf(words)
	for i, word := range p.from {
		piece := from
		piece.displacement += 4 * word
		if i == 0 {
			c.one(vmovups, dst, memory(piece))
		} else {
			c.immediate(vpblendd, dst, dst, memory(piece), p.takes[i])
		}
	}
	if p.order != [8]uint32{0, 1, 2, 3, 4, 5, 6, 7} {
		c.one(vmovups, spare[0], c.constant(p.order))
		c.two(vpermps, dst, spare[0], reg(dst))
	}
}

// storeWords writes the lanes of a vector that take part some words apart.
func (c *compiler) storeWords(to address, value vector, words int32) {
	half := value
	for lane := range int32(8) {
		if lane == 4 {
			half = spare[0]
			c.upper(half, value)
		}
		next := c.label()
		if c.mode == Masked {
			c.unlessActive(lane, next)
		}
		c.storeLane(to, half, uint8(lane&3))
		c.place(next)
		to.displacement += 4 * words
	}
}
