package texel

// astcRange is a range of numbers in a sequence: so many bits, and a digit of base three (a trit) or five (a quint)
// above them.
type astcRange struct {
	base uint8 // 3, 5, or 0 for no digit
	bits uint8
}

// astcColorRanges are the ranges of the numbers that ends are made of, the largest first.
var astcColorRanges = [...]astcRange{{0, 8}, {3, 6}, {5, 5}, {0, 7}, {3, 5}, {5, 4}, {0, 6}, {3, 4}, {5, 3}, {0, 5},
	{3, 3}, {5, 2}, {0, 4}, {3, 2}, {5, 1}, {0, 3}, {3, 1}}

// astcWeightRanges are the ranges of weights, in the order of the specification's table: those of low precision first.
var astcWeightRanges = [...]astcRange{{0, 1}, {3, 0}, {0, 2}, {5, 0}, {3, 1}, {0, 3}, {5, 1}, {3, 2}, {0, 4}, {5, 2},
	{3, 3}, {0, 5}}

// size is the bits of a sequence of n numbers.
func (r astcRange) size(n int) int {
	size := n * int(r.bits)
	switch r.base {
	case 3:
		size += (8*n + 4) / 5
	case 5:
		size += (7*n + 2) / 3
	}
	return size
}

// read reads n numbers. It may write up to four more. Bits beyond the sequence must be 0.
func (r astcRange) read(to []uint8, w word128, n int) {
	at, width := uint(0), uint(r.bits)
	next := func(n uint) int {
		v := w.bits(at, n)
		at += n
		return v
	}
	switch r.base {
	case 3:
		for i := 0; i < n; i += 5 {
			group := to[i:][:5]
			packed := 0
			for j, part := range [5][2]uint{{0, 2}, {2, 2}, {4, 1}, {5, 2}, {7, 1}} {
				group[j] = uint8(next(width))
				packed |= next(part[1]) << part[0]
			}
			for j, t := range astcTrits(packed) {
				group[j] |= t << width
			}
		}
	case 5:
		for i := 0; i < n; i += 3 {
			group := to[i:][:3]
			packed := 0
			for j, part := range [3][2]uint{{0, 3}, {3, 2}, {5, 2}} {
				group[j] = uint8(next(width))
				packed |= next(part[1]) << part[0]
			}
			for j, q := range astcQuints(packed) {
				group[j] |= q << width
			}
		}
	default:
		for i := range n {
			to[i] = uint8(next(width))
		}
	}
}

// astcTrits unpacks five digits of base three.
func astcTrits(packed int) (t [5]uint8) {
	field := func(at, n int) uint8 { return uint8(packed >> at & (1<<n - 1)) }
	var c uint8
	if field(2, 3) == 7 {
		c = field(5, 3)<<2 | field(0, 2)
		t[4], t[3] = 2, 2
	} else {
		c = field(0, 5)
		if field(5, 2) == 3 {
			t[4], t[3] = 2, field(7, 1)
		} else {
			t[4], t[3] = field(7, 1), field(5, 2)
		}
	}
	switch {
	case c&3 == 3:
		t[2], t[1], t[0] = 2, c>>4, c>>3&1<<1|c>>2&^(c>>3)&1
	case c>>2&3 == 3:
		t[2], t[1], t[0] = 2, 2, c&3
	default:
		t[2], t[1], t[0] = c>>4, c>>2&3, c>>1&1<<1|c&^(c>>1)&1
	}
	return t
}

// astcQuints unpacks three digits of base five.
func astcQuints(packed int) (q [3]uint8) {
	field := func(at, n int) uint8 { return uint8(packed >> at & (1<<n - 1)) }
	if field(1, 2) == 3 && field(5, 2) == 0 {
		last := field(0, 1)
		q[2], q[1], q[0] = last<<2|field(4, 1)&^last<<1|field(3, 1)&^last, 4, 4
		return q
	}
	var c uint8
	if field(1, 2) == 3 {
		q[2], c = 4, field(3, 2)<<3|(3-field(5, 2))<<1|field(0, 1)
	} else {
		q[2], c = field(5, 2), field(0, 5)
	}
	if c&7 == 5 {
		q[1], q[0] = 4, c>>3
	} else {
		q[1], q[0] = c>>3, c&7
	}
	return q
}

// color stretches a number to 0..255 (section "Endpoint Unquantization").
func (r astcRange) color(v uint8) uint8 {
	width := uint(r.bits)
	if r.base == 0 {
		return replicated(v, width, 8)
	}
	digit, low := int(v>>width), int(v)&(1<<width-1)
	above := low >> 1 // the bits but the lowest
	var b, c int
	if r.base == 3 {
		b = [7]int{2: above * 0x116, 3: above<<7 | above<<2 | above, 4: above<<6 | above, 5: above<<5 | above>>2,
			6: above<<4 | above>>4}[width]
		c = [7]int{0, 204, 93, 44, 22, 11, 5}[width]
	} else {
		b = [7]int{2: above * 0x10c, 3: above<<7 | above<<1 | above>>1, 4: above<<6 | above>>1, 5: above<<5 | above>>3}[width]
		c = [7]int{0, 113, 54, 26, 13, 6}[width]
	}
	a := -(low & 1) & 0x1ff
	return uint8(a&0x80 | ((digit*c+b)^a)>>2)
}

// weight stretches a number to 0..64 (section "Weight Unquantization").
func (r astcRange) weight(v uint8) uint8 {
	width := uint(r.bits)
	var w int
	switch {
	case r.base == 0:
		w = int(replicated(v, width, 6))
	case width == 0 && r.base == 3:
		w = [3]int{0, 32, 63}[v]
	case width == 0:
		w = [5]int{0, 16, 32, 47, 63}[v]
	default:
		digit, low := int(v>>width), int(v)&(1<<width-1)
		above := low >> 1
		var b, c int
		if r.base == 3 {
			b, c = [4]int{2: above * 0x45, 3: above<<5 | above}[width], [4]int{0, 50, 23, 11}[width]
		} else {
			b, c = [4]int{2: above * 0x42}[width], [4]int{0, 28, 13}[width]
		}
		a := -(low & 1) & 0x7f
		w = a&0x20 | ((digit*c+b)^a)>>2
	}
	if w > 32 {
		w++
	}
	return uint8(w)
}

// replicated makes a number of to bits, 8 at most, by repeating one of fewer.
func replicated(v uint8, from, to uint) uint8 {
	all := uint(0)
	have := uint(0)
	for ; have < to; have += from {
		all = all<<from | uint(v)
	}
	return uint8(all >> (have - to))
}
