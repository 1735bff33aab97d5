package main

import "fmt"

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

// General registers of kernels. Those of operands are pairs: the address of the chunk, and the step.
const (
	regArgs    = 0
	regFirst   = 1
	regCount   = 2
	regDst     = 3
	regOperand = 4  // and those behind it, for up to four operands
	regScratch = 12 // and the two behind it
	regTable   = 15 // the constants
)

// generator writes functions.
type generator struct {
	*function
	functions []*function
	table     [][2]uint64 // constants of 128 bits
	places    map[[2]uint64]int
	kernels   []string // the ops that have a kernel
	partials  []string // the ops that have one which may stop
	helpers   []string // fields of kernel.Set
}

func newGenerator() *generator { return &generator{places: map[[2]uint64]int{}} }

// all writes everything.
func (g *generator) all() {
	g.moves()
	g.integers32()
	g.integers64()
	g.floats()
	g.scaling()
	g.halves()
	g.conversions()
	g.singles()
	g.masks()
	g.memories()
	g.private()
}

func nameOf(op string) string { return "neon" + op }

// function begins a function. The signature is as in Go, from the parameters on.
func (g *generator) begin(name, signature string, arguments int) {
	g.function = &function{name: nameOf(name), signature: signature, arguments: arguments,
		constants: map[[2]uint64]vector{}}
	g.functions = append(g.functions, g.function)
}

// constant returns a pinned vector of 128 bits, which is loaded before the loop.
func (g *generator) constant(low, high uint64) vector {
	value := [2]uint64{low, high}
	if v, ok := g.constants[value]; ok {
		return v
	}
	v := g.pin(g.vector())
	g.constants[value] = v
	g.useTable()
	o := access(false, "q", g.index(value))
	g.hoisted = append(g.hoisted, line{op: &o, operands: []operand{v, x(regTable)}})
	return v
}

// useTable has the function begin with the address of the constants.
func (g *generator) useTable() {
	if len(g.hoisted) == 0 {
		g.hoisted = append(g.hoisted, line{text: fmt.Sprintf("\tMOVD $neonConstants<>(SB), R%d", regTable)})
	}
}

// index returns where a constant is in the table.
func (g *generator) index(value [2]uint64) int {
	at, ok := g.places[value]
	if !ok {
		at = 16 * len(g.table)
		g.places[value] = at
		g.table = append(g.table, value)
	}
	return at
}

// words is a constant: a word in all lanes; quads one of 64 bits.
func (g *generator) words(value uint32) vector { return g.quads(uint64(value)<<32 | uint64(value)) }
func (g *generator) quads(value uint64) vector { return g.constant(value, value) }

// Operands of kernels at their usual places.
var (
	one   = []int{argsA}
	two   = []int{argsA, argsB}
	three = []int{argsA, argsB, argsC}
)

// chunk is the place in a kernel where code for a chunk is written.
type chunk struct{ *generator }

// kernel writes the kernel of an op, whose result has so many bits in each lane; body writes what is done to a chunk.
func (g *generator) kernel(op string, bits int, operands []int, body func(k *chunk)) {
	g.begin(op, "(a *Args, first, n int)", 24)
	g.kernels = append(g.kernels, op)
	g.parameters()
	g.loop(bits, operands, func() { body(&chunk{g}) })
	g.text("RET")
}

// parameters loads those of a kernel.
func (g *generator) parameters() {
	g.text("MOVD a+0(FP), R%d", regArgs)
	g.text("MOVD first+8(FP), R%d", regFirst)
	g.text("MOVD n+16(FP), R%d", regCount)
}

// loop writes the loop over the chunks. regCount is the number of those that are left.
func (g *generator) loop(bits int, operands []int, body func()) {
	g.text("MOVD %d(R%d), R%d", argsDst, regArgs, regDst)
	// Only a range of one chunk, the first, has a destination with the step 0.
	g.text("ADD R%d<<%d, R%d", regFirst, map[int]int{32: 5, 64: 6}[bits], regDst)
	for i, at := range operands {
		g.open(at, regOperand+2*i)
	}
	loop, done := g.named("loop"), g.named("done")
	g.text("CBZ R%d, %s", regCount, done)
	g.label(loop)
	body()
	g.text("ADD $%d, R%d", bits, regDst)
	for i := range operands {
		g.text("ADD R%d, R%d", regOperand+2*i+1, regOperand+2*i)
	}
	g.text("SUB $1, R%d", regCount)
	g.text("CBNZ R%d, %s", regCount, loop)
	g.label(done)
}

// open loads the address of the first chunk of an operand and its step.
func (g *generator) open(at, register int) {
	g.text("MOVD %d(R%d), R%d", at, regArgs, register)
	g.text("MOVD %d(R%d), R%d", at+8, regArgs, register+1)
	g.text("MUL R%d, R%d, R%d", regFirst, register+1, regScratch)
	g.text("ADD R%d, R%d", regScratch, register)
}

// load loads 128 bits of an operand: with lanes of 32 bits a chunk has two such parts, with lanes of 64 bits four.
func (g *generator) load(operand, part int) vector {
	return g.do(access(false, "q", 16*part), x(regOperand+2*operand))
}

// loadHalf loads two lanes of an operand, of 32 bits each: those for a part of a result of 64 bits.
func (g *generator) loadHalf(operand, part int) vector {
	return g.do(access(false, "d", 8*part), x(regOperand+2*operand))
}

// store stores a part of the result.
func (g *generator) store(v vector, part int) { g.emit(access(true, "q", 16*part), v, x(regDst)) }

// each writes a kernel that does the same to each part of a chunk, and whose operands have lanes as wide as the result.
func (g *generator) each(op string, bits int, operands []int, f func(k *chunk, a vector, part int) vector) {
	g.kernel(op, bits, operands, func(k *chunk) {
		for part := range bits / 16 {
			k.store(f(k, k.load(0, part), part), part)
		}
	})
}

// unary and binary write kernels of one instruction.
func (g *generator) unary(op string, bits int, instruction string) {
	g.each(op, bits, one, func(k *chunk, a vector, _ int) vector { return k.v(instruction, a) })
}

func (g *generator) binary(op string, bits int, instruction string) {
	g.each(op, bits, two, func(k *chunk, a vector, part int) vector { return k.v(instruction, a, k.load(1, part)) })
}

// lanes is the arrangement of lanes of so many bits.
func lanes(bits int) string { return map[int]string{32: ".4s", 64: ".2d"}[bits] }

// choose returns the lanes of yes where mask is set, and those of no where it is not.
func (g *generator) choose(mask, yes, no vector) vector { return g.v("bsl.16b", mask, yes, no) }

// not returns the opposite of a mask.
func (g *generator) not(a vector) vector { return g.v("not.16b", a) }

// and returns the bits that are in both.
func (g *generator) and(a, b vector) vector { return g.v("and.16b", a, b) }

// or returns the bits that are in one or both.
func (g *generator) or(a, b vector) vector { return g.v("orr.16b", a, b) }

// shifted shifts lanes by a constant.
func (g *generator) shifted(name string, bits, by int, a vector) vector {
	return g.do(shift(name, bits, by), a)
}
