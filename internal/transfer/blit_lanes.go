package transfer

// The linear filter for other formats of up to eight bits a channel, sRGB among them: in lanes of 16 bits too, but
// of numbers that a table has found, and another table makes texels of. The kernels mixColumnsLanes and
// mixRowsLanes are written twice as well. What they cut off is far less than what one of eight bits more is worth.

// setPairsLanes fills in the pairs that say the same as the taps along x, which are indices of columns; weights
// are parts of 1<<16.
func (b *planeBlit) setPairsLanes() {
	if len(b.columns) == 1 { // the kernel reads two
		b.columns = append(b.columns, b.columns[0])
	}
	for _, t := range b.x.taps {
		first, second := uint32(min(1<<16-t.weight<<(16-WeightBits), 1<<16-1)), uint32(t.weight<<(16-WeightBits))
		low := t.a
		if t.b < t.a || t.a == int32(len(b.columns)-1) { // mirrored, or with nothing behind it
			low, first, second = t.a-1, second, first
		}
		b.pairs = append(b.pairs, pair{uint32(low) * 8, first | second<<16})
	}
	b.padPairs()
}

// filterLanes is filterRows for these formats, without a filter along z.
func (b *planeBlit) filterLanes(s *blitScratch, from, to int) {
	width := len(b.pairs)
	s.lanes.reset(width)
	s.words = grow(s.words, max(width, len(b.columns)))
	sampled := func(p place) []uint64 {
		row, fresh := s.lanes.row(p)
		if fresh {
			b.from.DecodeLanes(s.words[:len(b.columns)], b.read(s, p))
			mixColumnsLanes(row, s.words, b.pairs)
		}
		return row
	}
	for r := from; r < to; r++ {
		dst, layer, z, y := b.target(r)
		u := sampled(place{layer, z.a, y.a})
		if y.weight == 0 {
			copy(s.words, u)
		} else {
			v := sampled(place{layer, z.a, y.b})
			second := uint32(y.weight) << (16 - WeightBits)
			mixRowsLanes(s.words[:width], u, v, 1<<16-second, second)
		}
		b.to.EncodeLanes(dst, s.words[:len(b.x.taps)])
	}
}
