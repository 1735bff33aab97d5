package main

import (
	"fmt"
	"strings"
)

// operation is an instruction without its registers. Up to three operands stand in the places d, n and m of the word,
// in the order in which they are written.
type operation struct {
	text string // with a verb for the number of each register
	word uint32 // with 0 for each register
	tied bool   // the destination is read, too
	free bool   // the first operand is no vector that is written: a store, or a move to a general register
}

// encode returns the word of an operation with its registers.
func (o operation) encode(registers ...int) uint32 {
	word := o.word
	for i, r := range registers {
		word |= uint32(r) << []int{0, 5, 16}[i]
	}
	return word
}

// written returns an operation with its registers as GNU as reads it.
func (o operation) written(registers ...int) string {
	var list []any
	for _, r := range registers[:strings.Count(o.text, "%d")] {
		list = append(list, r)
	}
	return fmt.Sprintf(o.text, list...)
}

// Classes of instructions: the bits that all of one have. Arm ARM, C4.1.96, "Data Processing -- Scalar Floating-Point
// and Advanced SIMD".
const (
	threeSame      = 0x0e200400
	threeDifferent = 0x0e200000
	twoRegister    = 0x0e200800
	acrossLanes    = 0x0e300800
	permute        = 0x0e000800
	shiftImmediate = 0x0f000400

	full = 1 << 30 // Q: all 128 bits
)

// arrangements are how vectors are divided. The size of lanes and Q follow from one.
var arrangements = map[string]struct{ size, q uint32 }{
	"8b": {0, 0}, "16b": {0, 1}, "4h": {1, 0}, "8h": {1, 1}, "2s": {2, 0}, "4s": {2, 1}, "2d": {3, 1},
}

// shape is how the operands of an instruction are arranged, if not all alike.
type shape int

const (
	alike    shape = iota
	long           // lanes of the result are twice as wide as those of its sources
	longSame       // as long, with one source
	wide           // those of the result and of the first source are twice as wide as those of the second source
	narrow         // lanes of the result are half as wide as those of its source
	across         // the result is a lane
	pairwise       // lanes of the result are twice as wide, and half as many
	zero           // compared with 0
)

// row describes instructions that differ in the arrangement alone.
type row struct {
	name         string
	class        uint32
	u, opcode    uint32
	high         uint32 // of floats: bit 23
	types        string // arrangements of the result, or of sources of reductions
	shape        shape
	float        bool // bit 22 is the size
	logical      bool // high is the size
	sources      int
	tied, second bool // second: the instruction that takes or makes the upper halves is there, too
}

const integers, allIntegers, floats = "4s 2d", "16b 8h 4s 2d", "4s 2d"

