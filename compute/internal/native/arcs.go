package native

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// The inverses of sine and its like, and the hyperbolic functions, as kernel/asm/functions.go has them.

// More predicates: those with a not are true of NaNs.
const (
	floatUnordered  = 0x03
	floatUnequal    = 0x0c // and ordered
	floatNotLess    = 0x15
	floatNotAtMost  = 0x16
	magnitudeOf64   = 1<<63 - 1
	signOf64        = 1 << 63
	magnitudeOf32   = 1<<31 - 1
	signOf32        = 1 << 31
	placeOfFunction = placeOfOffsets // what does not fit into spare
)

// besides leaves the root of 1 - x*x in dst. t is needed.
func (h *inHalves) besides(dst, x, t vector) {
	h.move(dst, h.float64s(1))
	h.two(vsubpd, dst, dst, reg(x))
	h.two(vaddpd, t, x, h.float64s(1))
	h.two(vmulpd, dst, dst, reg(t))
	h.one(vsqrtpd, dst, reg(dst))
}

func arcSine(h *inHalves) vector {
	h.wide(0, spare[0])
	h.besides(spare[1], spare[0], spare[2])
	return h.angle()
}

func arcCosine(h *inHalves) vector {
	h.wide(0, spare[1])
	h.besides(spare[0], spare[1], spare[2])
	return h.angle()
}

func arcTangent(h *inHalves) vector {
	h.wide(0, spare[0])
	h.move(spare[1], h.float64s(1))
	return h.angle()
}

func arcTangent2(h *inHalves) vector {
	h.wide(0, spare[0])
	h.wide(1, spare[1])
	return h.angle()
}

// angle is that of a vector: y in spare[0], x in spare[1].
func (h *inHalves) angle() vector {
	y, x, t, less := spare[0], spare[1], spare[2], spare[3]
	saved := at(file, h.scratch+placeOfFunction)
	h.immediate(vcmppd, t, y, reg(x), floatUnordered)
	h.two(vorps, y, y, reg(t)) // a NaN if one of them is one
	h.store(saved, y)
	a, b := y, t
	h.two(vandps, a, y, h.quads(magnitudeOf64))
	h.two(vandps, b, x, h.quads(magnitudeOf64))
	h.immediate(vcmppd, less, a, reg(b), floatGreater)
	h.two(vandps, less, less, h.quads(1<<62))
	h.two(vandps, x, x, h.quads(signOf64))
	h.two(vorps, x, x, reg(less)) // the sign of x, and below it whether a is greater
	h.two(vminpd, less, a, reg(b))
	h.two(vmaxpd, a, a, reg(b))
	more, ratio := a, b
	h.two(vdivpd, ratio, less, reg(more))
	h.blendWhere(ratio, ratio, h.quads(0), floatEqual, more, h.quads(0), more)
	h.blendWhere(ratio, ratio, h.float64s(1), floatEqual, less, h.float64s(math.Inf(1)), less)
	r, sum := more, less
	h.two(vmulpd, r, ratio, reg(ratio))
	h.polynomial(sum, r, series.Atan)
	h.two(vmulpd, r, ratio, reg(sum))
	for i, all := range []float64{series.HalfPi, series.Pi} {
		if i == 0 {
			h.shift(shift64, left, t, x, 1)
			h.signsOf(sum, t)
		} else {
			h.signsOf(sum, x)
		}
		h.move(t, h.float64s(all))
		h.two(vsubpd, t, t, reg(r))
		h.blend(r, r, reg(t), sum)
	}
	h.move(x, memory(saved))
	h.immediate(vcmppd, t, x, reg(x), floatUnordered)
	h.two(vandps, x, x, h.quads(signOf64))
	h.two(vorps, r, r, reg(x))
	h.two(vorps, r, r, reg(t))
	return r
}

// exponentials leaves e**x in spare[0], its inverse in spare[1], and what their sum and difference are multiplied by in
// spare[3].
func (h *inHalves) exponentials() {
	e, inverse, x, half := spare[0], spare[1], spare[2], spare[3]
	h.wide(0, e)
	h.two(vmulpd, e, e, h.float64s(series.Log2E))
	h.exp2(e)
	h.move(inverse, h.float64s(1))
	h.two(vdivpd, inverse, inverse, reg(e))
	h.wide(0, x)
	h.two(vandps, x, x, h.quads(magnitudeOf64))
	h.move(half, h.float64s(0.5))
	h.blendWhere(half, half, h.float64s(1), floatGreater, x, h.float64s(128*series.Ln2), x)
}

