package backend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// stride is what is known of a value in the lanes of a chunk.
type stride struct {
	known     bool // it has been looked at
	regular   bool // each lane has step more than the one before, modulo 2^32
	saturates bool // but for lanes where it would be more than 2^32 - 1
	linear    bool // so has the first lane of each chunk than the last lane of the chunk before
	step      uint32
}

const (
	farthest     = 64   // the largest step that is told from none
	deepestChain = 1000 // operations between a value and what its stride follows from
	chunkBits    = 3    // the binary logarithm of kernel.Width
	alignedDepth = 6    // operations between a value and what says that it is a multiple
)

// pattern is what is known of the offsets of an access, with the words from a lane to the next.
func (e *emitter) pattern(n *ir.Node) (_ native.Pattern, words uint8) {
	s, small := e.strideOf(n.Args[0], n.Block), uint32(0)
	switch n.Op {
	case kernel.LoadU8, kernel.Store8:
		small = 1
	case kernel.LoadU16, kernel.Store16:
		small = 2
	}
	switch {
	case s.regular && s.step == 0:
		return native.Same, 0
	case !s.regular || s.step != small && (s.step%4 != 0 || s.step > 4*native.MostWords):
		return native.Any, 0
	case s.linear:
		return native.Linear, uint8(s.step / 4)
	}
	return native.Consecutive, uint8(s.step / 4)
}

// counts says whether a value is one more in each lane than in the one before, modulo 2^32.
func (e *emitter) counts(v ir.Value, b int32) bool {
	s := e.strideOf(v, b)
	return s.regular && s.linear && !s.saturates && s.step == 1
}

// strideOf is the stride of a value as it is read in block b. findStride asks for those of its operands: deepestChain
// bounds that recursion.
func (e *emitter) strideOf(v ir.Value, b int32) stride {
	n := &e.g.Nodes[v]
	if v != 0 && !e.g.Floats(v) && e.g.Leaves(n.Block, b) >= 0 {
		return stride{} // lanes have it from different rounds
	}
	if !n.Varying {
		return stride{regular: true, linear: true}
	}
	s := &e.strides[v]
	if !s.known {
		if e.pending == deepestChain {
			return stride{} // the module chooses how long chains are
		}
		s.known = true // what leads back to itself is not regular
		e.pending++
		found := e.findStride(n)
		e.pending--
		found.known = true
		if found.step > farthest {
			found.regular = false
		}
		*s = found
	}
	return *s
}

func (e *emitter) findStride(n *ir.Node) stride {
	if n.Wide {
		return stride{}
	}
	switch n.Op {
	case ops.Builtin:
		return e.builtinStride(spirv.BuiltIn(uint32(n.Imm)), int(n.Imm>>32))
	case kernel.AddI32, kernel.SubI32, kernel.MulAddSat:
		a, b := e.strideOf(n.Args[0], n.Block), e.strideOf(n.Args[1], n.Block)
		s := stride{regular: a.regular && b.regular, linear: a.linear && b.linear}
		switch {
		case n.Op == kernel.MulAddSat:
			if n.Imm > farthest {
				s.regular = s.regular && a.step == 0
			}
			s.step, s.saturates = a.step*uint32(n.Imm)+b.step, true
			return s
		case a.saturates && a.step > 0 || b.saturates && b.step > 0:
			return stride{}
		case n.Op == kernel.AddI32:
			s.step = a.step + b.step
		default:
			s.step = a.step - b.step
		}
		return s
	case kernel.AndI32, kernel.ShrU32, kernel.DivU32, kernel.RemU32:
		if s := e.strideOfPart(n); s.regular {
			return s
		}
	case kernel.ShlI32, kernel.MulI32:
		a, c := e.strideOf(n.Args[0], n.Block), &e.g.Nodes[n.Args[1]]
		if c.Op != ops.Const || c.Imm > farthest || !a.regular || a.saturates && a.step > 0 {
			break
		}
		factor := uint32(c.Imm)
		if n.Op == kernel.ShlI32 {
			factor = 1 << (c.Imm & 31)
		}
		return stride{regular: true, linear: a.linear, step: uint32(min(uint64(a.step)*uint64(factor), 2*farthest))}
	}
	if !ops.Of(n.Op).Computes {
		return stride{}
	}
	linear := true
	for _, a := range n.Args {
		if a == 0 {
			continue
		}
		s := e.strideOf(a, n.Block)
		if !s.regular || s.step != 0 {
			return stride{}
		}
		linear = linear && s.linear
	}
	return stride{regular: true, linear: linear}
}