// rows is the table of the instructions, but for those with immediates.
var rows = []row{
	{name: "add", class: threeSame, opcode: 0x10, types: integers, sources: 2},
	{name: "sub", class: threeSame, u: 1, opcode: 0x10, types: integers, sources: 2},
	{name: "mul", class: threeSame, opcode: 0x13, types: "4s", sources: 2},
	{name: "cmeq", class: threeSame, u: 1, opcode: 0x11, types: integers, sources: 2},
	{name: "cmgt", class: threeSame, opcode: 0x06, types: integers, sources: 2},
	{name: "cmge", class: threeSame, opcode: 0x07, types: integers, sources: 2},
	{name: "cmhi", class: threeSame, u: 1, opcode: 0x06, types: integers, sources: 2},
	{name: "cmhs", class: threeSame, u: 1, opcode: 0x07, types: integers, sources: 2},
	{name: "cmtst", class: threeSame, opcode: 0x11, types: integers, sources: 2},
	{name: "smax", class: threeSame, opcode: 0x0c, types: "4s", sources: 2},
	{name: "smin", class: threeSame, opcode: 0x0d, types: "4s", sources: 2},
	{name: "umax", class: threeSame, u: 1, opcode: 0x0c, types: "4s", sources: 2},
	{name: "umin", class: threeSame, u: 1, opcode: 0x0d, types: "4s", sources: 2},
	{name: "sshl", class: threeSame, opcode: 0x08, types: integers, sources: 2},
	{name: "ushl", class: threeSame, u: 1, opcode: 0x08, types: integers, sources: 2},

	{name: "and", class: threeSame, opcode: 0x03, logical: true, types: "16b", sources: 2},
	{name: "bic", class: threeSame, opcode: 0x03, logical: true, high: 1, types: "16b", sources: 2},
	{name: "orr", class: threeSame, opcode: 0x03, logical: true, high: 2, types: "16b", sources: 2},
	{name: "orn", class: threeSame, opcode: 0x03, logical: true, high: 3, types: "16b", sources: 2},
	{name: "eor", class: threeSame, u: 1, opcode: 0x03, logical: true, types: "16b", sources: 2},
	{name: "bsl", class: threeSame, u: 1, opcode: 0x03, logical: true, high: 1, types: "16b", sources: 3, tied: true},
	{name: "bit", class: threeSame, u: 1, opcode: 0x03, logical: true, high: 2, types: "16b", sources: 3, tied: true},

	{name: "fadd", class: threeSame, opcode: 0x1a, float: true, types: floats, sources: 2},
	{name: "fsub", class: threeSame, opcode: 0x1a, high: 1, float: true, types: floats, sources: 2},
	{name: "fmul", class: threeSame, u: 1, opcode: 0x1b, float: true, types: floats, sources: 2},
	{name: "fdiv", class: threeSame, u: 1, opcode: 0x1f, float: true, types: floats, sources: 2},
	{name: "fmla", class: threeSame, opcode: 0x19, float: true, types: floats, sources: 3, tied: true},
	{name: "fmls", class: threeSame, opcode: 0x19, high: 1, float: true, types: floats, sources: 3, tied: true},
	{name: "fmax", class: threeSame, opcode: 0x1e, float: true, types: floats, sources: 2},
	{name: "fmin", class: threeSame, opcode: 0x1e, high: 1, float: true, types: floats, sources: 2},
	{name: "fcmeq", class: threeSame, opcode: 0x1c, float: true, types: floats, sources: 2},
	{name: "fcmge", class: threeSame, u: 1, opcode: 0x1c, float: true, types: floats, sources: 2},
	{name: "fcmgt", class: threeSame, u: 1, opcode: 0x1c, high: 1, float: true, types: floats, sources: 2},

	{name: "abs", class: twoRegister, opcode: 0x0b, types: integers, sources: 1},
	{name: "neg", class: twoRegister, u: 1, opcode: 0x0b, types: integers, sources: 1},
	{name: "not", class: twoRegister, u: 1, opcode: 0x05, logical: true, types: "16b", sources: 1},
	{name: "rbit", class: twoRegister, u: 1, opcode: 0x05, logical: true, high: 1, types: "16b", sources: 1},
	{name: "cnt", class: twoRegister, opcode: 0x05, types: "16b", sources: 1},
	{name: "rev64", class: twoRegister, opcode: 0x00, types: "16b 8h 4s", sources: 1},
	{name: "rev32", class: twoRegister, u: 1, opcode: 0x00, types: "16b 8h", sources: 1},
	{name: "clz", class: twoRegister, u: 1, opcode: 0x04, types: "4s", sources: 1},
	{name: "cls", class: twoRegister, opcode: 0x04, types: "4s", sources: 1},
	{name: "uaddlp", class: twoRegister, u: 1, opcode: 0x02, types: "16b 8h 4s", shape: pairwise, sources: 1},
	{name: "cmeq0", class: twoRegister, opcode: 0x09, types: integers, shape: zero, sources: 1},
	{name: "cmlt0", class: twoRegister, opcode: 0x0a, types: integers, shape: zero, sources: 1},
	{name: "xtn", class: twoRegister, opcode: 0x12, types: "8b 4h 2s", shape: narrow, sources: 1, second: true},
	{name: "sqxtn", class: twoRegister, opcode: 0x14, types: "2s", shape: narrow, sources: 1, second: true},
	{name: "uqxtn", class: twoRegister, u: 1, opcode: 0x14, types: "2s", shape: narrow, sources: 1, second: true},

	{name: "fabs", class: twoRegister, opcode: 0x0f, high: 1, float: true, types: floats, sources: 1},
	{name: "fneg", class: twoRegister, u: 1, opcode: 0x0f, high: 1, float: true, types: floats, sources: 1},
	{name: "fsqrt", class: twoRegister, u: 1, opcode: 0x1f, high: 1, float: true, types: floats, sources: 1},
	{name: "frintn", class: twoRegister, opcode: 0x18, float: true, types: floats, sources: 1},
	{name: "frintm", class: twoRegister, opcode: 0x19, float: true, types: floats, sources: 1},
	{name: "frintp", class: twoRegister, opcode: 0x18, high: 1, float: true, types: floats, sources: 1},
	{name: "frintz", class: twoRegister, opcode: 0x19, high: 1, float: true, types: floats, sources: 1},
	{name: "fcvtzs", class: twoRegister, opcode: 0x1b, high: 1, float: true, types: floats, sources: 1},
	{name: "fcvtzu", class: twoRegister, u: 1, opcode: 0x1b, high: 1, float: true, types: floats, sources: 1},
	{name: "scvtf", class: twoRegister, opcode: 0x1d, float: true, types: floats, sources: 1},
	{name: "ucvtf", class: twoRegister, u: 1, opcode: 0x1d, float: true, types: floats, sources: 1},
	{name: "fcmeq0", class: twoRegister, opcode: 0x0d, high: 1, float: true, types: floats, shape: zero, sources: 1},
	{name: "fcmlt0", class: twoRegister, opcode: 0x0e, high: 1, float: true, types: floats, shape: zero, sources: 1},
	{name: "fcmge0", class: twoRegister, u: 1, opcode: 0x0c, high: 1, float: true, types: floats,
		shape: zero, sources: 1},
	{name: "fcvtn", class: twoRegister, opcode: 0x16, float: true, types: "4h 2s",
		shape: narrow, sources: 1, second: true},
	{name: "fcvtl", class: twoRegister, opcode: 0x17, float: true, types: "4h 2s",
		shape: longSame, sources: 1, second: true},

	{name: "umull", class: threeDifferent, u: 1, opcode: 0x0c, types: "2s", shape: long, sources: 2, second: true},
	{name: "smull", class: threeDifferent, opcode: 0x0c, types: "2s", shape: long, sources: 2, second: true},
	{name: "umlal", class: threeDifferent, u: 1, opcode: 0x08, types: "2s", shape: long, sources: 3, tied: true},
	{name: "uaddw", class: threeDifferent, u: 1, opcode: 0x01, types: "2s", shape: wide, sources: 2, second: true},

	{name: "uminv", class: acrossLanes, u: 1, opcode: 0x1a, types: "16b 8h 4s", shape: across, sources: 1},
	{name: "umaxv", class: acrossLanes, u: 1, opcode: 0x0a, types: "16b 8h 4s", shape: across, sources: 1},
	{name: "addv", class: acrossLanes, opcode: 0x1b, types: "16b 8h 4s", shape: across, sources: 1},

	{name: "uzp1", class: permute, opcode: 0x1, types: allIntegers, sources: 2},
	{name: "uzp2", class: permute, opcode: 0x5, types: allIntegers, sources: 2},
	{name: "trn1", class: permute, opcode: 0x2, types: allIntegers, sources: 2},
	{name: "zip1", class: permute, opcode: 0x3, types: allIntegers, sources: 2},
	{name: "zip2", class: permute, opcode: 0x7, types: allIntegers, sources: 2},
}

