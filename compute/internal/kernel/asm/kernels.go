package main

import (
	"fmt"
	"log"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in kernel.Args, which a test of package kernel holds against the type.
const (
	argsDst       = 0
	argsA         = 16
	argsB         = 32
	argsC         = 48
	argsMask      = 64
	argsMemory    = 80
	argsImmediate = 88
)

// generator writes kernels.
type generator struct {
	*build.Context
	constants map[string]operand.Mem
	kernels   []string // the ops that have one
	partials  []string // the ops that have one which may stop
	helpers   []helper
	labels    int // of the function
}

// chunk is the place in a kernel where code for a chunk is written.
type chunk struct {
	*generator
	index    int // of the chunk among those of an iteration
	dst      reg.GPVirtual
	operands []stream
	width    int // bytes of a chunk of dst
}

// stream is an operand: pointer and step.
type stream struct {
	base, step reg.GPVirtual
}

// shape is what a kernel takes: bytes of a chunk of its result and at which offset of Args its operands are.
type shape struct {
	width    int
	operands []int
	unroll   int // chunks at once
}

// Operands of kernels at their usual places.
var (
	one   = []int{argsA}
	two   = []int{argsA, argsB}
	three = []int{argsA, argsB, argsC}
)

// kernel writes the kernel of an op; body writes what is done to a chunk.
func (g *generator) kernel(op string, s shape, body func(k *chunk)) {
	g.begin(op)
	g.kernels = append(g.kernels, op)
	args := g.Load(g.Param("a"), g.GP64())
	g.loop(args, s, body)
	g.VZEROUPPER()
	g.RET()
}

// begin begins the kernel of an op.
func (g *generator) begin(op string) {
	g.Function(function(op))
	g.labels = 0
	g.Attributes(attr.NOSPLIT)
	// The type of the pointer does not matter here: the declaration is written elsewhere.
	g.SignatureExpr("func(a *byte, first, n int)")
}

// beginPartial begins a kernel that may stop at a chunk, and returns how many it has done before. That chunk is then
// done in Go.
func (g *generator) beginPartial(op string) {
	g.begin(op)
	g.SignatureExpr("func(a *byte, first, n int) (done int)")
	g.partials = append(g.partials, op)
}

// endPartial ends a kernel of which so many chunks are left.
func (g *generator) endPartial(left reg.Register) {
	done := g.Load(g.Param("n"), g.GP64())
	g.SUBQ(left, done)
	g.Store(done, g.ReturnIndex(0))
	g.VZEROUPPER()
	g.RET()
}

// loop writes the loop over the chunks. It returns the register with the number of those that are left.
func (g *generator) loop(args reg.Register, s shape, body func(k *chunk)) reg.Register {
	first := g.Load(g.Param("first"), g.GP64())
	count := g.Load(g.Param("n"), g.GP64())
	k := &chunk{generator: g, width: s.width, dst: g.GP64()}
	g.MOVQ(operand.Mem{Base: args, Disp: argsDst}, k.dst)
	offset := g.GP64()
	for _, at := range s.operands {
		o := stream{base: g.GP64(), step: g.GP64()}
		g.MOVQ(operand.Mem{Base: args, Disp: at}, o.base)
		g.MOVQ(operand.Mem{Base: args, Disp: at + 8}, o.step)
		g.MOVQ(first, offset)
		g.IMULQ(o.step, offset)
		g.ADDQ(offset, o.base)
		k.operands = append(k.operands, o)
	}
	// Only a range of one chunk, the first, has a destination with the step 0.
	g.IMUL3Q(operand.U8(s.width), first, offset)
	g.ADDQ(offset, k.dst)

	next := func(chunks int) {
		g.ADDQ(operand.U32(s.width*chunks), k.dst)
		for _, o := range k.operands {
			if chunks == 2 {
				g.LEAQ(operand.Mem{Base: o.base, Index: o.step, Scale: 2}, o.base)
			} else {
				g.ADDQ(o.step, o.base)
			}
		}
	}
	loop, tail, done := g.label("loop"), g.label("tail"), g.label("done")
	if s.unroll == 2 {
		g.SUBQ(operand.U32(2), count)
		g.JL(operand.LabelRef(tail))
		g.Label(loop)
		for k.index = range 2 {
			body(k)
		}
		next(2)
		g.SUBQ(operand.U32(2), count)
		g.JGE(operand.LabelRef(loop))
		g.Label(tail)
		g.ADDQ(operand.U32(2), count)
		g.JZ(operand.LabelRef(done))
		k.index = 0
		body(k)
	} else {
		g.TESTQ(count, count)
		g.JZ(operand.LabelRef(done))
		g.Label(loop)
		body(k)
		next(1)
		g.DECQ(count)
		g.JNZ(operand.LabelRef(loop))
	}
	g.Label(done)
	return count
}

func (g *generator) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// function returns the name of the function of an op.
func function(op string) string { return "avx2" + op }

// source returns where half of an operand lies. The second half is that of the 64-bit lanes.
func (k *chunk) source(i, half int) operand.Mem {
	m := operand.Mem{Base: k.operands[i].base, Disp: 32 * half}
	if k.index == 1 {
		m.Index, m.Scale = k.operands[i].step, 1
	}
	return m
}

// load loads half of an operand.
func (k *chunk) load(i, half int) reg.VecVirtual {
	y := k.YMM()
	k.VMOVDQU(k.source(i, half), y)
	return y
}

// quarter returns where the lanes, 32 bits each, lie that belong to half of a 64-bit result.
func (k *chunk) quarter(i, half int) operand.Mem {
	m := k.source(i, 0)
	m.Disp += 16 * half
	return m
}

// store stores half of the result.
func (k *chunk) store(y reg.VecVirtual, half int) {
	k.VMOVDQU(y, k.target(half))
}

func (k *chunk) target(half int) operand.Mem {
	return operand.Mem{Base: k.dst, Disp: k.index*k.width + 32*half}
}

// words returns a constant in memory: eight times a word.
func (g *generator) words(value uint32) operand.Mem {
	return g.constant(fmt.Sprintf("w%08x", value), func(add func(operand.Constant, int)) {
		for range 8 {
			add(operand.U32(value), 4)
		}
	})
}

// quads returns a constant in memory: four times 64 bits.
func (g *generator) quads(value uint64) operand.Mem {
	return g.constant(fmt.Sprintf("q%016x", value), func(add func(operand.Constant, int)) {
		for range 4 {
			add(operand.U64(value), 8)
		}
	})
}

// distances64 returns a constant in memory: four times 64 bits, at a distance from each other.
func (g *generator) distances64(first, distance int) operand.Mem {
	return g.constant(fmt.Sprintf("from_%d_by_%d", first, distance), func(add func(operand.Constant, int)) {
		for i := range 4 {
			add(operand.U64(first+i*distance), 8)
		}
	})
}

// list returns a constant in memory: eight words.
func (g *generator) list(values [8]uint32) operand.Mem {
	name := "list"
	for _, v := range values {
		name += fmt.Sprintf("_%d", v)
	}
	return g.constant(name, func(add func(operand.Constant, int)) {
		for _, v := range values {
			add(operand.U32(v), 4)
		}
	})
}

// bytes returns a constant in memory: twice 16 bytes.
func (g *generator) bytes(name string, values [16]uint8) operand.Mem {
	return g.constant(name, func(add func(operand.Constant, int)) {
		for range 2 {
			for _, v := range values {
				add(operand.U8(v), 1)
			}
		}
	})
}

func (g *generator) constant(name string, fill func(add func(value operand.Constant, size int))) operand.Mem {
	m, ok := g.constants[name]
	if !ok {
		m = g.StaticGlobal(name)
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		at := 0
		fill(func(value operand.Constant, size int) {
			g.AddDatum(at, value)
			at += size
		})
		g.constants[name] = m
	}
	return m
}

// instruction is a method of the context that writes one; those with forms of different lengths are variadic.
type instruction any

func emit(i instruction, operands ...operand.Op) {
	switch i := i.(type) {
	case func(...operand.Op):
		i(operands...)
	case func(a, d operand.Op):
		i(operands[0], operands[1])
	case func(a, b, d operand.Op):
		i(operands[0], operands[1], operands[2])
	case func(a, b, c, d operand.Op):
		i(operands[0], operands[1], operands[2], operands[3])
	default:
		log.Panicf("%T is no instruction", i)
	}
}

// y writes an instruction, in the order of Go's assembler, whose destination is a new register.
func (g *generator) y(i instruction, sources ...operand.Op) reg.VecVirtual {
	d := g.YMM()
	emit(i, append(sources, d)...)
	return d
}

// x is y for a destination of 128 bits.
func (g *generator) x(i instruction, sources ...operand.Op) reg.VecVirtual {
	d := g.XMM()
	emit(i, append(sources, d)...)
	return d
}

// blend returns the lanes of yes where mask is set, and those of no where it is not.
func (g *generator) blend(mask reg.VecVirtual, yes, no operand.Op) reg.VecVirtual {
	return g.y(g.VBLENDVPS, mask, yes, no)
}

// blend64 is blend for lanes of 64 bits.
func (g *generator) blend64(mask reg.VecVirtual, yes, no operand.Op) reg.VecVirtual {
	return g.y(g.VBLENDVPD, mask, yes, no)
}

// ones returns a register with all bits set.
func (g *generator) ones() reg.VecVirtual {
	d := g.YMM()
	g.VPCMPEQD(d, d, d)
	return d
}

// zero returns a register with no bit set.
func (g *generator) zero() reg.VecVirtual {
	d := g.YMM()
	g.VPXOR(d, d, d)
	return d
}

// pack returns the low words of eight lanes of 64 bits, or with 0xdd instead of 0x88 the high ones.
func (g *generator) pack(first, second operand.Op, which uint8) reg.VecVirtual {
	return g.y(g.VPERMQ, operand.U8(0xd8), g.y(g.VSHUFPS, operand.U8(which), second, first))
}

const (
	lowWords  = 0x88
	highWords = 0xdd
)

// join returns a register of which the halves are given, in registers of 128 bits.
func (g *generator) join(first, second reg.VecVirtual) reg.VecVirtual {
	return g.y(g.VINSERTI128, operand.U8(1), second, first.AsY())
}

// odd returns the lanes with odd numbers in the places of the even ones.
func (g *generator) odd(a operand.Op) reg.VecVirtual { return g.y(g.VPSHUFD, operand.U8(0xf5), a) }

// interleave returns the even lanes of one and the odd lanes of another register.
func (g *generator) interleave(even, odd reg.VecVirtual) reg.VecVirtual {
	return g.y(g.VPBLENDD, operand.U8(0xaa), odd, even)
}

// not returns the opposite of a mask.
func (g *generator) not(a reg.VecVirtual) reg.VecVirtual { return g.y(g.VPXOR, g.ones(), a) }

// named is an op and the instruction by which its kernel differs from its neighbors.
type named struct {
	op string
	i  instruction
}
