package draw

import (
	"encoding/binary"
	"math"

	"farside/internal/texel"
	"farside/internal/vk"
)

// stepLanes is how many lanes a row has.
const stepLanes = 256

// The rows of a plan: a word for each lane. Those of four have one by channel, or by word of a texel.
const (
	planSource   = 0  // of the shader
	planSecond   = 4  // its second source
	planClamped  = 8  // both, in the attachment's range
	planWords    = 16 // of texels as they are
	planThere    = 20 // their channels
	planResult   = 24 // channels that are blended
	planMade     = 28 // words of texels to be
	planFactor   = 32
	planSpare    = 40
	planZero     = 41
	planOne      = 42
	planConstant = 43
	planLength   = 47
)

// The constants of vectors.
const (
	constantQuiet    = iota // a NaN
	constantHalf            // 0.5
	constantOne             // 1.0
	constantBit             // 1
	constantNormal          // the least normal number of five bits of exponent
	constantInfinity        // of floats
	constantsCount
)

// The operations of steps: what they make of their rows and numbers.
const (
	stepAdd      = iota // a*b + c*d
	stepSubtract        // a*b - c*d
	stepMin             // lesser(a, b)
	stepMax             // the greater one
	stepRest            // 1 - a
	stepClamp           // a between two numbers
	stepMerge           // the bits of a number of a, otherwise b
	stepToSingle        // a: the bits of a NaN that stay

	// These take a channel of a: how far it is shifted to the left, and then to the right.
	stepUnorm  // and 1/scale, in two parts
	stepSnorm  // and the least number, too
	stepHalf   // and how far to the left again
	stepLinear // of sRGB

	// These put a channel of a beside those of b.
	stepToFixed // between two numbers, times the scale, the bits that it has; its first bit
	stepToHalf  // the bits of a NaN that stay; its first bit
	stepToSmall // see there
	stepToSRGB  // between two numbers, times the buckets; its first bit
	stepToUint  // up to a number; its first bit
	stepToSint  // up to a number, from another one on, the bits that it has; its first bit
)

// step makes a row of others.
type step struct {
	op, to, a, b, c, d uint8
	numbers            [6]uint32
}

// rowPlan is how texels are decoded, blended and encoded on vectors: steps, each of which is done for many lanes. Of a
// format it knows one step for each channel that is read, and one for each that is written.
type rowPlan struct {
	rows       [planLength]*uint32
	steps      []step
	made       [4]uint8 // rows of words to be
	bytes      *byte    // the first texel of the first layer
	rowPitch   int
	layerPitch int
	texelPitch int
	blockPitch int     // from one block of a pixel to the next
	size       int     // of a sample's texel
	gap        int     // from the first pair of texels of a block to the second
	firsts     *uint32 // with thresholds and linear, of texel.SRGB8
	thresholds *float32
	linear     *float32
	constants  [constantsCount][16]uint32
	//lint:ignore U1000 for assembly
	some    [64]byte // texels of a block of which some are covered
	memory  *[planLength][stepLanes]uint32
	samples uint32           // all of a pixel
	lanes   [2][8]*[4]uint32 // of the blocks of a row of a quad

	takes   bool     // what is there is read: channels are blended, or written in part
	dual    bool     // the second source is read
	known   uint64   // rows that have been made
	factors []factor // those in rows
}

// again is a plan with the memory of the one before.
func (p *rowPlan) again() rowPlan {
	return rowPlan{steps: p.steps[:0], memory: p.memory, factors: p.factors[:0]}
}

// plan makes the plan; false: there is none.
func (p *rowPlan) plan(c *colorTarget) bool {
	switch c.size {
	case 1, 2, 4, 8, 16:
	default:
		return false
	}
	if c.logic || !c.codec.Separable() {
		return false
	}
	p.takes = c.reads || !c.whole
	p.place(c)
	p.fill(c)
	for i := range p.made {
		p.made[i] = uint8(planWords + i)
	}
	for _, ch := range c.codec.Channels() {
		if c.key.blend.ColorWriteMask>>ch.Slot&1 == 0 {
			continue
		}
		row := uint8(planSource + ch.Slot)
		if c.reads {
			row = p.blended(c, ch.Slot)
		}
		if !p.encode(ch, row, c.reads) {
			return false
		}
	}
	for i := range p.made {
		if made := p.made[i]; made != uint8(planWords+i) && !c.whole {
			p.made[i] = uint8(planMade + i)
			p.step(step{op: stepMerge, to: p.made[i], a: made, b: uint8(planWords + i),
				numbers: [6]uint32{binary.LittleEndian.Uint32(c.bitMask[4*i:])}})
		}
	}
	return true
}