// operations are the instructions of the table by their names: the mnemonic, a point, the arrangement in the row. Those
// on upper halves have a 2 at the end of the mnemonic.
var operations = expand(rows)

func expand(rows []row) map[string]operation {
	all := map[string]operation{}
	for _, r := range rows {
		for _, t := range strings.Fields(r.types) {
			all[r.name+"."+t] = r.operation(t, false)
			if r.second {
				all[r.name+"2."+t] = r.operation(t, true)
			}
		}
	}
	return all
}

// operation returns the instruction for an arrangement: of the narrower operands where they differ.
func (r row) operation(t string, second bool) operation {
	a := arrangements[t]
	word := r.class | r.u<<29
	switch {
	case r.class == threeSame:
		word |= r.opcode << 11
	default:
		word |= r.opcode << 12
	}
	switch {
	case r.logical:
		word |= r.high << 22
	case r.shape == narrow && r.float, r.shape == longSame:
		word |= (a.size - 1) << 22
	case r.float:
		word |= r.high<<23 | (a.size-2)<<22
	default:
		word |= a.size << 22
	}
	name := strings.TrimSuffix(r.name, "0")
	if second {
		a.q, name, t = 1, name+"2", doubled[t]
	}
	word |= a.q << 30
	return operation{text: name + " " + r.operands(t), word: word,
		tied: r.tied || second && r.shape == narrow}
}

// doubled is an arrangement with twice as many lanes, widened one of lanes that are twice as wide.
var (
	doubled = map[string]string{"8b": "16b", "4h": "8h", "2s": "4s"}
	widened = map[string]string{"8b": "8h", "4h": "4s", "2s": "2d", "16b": "8h", "8h": "4s", "4s": "2d"}
)

