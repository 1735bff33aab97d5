package native

import (
	"farside/compute/internal/kernel"
)

// mostBehindAngle is how far behind a sine its cosine may be to be computed with it.
const mostBehindAngle = 64

// joinAngles gives the instructions with a sine and the cosine of the same value behind each other, where that changes
// nothing.
func joinAngles(insts []Inst) []Inst {
	parts := func(in, o *Inst) bool { return o.Dst == in.A }
	return join(insts, mostBehindAngle, (*Inst).isSine, (*Inst).withSine, parts)
}

// isSine says whether it is a sine or a cosine.
func (in *Inst) isSine() bool { return in.Op == kernel.SinF32 || in.Op == kernel.CosF32 }

// withSine says whether one is the sine of a value and the other its cosine.
func (in *Inst) withSine(o *Inst) bool {
	return o.isSine() && in.isSine() && o.Op != in.Op && o.A == in.A && o.Once == in.Once && o.Dst != in.Dst &&
		in.Dst != in.A
}

// sineAndCosine writes the sine or cosine under way and, if that comes next, the other one: most of the work is the
// same for both.
func (c *compiler) sineAndCosine() bool {
	if c.at+1 >= len(c.insts) || !c.insts[c.at].withSine(&c.insts[c.at+1]) {
		return false
	}
	both := c.insts[c.at:][:2]
	h := c.halves(1)
	sine, cosine := spare[1], spare[3] // of the upper half
	for _, h.upper = range []bool{false, true} {
		s, t := h.bothOf()
		c.one(vcvtpd2ps, sine, reg(s))
		c.one(vcvtpd2ps, cosine, reg(t))
		if !h.upper {
			c.putLow(0, sine)
			c.putLow(1, cosine)
		}
	}
	c.withLow(0, spare[0], sine)
	c.withLow(1, spare[2], cosine)
	from := [2]vector{spare[0], spare[2]}
	if both[0].Op == kernel.CosF32 {
		from = [2]vector{spare[2], spare[0]}
	}
	var dst [2]vector
	c.results(both, dst[:])
	for i := range both {
		c.forgetPointers(both[i].Dst)
		c.move(dst[i], reg(from[i]))
	}
	for i := range both {
		c.keep(&both[i])
	}
	c.written = c.at + 2
	return true
}

// bothOf gives the sine and the cosine of half of the lanes.
func (h *inHalves) bothOf() (sine, cosine vector) {
	h.angles()
	cos, quarters, t, sin := spare[0], spare[1], spare[2], spare[3]
	h.even()
	if h.compiler.wide {
		h.ifEven(t, cos, sin)
		h.ifEven(cos, sin, cos)
	} else {
		h.two(vxorps, sin, sin, reg(cos))
		h.two(vandps, t, t, reg(sin))
		h.two(vxorps, t, t, reg(cos))   // the sine where the number is even, and the cosine elsewhere
		h.two(vxorps, cos, t, reg(sin)) // the other one
	}
	more := sin
	h.two(vpaddq, more, quarters, h.quads(1))
	h.turn(t, quarters)
	h.turn(cos, more)
	return t, cos
}