// fill sets what doesn't change.
func (p *rowPlan) fill(c *colorTarget) {
	for i, v := range [constantsCount]uint32{constantQuiet: 0x7fc00000, constantHalf: bitsOf(0.5), constantOne: bitsOf(1),
		constantBit: 1, constantNormal: bitsOf(1.0 / (1 << 14)), constantInfinity: 0x7f800000} {
		for k := range p.constants[i] {
			p.constants[i][k] = v
		}
	}
	t := texel.SRGBVectors()
	p.firsts, p.thresholds, p.linear = &t.Firsts[0], &t.Steps[0], &t.Linear[0]
	if p.memory == nil {
		p.memory = new([planLength][stepLanes]uint32)
	}
	for i := range p.rows {
		p.rows[i] = &p.memory[i][0]
	}
	for k := range stepLanes {
		p.memory[planOne][k] = bitsOf(1)
		for i, v := range c.blend.constants {
			p.memory[planConstant+i][k] = bitsOf(float32(v))
		}
	}
}

func bitsOf(v float32) uint32 { return math.Float32bits(v) }

func (p *rowPlan) step(s step) uint8 {
	p.steps = append(p.steps, s)
	return s.to
}

// once says whether a row has yet to be made.
func (p *rowPlan) once(row uint8) bool {
	before := p.known
	p.known |= 1 << row
	return p.known != before
}

// source is the row of a channel of the source, or of the second one.
func (p *rowPlan) source(c *colorTarget, row uint8) uint8 {
	p.dual = p.dual || row >= planSecond
	if !c.blend.fixed {
		return row
	}
	to := planClamped + row
	if p.once(to) {
		p.step(step{op: stepClamp, to: to, a: row,
			numbers: [6]uint32{bitsOf(float32(c.blend.low)), bitsOf(float32(c.blend.high))}})
	}
	return to
}

// there is the row of a channel of what is there.
func (p *rowPlan) there(c *colorTarget, slot int) uint8 {
	for _, ch := range c.codec.Channels() {
		if ch.Slot == slot {
			return p.decode(ch)
		}
	}
	if slot == 3 {
		return planOne
	}
	return planZero
}

// decode is the row of a channel of texels.
func (p *rowPlan) decode(ch texel.Channel) uint8 {
	word, first, bits := uint8(planWords+ch.First/32), ch.First%32, ch.Bits
	to := uint8(planThere + ch.Slot)
	if bits == 32 {
		return word
	}
	if !p.once(to) {
		return to
	}
	s := step{to: to, a: word, numbers: [6]uint32{uint32(32 - first - bits), uint32(32 - bits)}}
	switch ch.Kind {
	case vk.NumericUNORM, vk.NumericSNORM:
		s.op = stepUnorm
		if ch.Kind == vk.NumericSNORM {
			s.op, bits = stepSnorm, bits-1
		}
		scale := float64(uint32(1)<<bits - 1)
		part := float32(1 / scale)
		s.numbers[2], s.numbers[3], s.numbers[4] = bitsOf(part), bitsOf(float32(1/scale-float64(part))), bitsOf(-1)
	case vk.NumericSRGB:
		s.op = stepLinear
	default: // floats of 16 bits, or less, which lack a sign and the last bits of the mantissa
		s.op, s.numbers[2] = stepHalf, uint32(max(15-bits, 0))
	}
	return p.step(s)
}