// operands writes the operands of which the narrower ones are arranged in a way.
func (r row) operands(t string) string {
	v := func(t string) string { return "v%d." + t }
	switch r.shape {
	case long:
		return strings.Join([]string{v(widened[t]), v(t), v(t)}, ", ")
	case longSame, pairwise:
		return v(widened[t]) + ", " + v(t)
	case wide:
		return strings.Join([]string{v(widened[t]), v(widened[t]), v(t)}, ", ")
	case narrow:
		return v(t) + ", " + v(widened[t])
	case across:
		return t[len(t)-1:] + "%d, " + v(t)
	case zero:
		if r.float {
			return v(t) + ", " + v(t) + ", #0.0"
		}
		return v(t) + ", " + v(t) + ", #0"
	}
	list := []string{v(t), v(t), v(t)}
	if r.sources == 1 {
		list = list[1:]
	}
	return strings.Join(list, ", ")
}

// shift returns a shift of each lane, of 32 or 64 bits, by a constant: shl, sshr or ushr.
func shift(name string, bits, by int) operation {
	code, ok := map[string]struct{ u, opcode uint32 }{"shl": {0, 0x0a}, "sshr": {0, 0x00}, "ushr": {1, 0x00}}[name]
	if !ok || by < 0 || by >= bits || by == 0 && name != "shl" {
		panic(fmt.Sprintf("%s of %d bits by %d", name, bits, by))
	}
	immediate := bits + by
	if name != "shl" {
		immediate = 2*bits - by
	}
	t := map[int]string{32: "4s", 64: "2d"}[bits]
	return operation{text: fmt.Sprintf("%s v%%d.%s, v%%d.%[2]s, #%d", name, t, by),
		word: full | shiftImmediate | code.u<<29 | code.opcode<<11 | uint32(immediate)<<16}
}

// extend returns what makes lanes twice as wide: sxtl or uxtl, of lanes of so many bits in the lower or upper half.
func extend(name string, bits int, upper bool) operation {
	word := shiftImmediate | 0x14<<11 | uint32(bits)<<16
	if name == "uxtl" {
		word |= 1 << 29
	}
	from := map[int]string{8: "8b", 16: "4h", 32: "2s"}[bits]
	to := widened[from]
	if upper {
		word, name, from = word|full, name+"2", doubled[from]
	}
	return operation{text: fmt.Sprintf("%s v%%d.%s, v%%d.%s", name, to, from), word: word}
}

// access returns a load or a store of a vector register at an immediate distance from the address in a general one:
// of 128 (q), 64 (d) or 32 bits (s).
func access(store bool, letter string, distance int) operation {
	kind := map[string]struct {
		word uint32
		size int
	}{"q": {0x3d800000, 16}, "d": {0xfd000000, 8}, "s": {0xbd000000, 4}}[letter]
	if distance < 0 || distance%kind.size != 0 || distance/kind.size >= 1<<12 {
		panic(fmt.Sprintf("a distance of %d", distance))
	}
	o := operation{text: "str", word: kind.word | uint32(distance/kind.size)<<10, free: store}
	if !store {
		o.text, o.word = "ldr", o.word|1<<22
	}
	o.text += " " + letter + "%d, [x%d]"
	if distance > 0 {
		o.text = strings.TrimSuffix(o.text, "]") + fmt.Sprintf(", #%d]", distance)
	}
	return o
}

// Loads of a word for all lanes, from the address in a general register; copies of a general register to all lanes; and
// the first lane to a general register.
var (
	repeat32    = operation{text: "ld1r {v%d.4s}, [x%d]", word: 0x4d40c800}
	repeat64    = operation{text: "ld1r {v%d.2d}, [x%d]", word: 0x4d40cc00}
	broadcast32 = operation{text: "dup v%d.4s, w%d", word: 0x4e040c00}
	broadcast64 = operation{text: "dup v%d.2d, x%d", word: 0x4e080c00}
	lane32      = operation{text: "umov w%d, v%d.s[0]", word: 0x0e043c00, free: true}
	spread32    = operation{text: "dup v%d.4s, v%d.s[0]", word: 0x4e040400}
	spread64    = operation{text: "dup v%d.2d, v%d.d[0]", word: 0x4e080400}
	clear       = operation{text: "movi v%d.4s, #0", word: 0x4f000400}
	copyOf      = operation{text: "mov v%d.16b, v%d.16b", word: 0x4ea01c00} // an orr: the source is in n and in m
)
