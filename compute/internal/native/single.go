package native

import (
	"math"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/kernel/series"
)

// The functions of package series on 32-bit floats. They are recorded as a list of steps first. Then each step is
// written, with its operands and its result in the vectors that hold nothing, or in memory where these are too few.

// what a step does.
type what uint8

const (
	isConstant what = iota // n in all lanes
	isOperand              // operand n of the instruction under way
	isOne                  // opcode of args[0]
	isTwo                  // opcode of args[0] and args[1]
	isShift                // args[0] by n bits; way is in predicate
	isFma
	isFnma
	isIf     // args[2] where args[0] compares as predicate with args[1], or else args[3]
	isIfSign // args[1] where args[0] has its sign set, or else args[2]
	isMantissa
	isScale
	isFar
	isSecond // the other result of the step before
)

// step is an operation on values, which have the numbers of the steps that make them.
type step struct {
	what      what
	opcode    opcode
	predicate uint8
	n         uint32
	args      []int
}

// recorder is a machine that records what it shall do.
type recorder struct{ steps []step }

var _ series.Machine[int] = &recorder{}

func (r *recorder) add(s step) int {
	r.steps = append(r.steps, s)
	return len(r.steps) - 1
}

func (r *recorder) one(o opcode, a int) int {
	return r.add(step{what: isOne, opcode: o, args: []int{a}})
}
func (r *recorder) two(o opcode, a, b int) int {
	return r.add(step{what: isTwo, opcode: o, args: []int{a, b}})
}
func (r *recorder) operand(k uint32) int { return r.add(step{what: isOperand, n: k}) }

func (r *recorder) Word(w uint32) int {
	same := func(s step) bool { return s.what == isConstant && s.n == w }
	if i := slices.IndexFunc(r.steps, same); i >= 0 {
		return i
	}
	return r.add(step{what: isConstant, n: w})
}

func (r *recorder) Add(a, b int) int      { return r.two(vaddps, a, b) }
func (r *recorder) Sub(a, b int) int      { return r.two(vsubps, a, b) }
func (r *recorder) Mul(a, b int) int      { return r.two(vmulps, a, b) }
func (r *recorder) Div(a, b int) int      { return r.two(vdivps, a, b) }
func (r *recorder) Min(a, b int) int      { return r.two(vminps, b, a) } // of a NaN the second
func (r *recorder) Max(a, b int) int      { return r.two(vmaxps, b, a) }
func (r *recorder) And(a, b int) int      { return r.two(vandps, a, b) }
func (r *recorder) Or(a, b int) int       { return r.two(vorps, a, b) }
func (r *recorder) Xor(a, b int) int      { return r.two(vxorps, a, b) }
func (r *recorder) AddWords(a, b int) int { return r.two(vpaddd, a, b) }
func (r *recorder) SubWords(a, b int) int { return r.two(vpsubd, a, b) }
func (r *recorder) Sqrt(a int) int        { return r.one(vsqrtps, a) }
func (r *recorder) Round(a int) int       { return r.one(vroundps, a) }
func (r *recorder) ToWord(a int) int      { return r.one(vcvtps2dq, a) }
func (r *recorder) ToFloat(a int) int     { return r.one(vcvtdq2ps, a) }
func (r *recorder) Fma(a, b, c int) int   { return r.add(step{what: isFma, args: []int{a, b, c}}) }
func (r *recorder) Fnma(a, b, c int) int  { return r.add(step{what: isFnma, args: []int{a, b, c}}) }

func (r *recorder) Left(a int, n uint8) int {
	return r.add(step{what: isShift, predicate: left, n: uint32(n), args: []int{a}})
}

func (r *recorder) Right(a int, n uint8) int {
	return r.add(step{what: isShift, predicate: rightSigned, n: uint32(n), args: []int{a}})
}

func (r *recorder) IfSign(a, yes, no int) int {
	return r.add(step{what: isIfSign, args: []int{a, yes, no}})
}

