package sampling

// locate finds the texels at integer coordinates in SPIR-V's order: x, y and z, or the layer behind the axes. Cubes
// have six layers each. lod is the level in each lane, sample the sample; nil is 0.
func (v *View) locate(to *offsets, at *[3]Lanes, lod, sample *Lanes, active Mask) {
	xs, ys, zs := &at[0], &none, &none
	if v.axes >= 2 {
		ys = &at[1]
	}
	if v.axes == 3 || v.arrayed || v.cube {
		zs = &at[min(v.axes, 2)]
	}
	l := &v.levels[0]
	for i := range to {
		to[i] = outside
		if !active.has(i) {
			continue
		}
		if lod != nil {
			if lod[i] >= uint32(len(v.levels)) {
				continue
			}
			l = &v.levels[lod[i]]
		}
		x, y, z := xs[i], ys[i], zs[i]
		if x < l.size[0] && y < l.size[1] && z < l.size[2] {
			to[i] = l.at(int32(x), int32(y), int32(z))
		}
	}
	if sample == nil {
		return
	}
	for i, n := range sample {
		if n < uint32(v.samples) {
			to[i] += int(n) * v.format.size
		} else {
			to[i] = outside
		}
	}
}

// none are the coordinates along an axis that a view has not.
var none Lanes

// Read reads texels of a storage image or a storage texel buffer. Coordinates are integers, the layer last.
func (v *View) Read(dst *Texels, at *[3]Lanes, active Mask) {
	if v == nil {
		*dst = Texels{}
		return
	}
	var to offsets
	v.locate(&to, at, nil, nil, active)
	v.format.read(dst, v.data, &to)
}

// Fetch reads texels of a sampled image, in level lod (nil: 0), or one sample of each (nil: the first), or of a uniform
// texel buffer. Coordinates are integers, the layer last. A sample that the image has not is outside.
func (v *View) Fetch(dst *Texels, at *[3]Lanes, lod, sample *Lanes, active Mask) {
	if v == nil {
		*dst = Texels{}
		return
	}
	var to offsets
	v.locate(&to, at, lod, sample, active)
	v.format.read(dst, v.data, &to)
	v.exchange(dst)
}

// Write writes texels of a storage image or a storage texel buffer; lanes in their order.
func (v *View) Write(at *[3]Lanes, src *Texels, active Mask) {
	if v == nil || v.format.blocks != nil {
		return
	}
	var to offsets
	v.locate(&to, at, nil, nil, active)
	v.format.write(v.data, &to, src)
}
