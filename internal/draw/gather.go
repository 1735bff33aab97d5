package draw

// gatherPlan is how a component of an attribute is read with AVX-512.
type gatherPlan struct {
	base           *byte // of the first vertex
	vertices       *uint32
	n              int
	stride, offset uint64
	last           int64        // offsets beyond it read as zero
	table          *[256]uint32 // what a byte becomes; nil: the word stays as it is
	shift          uint64       // of the byte
}

// gather is fetchWords and fetchBytes for attributes of vertices whose components are words, or bytes of one word.
func (a *attribute) gather(vertices []uint32) {
	size := 4 * max(a.words, 1)
	for i := range a.components {
		c := &a.components[i]
		dst := c.dst[:len(vertices)]
		place := c.slot
		if a.words == 0 {
			place = int(a.places[c.slot&3])
		}
		switch {
		case place < 0 || a.words > 0 && place >= a.words:
			same(dst, a.missing(c.slot))
			continue
		case len(a.bytes) < size:
			clear(dst)
			continue
		}
		p := gatherPlan{base: &a.bytes[0], vertices: &vertices[0], n: len(vertices), stride: a.stride, offset: a.offset,
			last: int64(len(a.bytes) - size)}
		if a.words > 0 {
			p.base = &a.bytes[4*place]
		} else {
			p.table, p.shift = a.table, 8*uint64(place)
		}
		gatherAVX512(&p, &dst[0])
	}
}