// factor is the row of a factor.
func (p *rowPlan) factor(c *colorTarget, f factor) uint8 {
	var row uint8
	switch f.row {
	case rowZeros:
		return planZero
	case rowOnes:
		return planOne
	case rowConstants:
		row = planConstant + f.at
	case rowSource:
		row = p.source(c, planSource+f.at)
	case rowDual:
		row = p.source(c, planSecond+f.at)
	case rowThere:
		row = p.there(c, int(f.at))
	default:
		if f.at == 3 {
			return planOne
		}
		f.at = 0 // all others are the same
	}
	if f.row != rowSaturate && !f.rest {
		return row
	}
	for i, made := range p.factors {
		if made == f {
			return uint8(planFactor + i)
		}
	}
	to := uint8(planFactor + len(p.factors))
	p.factors = append(p.factors, f)
	if f.row == rowSaturate {
		p.step(step{op: stepRest, to: planSpare, a: p.there(c, 3)})
		return p.step(step{op: stepMin, to: to, a: p.source(c, planSource+3), b: planSpare})
	}
	return p.step(step{op: stepRest, to: to, a: row})
}

// blended is the row of a channel that is blended.
func (p *rowPlan) blended(c *colorTarget, slot int) uint8 {
	s := step{op: stepAdd, to: uint8(planResult + slot), a: p.source(c, uint8(planSource+slot))}
	there, op := p.there(c, slot), c.blend.op[slot]
	switch op {
	case vk.BLEND_OP_ADD, vk.BLEND_OP_SUBTRACT, vk.BLEND_OP_REVERSE_SUBTRACT:
		s.b, s.c, s.d = p.factor(c, c.blend.src[slot]), there, p.factor(c, c.blend.dst[slot])
		if op != vk.BLEND_OP_ADD {
			s.op = stepSubtract
		}
		if op == vk.BLEND_OP_REVERSE_SUBTRACT {
			s.a, s.b, s.c, s.d = s.c, s.d, s.a, s.b
		}
	case vk.BLEND_OP_MIN:
		s.op, s.b = stepMin, there
	default:
		s.op, s.b = stepMax, there
	}
	return p.step(s)
}

// encode puts a row into a channel of texels; false: nothing can. What has been blended has no NaN but one.
func (p *rowPlan) encode(ch texel.Channel, row uint8, blended bool) bool {
	word, first, bits := ch.First/32, uint32(ch.First%32), ch.Bits
	if bits > 32 {
		return false
	}
	s := step{to: uint8(planMade + word), a: row, b: planZero}
	if p.made[word] == s.to {
		s.b = s.to
	}
	mask := uint32(1<<bits - 1)
	switch ch.Kind {
	case vk.NumericUNORM, vk.NumericSNORM:
		if bits > 16 {
			return false
		}
		low, scale := float32(0), mask
		if ch.Kind == vk.NumericSNORM {
			low, scale = -1, mask>>1
		}
		s.op, s.numbers = stepToFixed, [6]uint32{bitsOf(low), bitsOf(1), bitsOf(float32(scale)), mask, first}
	case vk.NumericSRGB:
		s.op, s.numbers = stepToSRGB, [6]uint32{0, bitsOf(1), bitsOf(texel.SRGBBuckets), first}
	case vk.NumericSFLOAT:
		s.op, s.numbers = stepToHalf, [6]uint32{1 << 31, first}
		if bits == 32 {
			s.op, s.numbers = stepToSingle, [6]uint32{math.MaxUint32}
		}
		if blended {
			s.numbers[0] = 0
		}
	case vk.NumericUFLOAT:
		m := uint32(bits - 5) // of the mantissa
		s.op, s.numbers = stepToSmall, [6]uint32{(127 + 9 - m) << 23, 112<<23 - 1<<(22-m) + 1, 23 - m, 31<<m - 1,
			31<<m | 1<<(m-1), first}
	case vk.NumericUINT:
		s.op, s.numbers = stepToUint, [6]uint32{mask, first}
	case vk.NumericSINT:
		s.op, s.numbers = stepToSint, [6]uint32{mask >> 1, ^(mask >> 1), mask, first}
	default:
		return false
	}
	if p.made[word] = s.to; bits == 32 && (s.op == stepToUint || s.op == stepToSint) {
		p.made[word] = row
		return true
	}
	p.step(s)
	return true
}