// differ makes a hyperbolic sine of exponentials.
func (h *inHalves) differ() vector {
	r, x, square, small := spare[0], spare[1], spare[2], spare[3]
	h.two(vsubpd, r, r, reg(spare[1]))
	h.two(vmulpd, r, r, reg(spare[3]))
	h.wide(0, x)
	h.two(vmulpd, square, x, reg(x))
	h.polynomial(small, square, series.Sinh)
	h.two(vfmadd213pd, small, square, h.float64s(1))
	h.two(vmulpd, small, small, reg(x))
	h.two(vandps, x, x, h.quads(magnitudeOf64))
	h.blendWhere(r, r, reg(small), floatLess, x, h.float64s(1), x)
	return r
}

func hyperbolicSine(h *inHalves) vector {
	h.exponentials()
	return h.differ()
}

func hyperbolicCosine(h *inHalves) vector {
	h.exponentials()
	h.two(vaddpd, spare[0], spare[0], reg(spare[1]))
	h.two(vmulpd, spare[0], spare[0], reg(spare[3]))
	return spare[0]
}

func hyperbolicTangent(h *inHalves) vector {
	h.exponentials()
	saved := at(file, h.scratch+placeOfFunction)
	h.two(vaddpd, spare[2], spare[0], reg(spare[1]))
	h.two(vmulpd, spare[2], spare[2], reg(spare[3]))
	h.store(saved, spare[2])
	r := h.differ()
	h.two(vdivpd, r, r, memory(saved))
	return r
}

// magnitude leaves that of the operand in v.
func (h *inHalves) magnitude(v vector) {
	h.wide(0, v)
	h.two(vandps, v, v, h.quads(magnitudeOf64))
}

// signed gives r, which is not negative, the sign of the operand.
func (h *inHalves) signed(r, t vector) {
	h.wide(0, t)
	h.two(vandps, t, t, h.quads(signOf64))
	h.two(vorps, r, r, reg(t))
}

func areaSine(h *inHalves) vector {
	a, r, square, small := spare[0], spare[1], spare[2], spare[3]
	h.magnitude(a)
	h.two(vmulpd, r, a, reg(a))
	h.two(vaddpd, r, r, h.float64s(1))
	h.one(vsqrtpd, r, reg(r))
	h.two(vaddpd, a, a, reg(r))
	h.log2Positive(false)
	h.two(vmulpd, r, r, h.float64s(series.Ln2))
	h.magnitude(a)
	h.two(vmulpd, square, a, reg(a))
	h.polynomial(small, square, series.Asinh)
	h.two(vfmadd213pd, small, square, h.float64s(1))
	h.two(vmulpd, small, small, reg(a))
	h.blendWhere(r, r, reg(small), floatLess, a, h.float64s(series.Small), square)
	h.blendWhere(r, r, reg(a), floatNotLess, a, h.float64s(math.Inf(1)), square)
	h.signed(r, a)
	return r
}

func areaCosine(h *inHalves) vector {
	a, r, t := spare[0], spare[1], spare[2]
	h.wide(0, a)
	h.two(vsubpd, r, a, h.float64s(1))
	h.two(vaddpd, t, a, h.float64s(1))
	h.two(vmulpd, r, r, reg(t))
	h.one(vsqrtpd, r, reg(r))
	h.two(vaddpd, a, a, reg(r))
	h.log2Positive(false)
	h.two(vmulpd, r, r, h.float64s(series.Ln2))
	h.wide(0, a)
	h.blendWhere(r, r, h.quads(math.MaxUint64), floatLess, a, h.float64s(1), t)
	h.blendWhere(r, r, reg(a), floatNotLess, a, h.float64s(math.Inf(1)), t)
	return r
}

func areaTangent(h *inHalves) vector {
	a, r, square, small := spare[0], spare[1], spare[2], spare[3]
	h.magnitude(a)
	h.move(r, h.float64s(1))
	h.two(vsubpd, r, r, reg(a))
	h.two(vaddpd, a, a, h.float64s(1))
	h.two(vdivpd, a, a, reg(r))
	h.log2Positive(false)
	h.magnitude(a)
	h.two(vmulpd, square, a, reg(a))
	h.polynomial(small, square, series.Log2)
	h.two(vmulpd, small, small, reg(a))
	h.blendWhere(r, r, reg(small), floatLess, a, h.float64s(series.Ratio), square)
	h.blendWhere(r, r, h.float64s(math.Inf(1)), floatEqual, a, h.float64s(1), square)
	h.blendWhere(r, r, h.quads(math.MaxUint64), floatNotAtMost, a, h.float64s(1), square)
	h.two(vmulpd, r, r, h.float64s(series.Ln2/2))
	h.signed(r, a)
	return r
}
