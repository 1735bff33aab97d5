package vm

import (
	"math"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/spirv"
)

// float is the value of a lane of a float; those of 16 bits are kept as 32 bits.
func float(t *spirv.Type, lane uint64) float64 {
	if t.Width == 64 {
		return math.Float64frombits(lane)
	}
	return float64(math.Float32frombits(uint32(lane)))
}

// combiner is the function with which an instruction combines values as they lie in lanes, and its identity.
func combiner(op spirv.Op, t *spirv.Type) (f func(a, b uint64) uint64, identity uint64) {
	switch op {
	case spirv.OpGroupNonUniformLogicalAnd:
		return func(a, b uint64) uint64 { return a & b }, math.MaxUint32
	case spirv.OpGroupNonUniformLogicalOr:
		return func(a, b uint64) uint64 { return a | b }, 0
	case spirv.OpGroupNonUniformLogicalXor:
		return func(a, b uint64) uint64 { return a ^ b }, 0
	case spirv.OpGroupNonUniformFAdd, spirv.OpGroupNonUniformFMul, spirv.OpGroupNonUniformFMin,
		spirv.OpGroupNonUniformFMax:
		if t.Width == 64 {
			return combineF64(op)
		}
		return combineF32(op)
	}
	ones := uint64(math.MaxUint64) >> (64 - t.Width)
	signed := func(a uint64) int64 { return int64(a<<(64-t.Width)) >> (64 - t.Width) }
	switch op {
	case spirv.OpGroupNonUniformIAdd:
		return func(a, b uint64) uint64 { return (a + b) & ones }, 0
	case spirv.OpGroupNonUniformIMul:
		return func(a, b uint64) uint64 { return a * b & ones }, 1
	case spirv.OpGroupNonUniformSMin:
		return func(a, b uint64) uint64 { return uint64(min(signed(a), signed(b))) & ones }, ones >> 1
	case spirv.OpGroupNonUniformSMax:
		return func(a, b uint64) uint64 { return uint64(max(signed(a), signed(b))) & ones }, ones>>1 + 1
	case spirv.OpGroupNonUniformUMin:
		return func(a, b uint64) uint64 { return min(a, b) }, ones
	case spirv.OpGroupNonUniformUMax:
		return func(a, b uint64) uint64 { return max(a, b) }, 0
	case spirv.OpGroupNonUniformBitwiseAnd:
		return func(a, b uint64) uint64 { return a & b }, ones
	case spirv.OpGroupNonUniformBitwiseOr:
		return func(a, b uint64) uint64 { return a | b }, 0
	case spirv.OpGroupNonUniformBitwiseXor:
		return func(a, b uint64) uint64 { return a ^ b }, 0
	}
	return nil, 0
}

func combineF32(op spirv.Op) (func(a, b uint64) uint64, uint64) {
	of := func(a uint64) float32 { return math.Float32frombits(uint32(a)) }
	bits := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	switch op {
	case spirv.OpGroupNonUniformFAdd:
		return func(a, b uint64) uint64 { return bits(of(a) + of(b)) }, 0
	case spirv.OpGroupNonUniformFMul:
		return func(a, b uint64) uint64 { return bits(of(a) * of(b)) }, bits(1)
	case spirv.OpGroupNonUniformFMin:
		return func(a, b uint64) uint64 { return bits(kernel.Least(of(a), of(b))) }, bits(float32(math.Inf(1)))
	}
	return func(a, b uint64) uint64 { return bits(kernel.Greatest(of(a), of(b))) }, bits(float32(math.Inf(-1)))
}

func combineF64(op spirv.Op) (func(a, b uint64) uint64, uint64) {
	of := func(a uint64) float64 { return math.Float64frombits(a) }
	bits := func(f float64) uint64 { return math.Float64bits(f) }
	switch op {
	case spirv.OpGroupNonUniformFAdd:
		return func(a, b uint64) uint64 { return bits(of(a) + of(b)) }, 0
	case spirv.OpGroupNonUniformFMul:
		return func(a, b uint64) uint64 { return bits(of(a) * of(b)) }, bits(1)
	case spirv.OpGroupNonUniformFMin:
		return func(a, b uint64) uint64 { return bits(kernel.Least(of(a), of(b))) }, bits(math.Inf(1))
	}
	return func(a, b uint64) uint64 { return bits(kernel.Greatest(of(a), of(b))) }, bits(math.Inf(-1))
}

