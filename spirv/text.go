package spirv

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Name is how messages call an id: its OpName where it has one, otherwise its number in the module's words, behind a %.
func (m *Module) Name(id ID) string {
	if n := m.DebugName(id); n != "" {
		return "%" + n
	}
	number := uint32(id)
	if int(id) < len(m.numbers) {
		number = m.numbers[id]
	}
	return "%" + strconv.FormatUint(uint64(number), 10)
}

// DebugName is the OpName of an id, or "".
func (m *Module) DebugName(id ID) string {
	if int(id) < len(m.names) && m.names[id] != nil {
		return literalString(m.names[id].Operands[1:])
	}
	return ""
}

// Text is an instruction in the form of SPIR-V's assembler, with the names that the module gives.
func (m *Module) Text(i *Instruction) string {
	var b strings.Builder
	if i.Result != 0 {
		b.WriteString(m.Name(i.Result) + " = ")
	}
	b.WriteString(i.Op.String())
	t := textWriter{m, i, &b, i.Operands}
	list := i.Op.info().operands.operands()
	for _, o := range list {
		switch o.kind() {
		case kindIdResult:
		case kindIdResultType:
			b.WriteString(" " + m.Name(i.Type))
		default:
			t.operand(o)
		}
	}
	return b.String()
}

// textWriter writes the operands of an instruction, as deep as the grammar is (maxOperandDepth).
type textWriter struct {
	m    *Module
	i    *Instruction
	b    *strings.Builder
	rest []uint32
}

func (t *textWriter) operand(o operand) {
	if o&repeated == 0 {
		if len(t.rest) > 0 {
			t.one(o.kind())
		}
		return
	}
	for len(t.rest) > 0 {
		t.one(o.kind())
	}
}

func (t *textWriter) one(kind operandKind) {
	word := t.rest[0]
	switch kind {
	case kindIdRef, kindIdScope, kindIdMemorySemantics:
		t.b.WriteString(" " + t.m.Name(ID(word)))
	case kindLiteralString:
		s := literalString(t.rest)
		t.b.WriteString(" " + strconv.Quote(s))
		t.rest = t.rest[len(s)/4+1:]
		return
	case kindLiteralFloat:
		fmt.Fprintf(t.b, " %g", math.Float32frombits(word))
	case kindLiteralContextDependentNumber:
		t.number(t.i.Type)
		return
	case kindLiteralExtInstInteger:
		if t.m.Imports[ID(t.i.Operands[0])] == glslSet {
			t.b.WriteString(" " + GLSL(word).String())
		} else {
			fmt.Fprintf(t.b, " %d", word)
		}
	case kindLiteralSpecConstantOpInteger:
		t.b.WriteString(" " + strings.TrimPrefix(Op(word).String(), "Op"))
		t.rest = t.rest[1:]
		for _, o := range Op(word).info().operands.operands()[2:] {
			t.operand(o)
		}
		return
	case kindPairIdRefIdRef:
		t.one(kindIdRef)
		t.one(kindIdRef)
		return
	case kindPairIdRefLiteralInteger:
		t.one(kindIdRef)
		t.one(kindLiteralInteger)
		return
	case kindPairLiteralIntegerIdRef:
		t.number(t.m.typeOf(ID(t.i.Operands[0])))
		t.one(kindIdRef)
		return
	default:
		if kindTable[kind].n == 0 {
			fmt.Fprintf(t.b, " %d", word)
			break
		}
		t.b.WriteString(" " + kind.format(word))
		t.rest = t.rest[1:]
		t.parameters(kind, word)
		return
	}
	t.rest = t.rest[1:]
}

// parameters writes what an enumerant or the bits of a mask bring along.
func (t *textWriter) parameters(kind operandKind, word uint32) {
	each := func(value uint32) {
		if e := kind.enumerant(value); e != nil {
			for _, o := range e.parameters.operands() {
				t.operand(o)
			}
		}
	}
	if !kindTable[kind].mask {
		each(word)
		return
	}
	for ; word != 0; word &= word - 1 {
		each(word & -word)
	}
}

// number writes a literal of a scalar type.
func (t *textWriter) number(of ID) {
	def := t.m.Definitions[of]
	bits := uint64(t.rest[0])
	t.rest = t.rest[1:]
	if def.Operands[0] > 32 {
		bits |= uint64(t.rest[0]) << 32
		t.rest = t.rest[1:]
	}
	switch {
	case def.Op == OpTypeFloat && def.Operands[0] == 32:
		fmt.Fprintf(t.b, " %g", math.Float32frombits(uint32(bits)))
	case def.Op == OpTypeFloat && def.Operands[0] == 64:
		fmt.Fprintf(t.b, " %g", math.Float64frombits(bits))
	case def.Op == OpTypeFloat:
		fmt.Fprintf(t.b, " 0x%04x", bits)
	case def.Operands[1] == 0:
		fmt.Fprintf(t.b, " %d", bits)
	case def.Operands[0] > 32:
		fmt.Fprintf(t.b, " %d", int64(bits))
	default:
		fmt.Fprintf(t.b, " %d", int32(bits))
	}
}