func (r *recorder) If(c series.Compare, a, b, yes, no int) int {
	predicate := [...]uint8{series.Less: floatLess, series.AtLeast: floatAtLeast, series.Equal: floatEqual,
		series.Unordered: floatUnordered}[c]
	if r.steps[a].what == isConstant {
		a, b = b, a
		switch predicate {
		case floatLess:
			predicate = floatGreater
		case floatAtLeast:
			predicate = floatAtMost
		}
	}
	return r.add(step{what: isIf, predicate: predicate, args: []int{a, b, yes, no}})
}

func (r *recorder) Split(a int) (mantissa, exponent int) {
	if !avx512() {
		return series.SplitWords(r, a)
	}
	mantissa = r.add(step{what: isMantissa, args: []int{a}})
	return mantissa, r.Sub(r.one(vgetexp, a), r.one(vgetexp, mantissa))
}

func (r *recorder) Scale(a, n int) int {
	if !avx512() {
		return series.ScaleWords(r, a, n)
	}
	return r.add(step{what: isScale, args: []int{a, n}})
}

func (r *recorder) Far(angle, rest, quadrants int) (int, int) {
	first := r.add(step{what: isFar, args: []int{angle, rest, quadrants}})
	return first, r.add(step{what: isSecond})
}

// value is a result while it is needed.
type value struct {
	uses     []int   // the steps that need it and have not been written, in order
	operand  operand // where it is, if it isn't in a vector
	inMemory bool    // operand has it
	in       vector
	inVector bool
	borrowed bool // in is one of those that hold nothing
}

// writer writes recorded steps.
type writer struct {
	*compiler
	steps  []step
	values []value
	at     int
	free   []vector
	pinned []int // the values that stay in their vectors
	spills []int // by place in memory, the value that is there, or -1
}

// mostSpills is how many values are in memory at most.
const mostSpills = 16

// writeSteps writes steps, and leaves the results in the vectors that it returns. These are of spare.
func (c *compiler) writeSteps(steps []step, results ...int) []vector {
	w := &writer{compiler: c, steps: steps, values: make([]value, len(steps))}
	w.findUses(results)
	for i, s := range steps {
		if s.what == isOperand && len(w.values[i].uses) > 0 {
			w.values[i].operand = c.reads(int(s.n))
		}
	}
	for i, s := range steps {
		v := &w.values[i]
		switch o := v.operand; {
		case s.what == isConstant:
			v.operand, v.inMemory = c.words(s.n), true
		case s.what != isOperand:
		case o.memory:
			v.inMemory = true
		default:
			v.in, v.inVector = o.vector, true
		}
	}
	w.free = append(w.free, spare[:]...)
	if c.wide {
		w.free = append(w.free, halfPlaces[:]...)
	}
	for i := range c.vectors[len(c.fixed):c.most] {
		if i += len(c.fixed); !c.vectors[i].valid {
			w.free = append(w.free, c.places[i])
		}
	}
	for w.at = range steps {
		if len(w.values[w.at].uses) > 0 {
			w.pinned = steps[w.at].args
			w.step(&steps[w.at])
		}
	}
	return w.inSpare(results)
}

// findUses finds which values are needed, and where.
func (w *writer) findUses(results []int) {
	for _, r := range results {
		w.values[r].uses = []int{len(w.steps)}
	}
	for i := len(w.steps) - 1; i >= 0; i-- {
		if w.steps[i].what == isSecond && len(w.values[i].uses) > 0 && len(w.values[i-1].uses) == 0 {
			w.values[i-1].uses = []int{i}
		}
		if len(w.values[i].uses) == 0 {
			continue
		}
		for _, a := range w.steps[i].args {
			if v := &w.values[a]; len(v.uses) == 0 || v.uses[0] != i {
				v.uses = slices.Insert(v.uses, 0, i)
			}
		}
	}
}

// inSpare moves at most two results to vectors of spare.
func (w *writer) inSpare(results []int) []vector {
	w.pinned = results
	list := make([]vector, len(results))
	for i, r := range results {
		list[i] = w.vector(r)
	}
	for i := range list {
		if slices.Contains(spare[:], list[i]) {
			continue
		}
		k := slices.IndexFunc(spare[:], func(s vector) bool { return !slices.Contains(list, s) })
		w.move(spare[k], reg(list[i]))
		list[i] = spare[k]
	}
	return list
}

