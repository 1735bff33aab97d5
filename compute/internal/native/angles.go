package native

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/kernel/series"
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
	r := &recorder{}
	sine, cosine := series.SinCos(r, r.operand(0))
	from := c.writeSteps(r.steps, sine, cosine)
	if both[0].Op == kernel.CosF32 {
		slices.Reverse(from)
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