// combineKernels are the operations on vectors that combine values as combiner's functions do, of 32 and of 64 bits,
// from OpGroupNonUniformIAdd on.
var combineKernels = [...][2]kernel.Op{
	spirv.OpGroupNonUniformIAdd - firstArithmetic:       {kernel.AddI32, kernel.AddI64},
	spirv.OpGroupNonUniformFAdd - firstArithmetic:       {kernel.AddF32, kernel.AddF64},
	spirv.OpGroupNonUniformIMul - firstArithmetic:       {kernel.MulI32, kernel.MulI64},
	spirv.OpGroupNonUniformFMul - firstArithmetic:       {kernel.MulF32, kernel.MulF64},
	spirv.OpGroupNonUniformSMin - firstArithmetic:       {kernel.MinS32, kernel.MinS64},
	spirv.OpGroupNonUniformUMin - firstArithmetic:       {kernel.MinU32, kernel.MinU64},
	spirv.OpGroupNonUniformFMin - firstArithmetic:       {kernel.MinF32, kernel.MinF64},
	spirv.OpGroupNonUniformSMax - firstArithmetic:       {kernel.MaxS32, kernel.MaxS64},
	spirv.OpGroupNonUniformUMax - firstArithmetic:       {kernel.MaxU32, kernel.MaxU64},
	spirv.OpGroupNonUniformFMax - firstArithmetic:       {kernel.MaxF32, kernel.MaxF64},
	spirv.OpGroupNonUniformBitwiseAnd - firstArithmetic: {kernel.AndI32, kernel.AndI64},
	spirv.OpGroupNonUniformBitwiseOr - firstArithmetic:  {kernel.OrI32, kernel.OrI64},
	spirv.OpGroupNonUniformBitwiseXor - firstArithmetic: {kernel.XorI32, kernel.XorI64},
	spirv.OpGroupNonUniformLogicalAnd - firstArithmetic: {kernel.AndI32},
	spirv.OpGroupNonUniformLogicalOr - firstArithmetic:  {kernel.OrI32},
	spirv.OpGroupNonUniformLogicalXor - firstArithmetic: {kernel.XorI32},
}

const firstArithmetic = spirv.OpGroupNonUniformIAdd

// combineKernel is the operation on vectors for an arithmetic instruction on values of a type, or 0. Integers of 8 and
// 16 bits have none: their lanes hold nothing above their bits.
func combineKernel(op spirv.Op, t *spirv.Type) kernel.Op {
	switch k := combineKernels[op-firstArithmetic]; {
	case t != nil && t.Kind == spirv.TypeInt && t.Width < 32:
		return 0
	case t != nil && t.Width == 64:
		return k[1]
	default:
		return k[0]
	}
}

// fillOf is what lanes that are not active have, which leaves a value that is combined with it as it is, and the
// identity of an exclusive scan. They differ where the identity doesn't do that: of a minus zero, and of a NaN.
func fillOf(op *program.SubgroupOp) (fill, identity uint64) {
	_, identity = combiner(op.Op, op.Type)
	fill = identity
	wide := op.Type != nil && op.Type.Width == 64
	switch op.Op {
	case spirv.OpGroupNonUniformFAdd:
		if fill = 1 << 31; wide {
			fill = 1 << 63
		}
	case spirv.OpGroupNonUniformFMin, spirv.OpGroupNonUniformFMax:
		if fill = 0x7fc << 20; wide {
			fill = 0x7ff8 << 48
		}
	}
	return fill, identity
}

// vectors says whether an instruction is one that reduce or scan does on vectors: with which operation, and for how
// many lanes each.
func (g *group) vectors() (op kernel.Op, cluster int) {
	if !g.op.Combines {
		return 0, 0
	}
	if cluster = g.cluster(); g.size%kernel.Width != 0 || cluster%kernel.Width != 0 && kernel.Width%cluster != 0 {
		return 0, 0
	}
	return combineKernel(g.op.Op, g.op.Type), cluster
}

// load reads a chunk of the values, with fill in lanes that are not active.
func (g *group) load(to *[kernel.Width]uint64, chunk int, fill uint64) {
	w, r := g.worker, g.op.Value[0]
	for lane := range kernel.Width {
		v := fill
		switch active := g.active.has(chunk*kernel.Width + lane - g.start); {
		case active && r.Size == 64:
			v = w.chunk64(r, chunk)[lane]
		case active:
			v = uint64(w.chunk32(r, chunk)[lane])
		}
		setLane(to, lane, r.Size == 64, v)
	}
}

