package sampling

import (
	mathbits "math/bits"

	"farside/internal/lanes"
)

// locate finds the texels at integer coordinates in SPIR-V's order: x, y and z, or the layer behind the axes. Cubes
// have six layers each. lod is the level in each lane, sample the sample; nil is 0.
func (v *View) locate(to *lanes.Offsets, at *[3]Lanes, lod, sample *Lanes, active Mask) {
	xs, ys, zs := &at[0], &none, &none
	if v.axes >= 2 {
		ys = &at[1]
	}
	if v.axes == 3 || v.arrayed || v.cube {
		zs = &at[min(v.axes, 2)]
	}
	if lod == nil {
		v.levels[0].Locate(to, xs, ys, zs, active)
	} else {
		v.locateLevels(to, xs, ys, zs, lod, active)
	}
	if sample == nil {
		return
	}
	for i, n := range sample {
		if n < uint32(v.samples) {
			to[i] += int(n) * v.format.Size
		} else {
			to[i] = lanes.Outside
		}
	}
}

// locateLevels locates in the level of each lane: in one level after the other, as many as the active lanes have.
func (v *View) locateLevels(to *lanes.Offsets, x, y, z, lod *Lanes, active Mask) {
	for i := range to {
		to[i] = lanes.Outside
	}
	for active != 0 {
		level := lod[mathbits.TrailingZeros8(uint8(active))&(Width-1)]
		var same Mask
		for i, n := range lod {
			if n == level {
				same |= active & (1 << i)
			}
		}
		active &^= same
		if level >= uint32(len(v.levels)) {
			continue
		}
		var some lanes.Offsets
		v.levels[level].Locate(&some, x, y, z, same)
		for i, o := range some {
			if same.Has(i) {
				to[i] = o
			}
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
	var to lanes.Offsets
	v.locate(&to, at, nil, nil, active)
	v.format.Read(dst, v.data, &to)
}

// Fetch reads texels of a sampled image, in level lod (nil: 0), or one sample of each (nil: the first), or of a uniform
// texel buffer. Coordinates are integers, the layer last. A sample that the image has not is outside.
func (v *View) Fetch(dst *Texels, at *[3]Lanes, lod, sample *Lanes, active Mask) {
	if v == nil {
		*dst = Texels{}
		return
	}
	var to lanes.Offsets
	v.locate(&to, at, lod, sample, active)
	v.format.Read(dst, v.data, &to)
	v.exchange(dst)
}

// Write writes texels of a storage image or a storage texel buffer; lanes in their order.
func (v *View) Write(at *[3]Lanes, src *Texels, active Mask) {
	if v == nil || v.format.Blocks != nil {
		return
	}
	var to lanes.Offsets
	v.locate(&to, at, nil, nil, active)
	v.format.Write(v.data, &to, src)
}
