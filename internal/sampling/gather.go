package sampling

// Gather reads the four texels that a linear filter would use of level 0, and gives one component of each: those at
// (0, 1), (1, 1), (1, 0) and (0, 0) (chapter "Texel Gathering"). With offsets, each is the texel at (0, 0) of a
// footprint that is shifted by its own.
func (r *Routine) Gather(dst *Texels, q *Lookup, component uint32, shifts *[4][2]int32, active Mask) {
	if r == nil || active == 0 {
		*dst = Texels{}
		return
	}
	v := r.view
	if q.Compare {
		component = 0 // of the results of comparisons, which are exchanged like texels
	}
	if component = uint32(v.swizzle[component&3]); component >= swizzleZero {
		*dst = Texels{}
		if one := v.one(); component == swizzleOne {
			dst.Fill(&[4]uint32{one, one, one, one})
		}
		return
	}
	p := &q.work
	p.begin(r, q, active)
	p.level = &v.levels[0].Level
	var t [4]Texels // of the results
	switch {
	case r.seamless:
		var of [4]Texels
		p.cubeTexels(&of, new([2]Lanes))
		t = [4]Texels{of[2], of[3], of[1], of[0]}
	default:
		start := p.start()
		if shifts == nil {
			p.pair(0, p.offset(0))
			p.pair(1, p.offset(1))
		}
		for n, side := range [4][2]int{{0, 1}, {1, 1}, {1, 0}, {0, 0}} {
			if shifts != nil {
				p.pairsShifted(&shifts[n])
				side = [2]int{}
			}
			at := *start
			for i := range at {
				at[i] += p.pairs[0].At[side[0]][i] + p.pairs[1].At[side[1]][i]
			}
			p.texels(&t[n], &at)
		}
	}
	for n := range dst {
		dst[n] = t[n][component]
	}
	p.r, p.q, p.level = nil, nil, nil
}

// pairsShifted finds the texels around the coordinates, which are shifted along both axes.
func (p *work) pairsShifted(by *[2]int32) {
	for axis, shift := range by {
		for i, o := range p.offset(axis) {
			p.shift[i] = o + uint32(shift)
		}
		p.pair(axis, &p.shift)
	}
}