// last says whether the step under way is the last that needs a value, in a vector that may be written.
func (w *writer) last(a int) bool {
	v := &w.values[a]
	return v.inVector && v.borrowed && len(v.uses) == 1 && v.uses[0] == w.at
}

// where gives a value, wherever it is.
func (w *writer) where(a int) operand {
	if v := &w.values[a]; !v.inVector {
		return v.operand
	}
	return reg(w.values[a].in)
}

// vector gives a value in a vector.
func (w *writer) vector(a int) vector {
	v := &w.values[a]
	if !v.inVector {
		into := w.borrow()
		w.move(into, v.operand)
		v.in, v.inVector, v.borrowed = into, true, true
	}
	return v.in
}

// borrow gives a vector that holds nothing: one of those that are free, or that of the value that is needed last.
func (w *writer) borrow() vector {
	if n := len(w.free); n > 0 {
		v := w.free[0]
		w.free = w.free[1:]
		return v
	}
	best := -1
	for i := range w.values {
		v := &w.values[i]
		if v.borrowed && !slices.Contains(w.pinned, i) && (best < 0 || v.uses[0] > w.values[best].uses[0]) {
			best = i
		}
	}
	v := &w.values[best]
	if !v.inMemory {
		k := slices.Index(w.spills, -1)
		if k < 0 {
			k = len(w.spills)
			w.spills = append(w.spills, -1)
		}
		w.spills[k] = best
		place := at(file, w.scratch+placeOfSpills+64*int32(k))
		w.store(place, v.in)
		v.operand, v.inMemory = memory(place), true
	}
	v.inVector, v.borrowed = false, false
	return v.in
}

// release ends the need of the step under way for its operands. The vectors of those that no step needs are free.
func (w *writer) release(s *step) {
	for _, a := range s.args {
		v := &w.values[a]
		if len(v.uses) == 0 || v.uses[0] != w.at {
			continue // it is an operand twice
		}
		v.uses = v.uses[1:]
		if len(v.uses) > 0 {
			continue
		}
		if v.borrowed {
			w.free = append(w.free, v.in)
			v.borrowed = false
		}
		if k := slices.Index(w.spills, a); k >= 0 {
			w.spills[k] = -1
		}
	}
}

// makes says in which vector the result of the step under way is.
func (w *writer) makes(into vector) { w.makesOf(w.at, into) }

func (w *writer) makesOf(result int, into vector) {
	v := &w.values[result]
	v.in, v.inVector, v.borrowed = into, true, true
	w.free = slices.DeleteFunc(w.free, func(f vector) bool { return f == into })
}

// result releases the operands and gives a vector for the result. It may be that of an operand.
func (w *writer) result(s *step) vector {
	w.release(s)
	into := w.borrow()
	w.makes(into)
	return into
}

// inPlace gives operand a of the step in a vector that is written: its own if no other step needs it.
func (w *writer) inPlace(s *step, a int) vector {
	if w.last(a) {
		into := w.values[a].in
		w.release(s)
		w.makes(into)
		return into
	}
	into := w.borrow()
	w.move(into, w.where(a))
	w.release(s)
	w.makes(into)
	return into
}

// commutes has the instructions whose operands may change places.
var commutes = map[opcode]bool{vaddps: true, vmulps: true, vandps: true, vorps: true, vxorps: true, vpaddd: true}