// strideOfPart is the stride of the lower bits, or of the upper ones, of a value that counts lanes and that is a
// multiple of their number in the first lane: the lanes of a chunk differ in the lowest bits alone.
func (e *emitter) strideOfPart(n *ir.Node) stride {
	c := &e.g.Nodes[n.Args[1]]
	if c.Op != ops.Const {
		return stride{}
	}
	lower := false
	switch k := uint32(c.Imm); n.Op {
	case kernel.AndI32:
		if lower = k%kernel.Width == kernel.Width-1; !lower && k%kernel.Width != 0 {
			return stride{}
		}
	case kernel.ShrU32:
		if k&31 < chunkBits {
			return stride{}
		}
	default:
		if lower = n.Op == kernel.RemU32; k == 0 || k%kernel.Width != 0 {
			return stride{}
		}
	}
	s := e.strideOf(n.Args[0], n.Block)
	if !s.regular || s.saturates || s.step != 1 || !e.aligned(n.Args[0], alignedDepth) {
		return stride{}
	}
	if lower {
		return stride{regular: true, step: 1}
	}
	return stride{regular: true}
}

// aligned says whether a value is a multiple of the number of a chunk's lanes in the first one. depth bounds the
// recursion.
func (e *emitter) aligned(v ir.Value, depth int) bool {
	n := &e.g.Nodes[v]
	either := func() bool { return e.aligned(n.Args[0], depth-1) || e.aligned(n.Args[1], depth-1) }
	switch {
	case v == 0 || depth == 0 || n.Wide:
		return false
	case n.Op == ops.Const:
		return n.Imm%kernel.Width == 0
	}
	switch n.Op {
	case ops.Builtin:
		s := e.builtinStride(spirv.BuiltIn(uint32(n.Imm)), int(n.Imm>>32))
		return s.regular && s.step == 1 // all that count lanes begin with 0 in some chunk
	case kernel.AddI32, kernel.SubI32:
		return e.aligned(n.Args[0], depth-1) && e.aligned(n.Args[1], depth-1)
	case kernel.MulI32, kernel.AndI32:
		return either()
	case kernel.ShlI32:
		c := &e.g.Nodes[n.Args[1]]
		return c.Op == ops.Const && c.Imm&31 >= chunkBits || e.aligned(n.Args[0], depth-1)
	}
	return false
}

// builtinStride is the stride of a built-in: lanes are numbered as LocalInvocationIndex is.
func (e *emitter) builtinStride(kind spirv.BuiltIn, component int) stride {
	rows := e.p.LocalSize[0]%kernel.Width == 0 // no chunk is of two rows
	one := e.p.LocalSize[1] == 1 && e.p.LocalSize[2] == 1
	subgroups := e.p.SubgroupSize%kernel.Width == 0
	switch kind {
	case spirv.BuiltInLocalInvocationId:
		if component == 0 {
			return stride{regular: rows || one, linear: one, step: 1}
		}
		return stride{regular: rows || one, linear: one}
	case spirv.BuiltInLocalInvocationIndex:
		return stride{regular: true, linear: true, step: 1}
	case spirv.BuiltInSubgroupLocalInvocationId:
		return stride{regular: subgroups, step: 1}
	case spirv.BuiltInSubgroupId:
		return stride{regular: subgroups}
	}
	return stride{}
}
