package draw

import (
	"math"

	"farside/compute"
)

// Shaders that evaluate inputs by themselves (InterpolateAtSample, InterpolateAtOffset) read what locate and fillInputs
// would compute with.

// planAttribute gives an input the attribute that it is made of: one before it may be made of the same.
func (f *fragmentStage) planAttribute(in *fragmentInput) {
	for i := range f.inputs {
		other := &f.inputs[i]
		if (other.kind == inputInterpolated || other.kind == inputTerm) && &other.from[0] == &in.from[0] {
			in.at = other.at
			return
		}
	}
	in.at = f.perAttr
	f.perAttr += 3
	f.attributes = append(f.attributes, in.from)
}

// termWord is a word of a term of an attribute.
func (in *fragmentInput) termWord(attribute []float64) uint32 {
	if in.term == compute.TermFirst {
		return math.Float32bits(float32(attribute[0]))
	}
	return half(attribute[in.term-compute.TermFirst], in.half)
}

// fillSetup writes an input of the set-up.
func (f *fragmentStage) fillSetup(r *run, in *fragmentInput, dst []uint32) {
	for k := range f.quads {
		q := &f.quads[k]
		lanes := dst[4*k:][:4]
		switch x, y := uint32(q.x), uint32(q.y); in.component {
		case compute.SetupPixel:
			lanes[0], lanes[1], lanes[2], lanes[3] = x, x+1, x, x+1
		case compute.SetupPixel + 1:
			lanes[0], lanes[1], lanes[2], lanes[3] = y, y, y+1, y+1
		default:
			four(lanes, r.setupWord(in, &f.prims[q.prim]))
		}
	}
}

// setupWord is a word of the set-up that is the same in a whole quad.
func (r *run) setupWord(in *fragmentInput, p *prim) uint32 {
	switch k := in.component; {
	case k < compute.SetupOrigin:
		return r.raster.samplesWord(int(k - compute.SetupSamples))
	case k == compute.SetupOrigin:
		return half(p.x0, in.half)
	case k == compute.SetupOrigin+1:
		return half(p.y0, in.half)
	case k < compute.SetupPerspective:
		if p.affine { // the weights' planes aren't times 1/w
			return half((&plane{c: 1}).part(k-compute.SetupReciprocal), in.half)
		}
		return half(p.q.part(k-compute.SetupReciprocal), in.half)
	case k < compute.SetupLinear:
		k -= compute.SetupPerspective
		return half(p.b[k/3].part(k%3), in.half)
	case k < compute.SetupEnd:
		k -= compute.SetupLinear
		return half(p.l[k/3].part(k%3), in.half)
	}
	return 0
}

// part is one of the three numbers of a plane.
func (p *plane) part(k uint32) float64 { return [3]float64{p.x, p.y, p.c}[k] }

// samplesWord says where four samples are, a byte each: x and y in sixteenths. What no sample has is the center.
func (z *rasterizer) samplesWord(k int) uint32 {
	word := uint32(0)
	for i := range 4 {
		at := uint32(0x88)
		if sample := 4*k + i; sample < z.samples {
			at = uint32(z.positions[sample][0]/ofSixteenth | z.positions[sample][1]/ofSixteenth<<4)
		}
		word |= at << (8 * i)
	}
	return word
}

// half is one of the words of a float of 64 bits.
func half(x float64, half uint8) uint32 { return uint32(math.Float64bits(x) >> (32 * half)) }