// step writes a step that is needed.
func (w *writer) step(s *step) {
	switch s.what {
	case isOne:
		o := w.where(s.args[0])
		into := w.result(s)
		switch s.opcode {
		case vroundps:
			w.immediate(vroundps, into, 0, o, 8)
		case vgetexp:
			w.in32(vgetexp, into, 0, o)
		default:
			w.one(s.opcode, into, o)
		}
	case isTwo:
		a, b := s.args[0], s.args[1]
		if w.steps[a].what == isConstant && commutes[s.opcode] {
			a, b = b, a
		}
		x := w.vector(a)
		o := w.where(b)
		w.two(s.opcode, w.result(s), x, o)
	case isShift:
		x := w.vector(s.args[0])
		w.shift(shift32, s.predicate, w.result(s), x, uint8(s.n))
	case isMantissa:
		x := w.vector(s.args[0])
		w.byte32(vgetmant, w.result(s), 0, reg(x), threeQuarters)
	case isScale:
		x, n := w.vector(s.args[0]), w.vector(s.args[1])
		w.in32(vscalef, w.result(s), x, reg(n))
	case isFma:
		w.fused(s)
	case isFnma:
		x, o := w.vector(s.args[0]), w.where(s.args[1])
		w.two(vfnmadd231ps, w.inPlace(s, s.args[2]), x, o)
	case isIf:
		w.choice(s, s.args[2], s.args[3])
	case isIfSign:
		w.choice(s, s.args[1], s.args[2])
	case isFar:
		w.far(s)
	}
}

// fused writes a product and a sum. The instruction writes the vector of one of its operands.
func (w *writer) fused(s *step) {
	a, b, sum := s.args[0], s.args[1], s.args[2]
	if !w.last(a) && w.last(b) || !w.values[a].inVector && w.values[b].inVector {
		a, b = b, a
	}
	if w.last(sum) || w.values[sum].inVector && !w.last(a) {
		x, o := w.vector(a), w.where(b)
		w.two(vfmadd231ps, w.inPlace(s, sum), x, o)
		return
	}
	x := w.vector(b)
	o := w.where(sum)
	w.two(vfmadd213ps, w.inPlace(s, a), x, o)
}

// choice writes a choice of lanes.
func (w *writer) choice(s *step, yes, no int) {
	a := w.vector(s.args[0])
	if avx512() {
		if s.what == isIf {
			w.compareTo(vcmpps, 0, 1, a, w.where(s.args[1]), s.predicate)
		} else {
			w.signsTo(1, a)
		}
		x, o := w.vector(no), w.where(yes)
		w.blendBy(1, w.result(s), x, o)
		return
	}
	mask := a
	if s.what == isIf {
		w.pinned = s.args[:1]
		mask = w.borrow()
		w.immediate(vcmpps, mask, a, w.where(s.args[1]), s.predicate)
		w.pinned = []int{yes, no}
	}
	x, o := w.vector(no), w.where(yes)
	w.immediate(vblendvps, w.result(s), x, o, uint8(mask)<<4)
	if mask != a {
		w.free = append(w.free, mask)
	}
}

// far writes a jump to code behind the rest, if one of the angles is large.
func (w *writer) far(s *step) {
	angle := w.vector(s.args[0])
	var places [2]vector
	for i, a := range s.args[1:] {
		if w.last(a) {
			places[i] = w.values[a].in
		} else {
			places[i] = w.borrow()
			w.move(places[i], w.where(a))
		}
	}
	from, back := w.label(), w.label()
	turns := w.words(math.Float32bits(series.Turns))
	if avx512() {
		w.compareTo(vcmpps, 0, 1, angle, turns, floatGreater)
		w.testBits(1)
	} else {
		t := w.borrow()
		w.immediate(vcmpps, t, angle, turns, floatGreater)
		w.signs(rcx, t)
		w.test(rcx)
		w.free = append(w.free, t)
	}
	w.jumpIf(notEqual, from)
	w.place(back)
	w.behind(from, back, func() { w.compiler.farAngles(angle, places) })
	w.release(s)
	w.makesOf(w.at, places[0])
	w.makesOf(w.at+1, places[1])
}