// reduce combines the values of the active lanes of a subgroup, or of its clusters: first the chunks, lane by lane,
// then the lower lanes of what they give with the upper ones, as machine code does. It says whether it did.
func (g *group) reduce() bool {
	op, w := g.op, g.worker
	vector, cluster := g.vectors()
	if vector == 0 || op.Operation != spirv.GroupOperationReduce &&
		op.Operation != spirv.GroupOperationClusteredReduce {
		return false
	}
	f, _ := combiner(op.Op, op.Type)
	fill, _ := fillOf(op)
	n, span := max(cluster/kernel.Width, 1), min(cluster, kernel.Width)
	for first := g.start / kernel.Width; first < (g.start+g.size)/kernel.Width; first += n {
		g.load(&g.folded, first, fill)
		g.fold = kernel.Args{Dst: chunkRegister(&g.folded), A: chunkRegister(&g.folded), B: chunkRegister(&g.other)}
		for chunk := first + 1; chunk < first+n; chunk++ {
			g.load(&g.other, chunk, fill)
			w.kernels.Ops[vector](&g.fold, 0, 1)
		}
		var lanes [kernel.Width]uint64
		for lane := range lanes {
			lanes[lane] = getLane(&g.folded, lane, op.Value[0].Size == 64)
		}
		for half := span / 2; half > 0; half /= 2 {
			for lane := range lanes {
				if lane%span < half {
					lanes[lane] = f(lanes[lane], lanes[lane+half])
				}
			}
		}
		if span == kernel.Width {
			g.fill(op.Dst[0], first, n, lanes[0])
			continue
		}
		for lane := range lanes {
			g.result[first*kernel.Width+lane-g.start] = lanes[lane/span*span]
		}
	}
	if span < kernel.Width {
		g.write(op.Dst[0])
	}
	return true
}

// scan gives each lane what the values of the active lanes up to it combine to, or of those before it: in each chunk
// with those one, two and four lanes before, then with what the chunks before gave, as machine code does. It says
// whether it did.
func (g *group) scan() bool {
	op, w := g.op, g.worker
	vector, _ := g.vectors()
	exclusive := op.Operation == spirv.GroupOperationExclusiveScan
	if vector == 0 || !exclusive && op.Operation != spirv.GroupOperationInclusiveScan {
		return false
	}
	fill, identity := fillOf(op)
	wide, carry := op.Value[0].Size == 64, fill
	// combine leaves in folded what each of it combines to with the lane of other that f gives.
	combine := func(f func(lane int) uint64) {
		for lane := range kernel.Width {
			setLane(&g.other, lane, wide, f(lane))
		}
		w.kernels.Ops[vector](&g.fold, 0, 1)
	}
	g.fold = kernel.Args{Dst: chunkRegister(&g.folded), A: chunkRegister(&g.other), B: chunkRegister(&g.folded)}
	for chunk := g.start / kernel.Width; chunk < (g.start+g.size)/kernel.Width; chunk++ {
		g.load(&g.folded, chunk, fill)
		for distance := 1; distance < kernel.Width; distance *= 2 {
			combine(func(lane int) uint64 {
				if lane < distance {
					return fill
				}
				return getLane(&g.folded, lane-distance, wide)
			})
		}
		combine(func(int) uint64 { return carry })
		before := carry
		carry = getLane(&g.folded, kernel.Width-1, wide)
		if exclusive {
			for lane := range kernel.Width {
				v := getLane(&g.folded, lane, wide)
				setLane(&g.folded, lane, wide, before)
				before = v
			}
			if identity != fill {
				g.fold.A, g.fold.B = g.fold.B, g.fold.A
				combine(func(int) uint64 { return identity })
				g.fold.A, g.fold.B = g.fold.B, g.fold.A
			}
		}
		for lane := range kernel.Width {
			g.result[chunk*kernel.Width+lane-g.start] = getLane(&g.folded, lane, wide)
		}
	}
	g.write(op.Dst[0])
	return true
}

// fill writes a number to all lanes of some chunks, or to a register that is the same in all lanes.
func (g *group) fill(r program.Register, first, n int, bits uint64) {
	if r.Uniform() {
		g.worker.setUniform(r, bits)
		return
	}
	for chunk := first; chunk < min(first+n, g.worker.engine.chunks); chunk++ {
		if r.Size == 64 {
			for i, to := 0, g.worker.chunk64(r, chunk); i < len(to); i++ {
				to[i] = bits
			}
			continue
		}
		for i, to := 0, g.worker.chunk32(r, chunk); i < len(to); i++ {
			to[i] = uint32(bits)
		}
	}
}
