package sampling

// Gather reads the four texels that a linear filter would use of level 0, and gives one component of each: those at
// (0, 1), (1, 1), (1, 0) and (0, 0) (chapter "Texel Gathering"). With offsets, each is the texel at (0, 0) of a
// footprint that is shifted by its own.
func (v *View) Gather(dst *Texels, s *Sampler, q *Lookup, component uint32, shifts *[4][2]int32, active Mask) {
	if v == nil || active == 0 {
		*dst = Texels{}
		return
	}
	if s == nil {
		s = nearest
	}
	p := sampling{v: v, s: s, q: q, active: active}
	p.begin()
	if q.Compare {
		component = 0
	} else {
		component = uint32(v.swizzle[component&3])
	}
	var t [4]Texels // of the results
	switch {
	case !q.Compare && component >= swizzleZero:
		if component == swizzleOne {
			for i := range Width {
				t[0].set(i, &[4]uint32{v.one(), v.one(), v.one(), v.one()})
			}
		}
		*dst = t[0]
		return
	case v.cube:
		var of [4]Texels
		p.cubeTexels(&of, new([2]Lanes), new([Width]int32), active)
		t = [4]Texels{of[2], of[3], of[1], of[0]}
	default:
		var k corners
		if shifts == nil {
			p.corners(&k, new([Width]int32), active, nil)
		}
		for n, side := range [4][2]int{{0, 1}, {1, 1}, {1, 0}, {0, 0}} {
			if shifts != nil {
				p.corners(&k, new([Width]int32), active, &shifts[n])
				side = [2]int{}
			}
			at := k.at[0][side[0]]
			for i := range at {
				at[i] += k.at[1][side[1]][i]
			}
			p.texels(&t[n], &at)
		}
	}
	for n := range dst {
		dst[n] = t[n][component]
	}
}
