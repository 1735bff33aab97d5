package draw

import (
	"encoding/binary"
	"math"

	"farside/internal/vk"
)

// blendTerms are a factor of blending as a sum. All terms but one, and the constant, are zero: whatever the order of
// additions, no sum is rounded but the last.
type blendTerms struct {
	source, sourceAlpha, there, thereAlpha, constant [4]float64
}

// blendPlan is blending of texels of four UNORM bytes on vectors, of which one has the channels of a texel.
type blendPlan struct {
	words     [4]*uint32 // of the source, by channel
	from, to  blendTerms // what the source and what is there is multiplied with
	take, put [16]byte   // how bytes go to the words of channels, and back
	mask      uint32     // bits that are written
}

// plan makes the plan; false: there is none. What is subtracted has its factor negated, which rounds nothing.
func (p *blendPlan) plan(c *colorTarget) bool {
	b := &c.blend
	if !c.bytes4 || b.dual || b.saturates {
		return false
	}
	*p = blendPlan{mask: binary.LittleEndian.Uint32(c.bitMask[:])}
	for i := range 16 {
		p.take[i], p.put[i] = 0x80, 0x80 // zero
	}
	for i := range 4 {
		at := c.shift[i] / 8
		p.take[4*i], p.put[at] = at, byte(4*i)
		from, to := 1.0, 1.0
		switch b.op[i] {
		case vk.BLEND_OP_ADD:
		case vk.BLEND_OP_SUBTRACT:
			to = -1
		case vk.BLEND_OP_REVERSE_SUBTRACT:
			from = -1
		default:
			return false
		}
		p.from.set(&b.src[i], i, from, b)
		p.to.set(&b.dst[i], i, to, b)
	}
	return true
}

// set sets the terms of a channel's factor.
func (t *blendTerms) set(f *factor, channel int, sign float64, b *blending) {
	own, alpha := &t.source, &t.sourceAlpha
	switch f.row {
	case rowOnes:
		t.constant[channel] = sign * (f.offset + f.sign)
		return
	case rowConstants:
		t.constant[channel] = sign * (f.offset + f.sign*b.constants[f.at&3])
		return
	case rowThere:
		own, alpha = &t.there, &t.thereAlpha
	}
	t.constant[channel] = sign * f.offset
	if int(f.at) == channel {
		own[channel] = sign * f.sign
	} else {
		alpha[channel] = sign * f.sign
	}
}

// blendPlanned blends the samples of a batch with what is there, in the order of the primitives.
func (o *outputStage) blendPlanned(r *run, f *fragmentStage, c *colorTarget) {
	p := &c.plan
	for k := range p.words {
		words := c.source.component[k]
		if words == nil || k == 3 && r.state.AlphaToOne {
			words = o.same(f.lanes, k == 3)
		}
		p.words[k] = &words[0]
	}
	o.n = 0
	for i := range f.quads {
		q := &f.quads[i]
		if q.cover[0]|q.cover[1]|q.cover[2]|q.cover[3] == 0 {
			continue
		}
		first := c.at(q.x, q.y, f.prims[q.prim].layer)
		if o.n+4*c.samples > groupTexels {
			o.blendPlan(c)
		}
		for k, cover := range q.cover {
			at := first + k>>1*c.rowPitch + k&1*4*c.samples
			if c.samples == 1 {
				if cover&1 != 0 {
					o.group[o.n] = groupTexel{at, 4*i + k}
					o.n++
				}
				continue
			}
			for s := range c.samples {
				if cover>>s&1 != 0 {
					o.group[o.n] = groupTexel{at + 4*s, 4*i + k}
					o.n++
				}
			}
		}
	}
	o.blendPlan(c)
}

// blendPlan blends the group. A texel beyond the end would be a panic, not a write to what is there.
func (o *outputStage) blendPlan(c *colorTarget) {
	most := 0
	for i := range o.group[:o.n] {
		most = max(most, o.group[i].at)
	}
	if o.n > 0 {
		_ = c.bytes[most:][:4]
		blendAVX2(&c.bytes[0], &o.group[0], o.n, &c.plan)
	}
	o.n = 0
}

// same is words of the number 0 or 1 for all lanes.
func (o *outputStage) same(lanes int, one bool) []uint32 {
	if len(o.none) < lanes {
		o.none, o.all = make([]uint32, lanes), make([]uint32, lanes)
		for i := range o.all {
			o.all[i] = math.Float32bits(1)
		}
	}
	if one {
		return o.all
	}
	return o.none
}
