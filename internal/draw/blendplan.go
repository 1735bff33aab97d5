package draw

import (
	"encoding/binary"
	"math"

	"farside/internal/texel"
	"farside/internal/vk"
)

// The rows of a plan: what factors are made of, and factors, for sixteen texels.
const (
	rowOfOnes      = 0
	rowOfSource    = 1 // by channel
	rowOfThere     = 5
	rowOfConstants = 9
	rowOfZeros     = 13
	rowOfFactors   = 14
	planRows       = rowOfFactors + 8
	rowBytes       = 64
)

// colorFactor is a factor of blending that is no row: offset + sign*row. Rows are bytes from the first one.
type colorFactor struct {
	row, to      int
	sign, offset float32
}

// colorPlan is how texels of four bytes, UNORM or sRGB, are written on vectors in one go: a vector has a channel of
// four texels, or of sixteen.
type colorPlan struct {
	rows       *[planRows][16]float32 // memory of its own, so that no row lies in two lines of the cache
	bytes      *byte                  // the first texel of the first layer
	rowPitch   int
	layerPitch int
	texelPitch int
	words      [4]*uint32 // of the source, by channel
	from, to   [4]int     // rows that the source and what is there are multiplied with
	factors    [8]colorFactor
	count      int         // of factors
	take, put  [4][32]byte // how the bytes of a channel become words, and back
	mask       uint32      // bits that are written
	samples    uint32      // all that there are
	blends     bool        // what is there takes part
	wide       bool        // four quads at once
	firsts     *uint32     // with steps and linear, of texel.SRGB8; nil: no channel is sRGB
	steps      *float32
	linear     *float32
}

// plan makes the plan; false: there is none. What is subtracted has its factor negated, which rounds nothing.
func (p *colorPlan) plan(c *colorTarget, wide bool) bool {
	b := &c.blend
	if !c.bytes4 && !c.srgb || c.logic || c.reads && (b.dual || b.saturates) {
		return false
	}
	rows := p.rows
	if rows == nil {
		rows = new([planRows][16]float32)
	}
	*p = colorPlan{rows: rows, mask: binary.LittleEndian.Uint32(c.bitMask[:]), samples: 1<<c.samples - 1,
		rowPitch: c.rowPitch, layerPitch: c.layerPitch, texelPitch: c.size * c.samples,
		blends: c.reads || !c.whole, wide: wide}
	if c.srgb {
		t := texel.SRGBVectors()
		p.firsts, p.steps, p.linear = &t.Firsts[0], &t.Steps[0], &t.Linear[0]
	}
	for k := range p.rows[rowOfOnes] {
		p.rows[rowOfOnes][k] = 1
	}
	for i := range 4 {
		for k := range p.rows[rowOfConstants+i] {
			p.rows[rowOfConstants+i][k] = float32(b.constants[i])
		}
		for k := range p.take[i] {
			p.take[i][k], p.put[i][k] = 0x80, 0x80 // zero
		}
		for k, at := byte(0), c.shift[i]/8; k < 32; k += 4 { // of its half, as VPSHUFB has it
			p.take[i][k], p.put[i][k+at] = k&15+at, k&15
		}
		if !c.reads {
			p.from[i], p.to[i] = rowOfOnes*rowBytes, rowOfZeros*rowBytes
			continue
		}
		from, to := float32(1), float32(1)
		switch op := b.op[i]; {
		case op == vk.BLEND_OP_ADD:
		case op == vk.BLEND_OP_SUBTRACT:
			to = -1
		case op == vk.BLEND_OP_REVERSE_SUBTRACT:
			from = -1
		default:
			return false
		}
		p.from[i], p.to[i] = p.factor(&b.src[i], from), p.factor(&b.dst[i], to)
	}
	return true
}

// factor is the row of a factor times 1 or -1.
func (p *colorPlan) factor(f *factor, sign float32) int {
	row := rowOfOnes
	switch f.row {
	case rowZeros:
		return rowOfZeros * rowBytes
	case rowSource:
		row = rowOfSource + int(f.at&3)
	case rowThere:
		row = rowOfThere + int(f.at&3)
	case rowConstants:
		row = rowOfConstants + int(f.at&3)
	}
	made := colorFactor{row: row * rowBytes, sign: sign}
	switch {
	case f.rest:
		made.sign, made.offset = -sign, sign
	case sign == 1:
		return made.row
	}
	for i := range p.factors[:p.count] {
		made.to = p.factors[i].to
		if made == p.factors[i] {
			return made.to
		}
	}
	made.to = (rowOfFactors + p.count) * rowBytes
	p.factors[p.count] = made
	p.count++
	return made.to
}

// writePlanned writes the samples of a batch, in the order of the primitives.
func (o *outputStage) writePlanned(r *run, f *fragmentStage, c *colorTarget) {
	p := &c.plan
	for k := range p.words {
		words := c.source.component[k]
		if words == nil || k == 3 && r.state.AlphaToOne {
			words = o.same(f.lanes, k == 3)
		}
		p.words[k] = &words[0]
	}
	p.bytes = &c.bytes[c.base]
	n := len(f.quads)
	switch wide := p.wide && c.samples >= 4; {
	case wide && !p.blends:
		storeSamplesAVX512(p, &f.quads[0], n, &f.prims[0])
	case wide:
		blendSamplesAVX512(p, &f.quads[0], n, &f.prims[0])
	case c.samples > 1 && !p.blends:
		storeSamplesAVX2(p, &f.quads[0], n, &f.prims[0])
	case c.samples > 1:
		blendSamplesAVX2(p, &f.quads[0], n, &f.prims[0])
	case p.blends:
		blendQuadsAVX2(p, &f.quads[0], n, &f.prims[0])
	default:
		storeQuadsAVX2(p, &f.quads[0], n, &f.prims[0])
	}
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