// farAngles writes the reduction of angles in 64 bits. Where they are large it replaces what is in places.
func (c *compiler) farAngles(angle vector, places [2]vector) {
	saved := func(k int32) address { return at(file, c.scratch+placeOfFar+128*k) }
	var temporary []vector
	for v := vector(0); len(temporary) < 3; v++ {
		if v != angle && v != places[0] && v != places[1] {
			c.store(saved(int32(len(temporary))), v)
			temporary = append(temporary, v)
		}
	}
	x, n, t := temporary[0], temporary[1], temporary[2]
	c.store(saved(3), angle)
	for half := range int32(2) {
		distance := half * 2 * int32(c.lanes())
		part := saved(3)
		part.displacement += distance
		c.one(vcvtps2pd, x, memory(part))
		c.farAngle(x, n, t)
		for k, v := range []vector{x, n} {
			part := saved(4 + int32(k))
			part.displacement += distance
			c.one(vcvtpd2ps, v, reg(v))
			c.store(part, v)
		}
	}
	turns := c.words(math.Float32bits(series.Turns))
	if avx512() {
		c.compareTo(vcmpps, 0, 1, angle, turns, floatGreater)
	} else {
		c.immediate(vcmpps, t, angle, turns, floatGreater)
	}
	for k, v := range places {
		o := memory(saved(4 + int32(k)))
		if avx512() {
			c.blendBy(1, v, v, o)
		} else {
			c.immediate(vblendvps, v, v, o, uint8(t)<<4)
		}
	}
	for k, v := range temporary {
		c.move(v, memory(saved(int32(k))))
	}
}

// farAngle leaves in x, which is an angle of 64 bits, that less a multiple of pi/2, and in n the lowest bits of the
// multiple, as a float. t is needed.
func (c *compiler) farAngle(x, n, t vector) {
	if c.wide {
		c.compareTo(vcmppd, quad, 1, x, c.float64s(series.Far), floatGreater)
		c.masked = 1
		c.two(vsubpd, x, x, reg(x))
	} else {
		c.immediate(vcmppd, t, x, c.float64s(series.Far), floatGreater)
		c.two(vandps, t, t, reg(x))
		c.two(vsubpd, x, x, reg(t))
	}
	c.move(n, c.float64s(series.TwoPi))
	c.two(vfmadd213pd, n, x, c.float64s(series.Magic))
	c.two(vsubpd, n, n, c.float64s(series.Magic))
	c.two(vfnmadd231pd, x, n, c.float64s(series.HalfPi))
	c.two(vfnmadd231pd, x, n, c.float64s(series.HalfPiLow))
	c.two(vmulpd, t, n, c.float64s(0.25))
	c.immediate(vroundpd, t, 0, reg(t), 8)
	c.two(vfnmadd231pd, n, t, c.float64s(4))
}

// single makes an operation of a function.
func single(f func(r *recorder, x int) int) func(c *compiler) {
	return func(c *compiler) {
		r := &recorder{}
		result := f(r, r.operand(0))
		from := c.writeSteps(r.steps, result)
		c.move(c.result(), reg(from[0]))
	}
}

// single2 is single of two operands.
func single2(f func(r *recorder, a, b int) int) func(c *compiler) {
	return single(func(r *recorder, a int) int { return f(r, a, r.operand(1)) })
}

func init() {
	one := func(op kernel.Op, f func(r *recorder, x int) int) { sequences[op] = single(f) }
	two := func(op kernel.Op, f func(r *recorder, a, b int) int) { sequences[op] = single2(f) }
	one(kernel.ExpF32, series.Exp)
	one(kernel.Exp2F32, series.Exp2)
	one(kernel.LogF32, series.Log)
	one(kernel.Log2F32, series.Log2)
	one(kernel.SinF32, series.Sin)
	one(kernel.CosF32, series.Cos)
	one(kernel.TanF32, series.Tan)
	one(kernel.AsinF32, series.Asin)
	one(kernel.AcosF32, series.Acos)
	one(kernel.AtanF32, series.Atan)
	one(kernel.SinhF32, series.Sinh)
	one(kernel.CoshF32, series.Cosh)
	one(kernel.TanhF32, series.Tanh)
	one(kernel.AsinhF32, series.Asinh)
	one(kernel.AcoshF32, series.Acosh)
	one(kernel.AtanhF32, series.Atanh)
	two(kernel.PowF32, series.Pow)
	two(kernel.Atan2F32, series.Atan2)
}
