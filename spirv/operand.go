package spirv

import "math/bits"

// maxOperandDepth is how deep operands are nested that bring others along, in SPIR-V's grammar: the operands of a
// constant's operation, the parameters of an enumerant. It bounds the recursions of operandParser, walker and
// textWriter, since what a module chooses is the length of an instruction alone.
const maxOperandDepth = 2

// operandParser walks over the operands of an instruction, as deep as the grammar is (maxOperandDepth).
type operandParser struct {
	d    *decoder
	i    *Instruction
	rest []uint32
	skip int // words of the result type and the result
}

func (p *operandParser) word() (uint32, error) {
	if len(p.rest) == 0 {
		return 0, errorAt(p.i, "it lacks operands")
	}
	w := p.rest[0]
	p.rest = p.rest[1:]
	return w, nil
}

func (p *operandParser) all(list []operand) error {
	for _, o := range list {
		switch {
		case o&optional != 0:
			if len(p.rest) == 0 {
				continue
			}
		case o&repeated != 0:
			for len(p.rest) != 0 {
				if err := p.one(o.kind()); err != nil {
					return err
				}
			}
			continue
		}
		if err := p.one(o.kind()); err != nil {
			return err
		}
	}
	return nil
}

func (p *operandParser) id() (ID, error) {
	at := p.rest
	w, err := p.word()
	if err != nil {
		return 0, err
	}
	if w == 0 || w >= p.d.words[3] {
		return 0, errorAt(p.i, "the id %d is not between 0 and the bound", w)
	}
	if p.d.ids != nil {
		at[0] = uint32(p.d.renumber(w))
	}
	return ID(at[0]), nil
}

func (p *operandParser) one(kind operandKind) error {
	switch kind {
	case kindIdResult:
		id, err := p.id()
		p.i.Result = id
		p.skip++
		return err
	case kindIdResultType:
		id, err := p.id()
		if err != nil {
			return err
		}
		if p.d.m.Definitions[id] == nil {
			return errorAt(p.i, "its type %s is not defined in front of it", p.d.m.Name(id))
		}
		p.i.Type = id
		p.skip++
	case kindIdRef, kindIdScope, kindIdMemorySemantics:
		id, err := p.id()
		if err != nil {
			return err
		}
		if p.d.m.Definitions[id] == nil {
			p.d.forward = append(p.d.forward, reference{id, p.i})
		}
	case kindLiteralInteger, kindLiteralFloat:
		_, err := p.word()
		return err
	case kindLiteralString:
		return p.string()
	case kindLiteralContextDependentNumber:
		return p.number(p.i.Type)
	case kindLiteralExtInstInteger:
		return p.extended()
	case kindLiteralSpecConstantOpInteger:
		return p.specConstantOp()
	case kindPairIdRefIdRef:
		return p.pair(kindIdRef, kindIdRef)
	case kindPairIdRefLiteralInteger:
		return p.pair(kindIdRef, kindLiteralInteger)
	case kindPairLiteralIntegerIdRef:
		// The literal of OpSwitch is as wide as its selector.
		if err := p.number(p.d.m.typeOf(ID(p.i.Operands[0]))); err != nil {
			return err
		}
		return p.one(kindIdRef)
	default:
		return p.enumeration(kind)
	}
	return nil
}

func (p *operandParser) pair(a, b operandKind) error {
	if err := p.one(a); err != nil {
		return err
	}
	return p.one(b)
}

func (p *operandParser) words(n int) error {
	for range n {
		if _, err := p.word(); err != nil {
			return err
		}
	}
	return nil
}

func (p *operandParser) string() error {
	for {
		w, err := p.word()
		if err != nil {
			return errorAt(p.i, "its string has no end")
		}
		if w&0xff == 0 || w>>8&0xff == 0 || w>>16&0xff == 0 || w>>24 == 0 {
			return nil
		}
	}
}

// number takes a literal of a scalar type.
func (p *operandParser) number(t ID) error {
	n := p.d.m.numberWords(t)
	if n == 0 {
		return errorAt(p.i, "the type of its literal is not an integer or float of up to 64 bits")
	}
	return p.words(n)
}

// extended takes the number of an instruction of an extended set, which says what follows.
func (p *operandParser) extended() error {
	n, err := p.word()
	if err != nil {
		return err
	}
	// In front of the number stand the type, the result and the set.
	set, ok := p.d.m.Imports[ID(p.i.Operands[2])]
	if !ok {
		return errorAt(p.i, "%s is not an OpExtInstImport", p.d.m.Name(ID(p.i.Operands[2])))
	}
	if set == oldDebugInfo {
		p.rest = nil
	}
	if set != glslSet {
		return nil
	}
	info := GLSL(n).info()
	if info == nil {
		return errorAt(p.i, "%s has no instruction %d", glslSet, n)
	}
	if len(p.rest) != int(info.operands) {
		return errorAt(p.i, "%v takes %d operands, not %d", GLSL(n), info.operands, len(p.rest))
	}
	return nil
}

const glslSet = "GLSL.std.450"

func (p *operandParser) specConstantOp() error {
	w, err := p.word()
	if err != nil {
		return err
	}
	var info *opInfo
	if w <= 0xffff {
		info = Op(w).info()
	}
	if info == nil || !Op(w).specializable() {
		return errorAt(p.i, "%v is no operation on constants", Op(w))
	}
	return p.all(info.operands.operands()[2:])
}

// enumeration takes a value, or a mask, and the parameters that it brings along.
func (p *operandParser) enumeration(kind operandKind) error {
	value, err := p.word()
	if err != nil {
		return err
	}
	if !kindTable[kind].mask {
		e := kind.enumerant(value)
		if e == nil {
			return errorAt(p.i, "%d is not a known value of its operand", value)
		}
		p.i.demands = p.i.demands || e.requirement != basic
		return p.all(e.parameters.operands())
	}
	for rest := value; rest != 0; rest &= rest - 1 {
		e := kind.enumerant(rest & -rest)
		if e == nil {
			return errorAt(p.i, "bit %d is not a known one of its mask", bits.TrailingZeros32(rest))
		}
		p.i.demands = p.i.demands || e.requirement != basic
		if err := p.all(e.parameters.operands()); err != nil {
			return err
		}
	}
	return nil
}

// literalString decodes a string, which ends in its last word; the first character is in the low byte.
func literalString(words []uint32) string {
	buf := make([]byte, 0, 64)
	for _, w := range words {
		for range 4 {
			if byte(w) == 0 {
				return string(buf)
			}
			buf = append(buf, byte(w))
			w >>= 8
		}
	}
	return string(buf)
}

// typeOf is the id of the type of an object, or 0.
func (m *Module) typeOf(id ID) ID {
	if def := m.Definitions[id]; def != nil {
		return def.Type
	}
	return 0
}

// specializable says whether Vulkan's shaders may use an operation in OpSpecConstantOp. (SPIR-V, OpSpecConstantOp;
// those of capability Kernel are left out.)
func (op Op) specializable() bool {
	switch op {
	case OpSConvert, OpUConvert, OpFConvert, OpSNegate, OpNot, OpIAdd, OpISub, OpIMul, OpUDiv, OpSDiv, OpUMod, OpSRem,
		OpSMod,
		OpShiftRightLogical, OpShiftRightArithmetic, OpShiftLeftLogical, OpBitwiseOr, OpBitwiseXor, OpBitwiseAnd,
		OpVectorShuffle, OpCompositeExtract, OpCompositeInsert,
		OpLogicalOr, OpLogicalAnd, OpLogicalNot, OpLogicalEqual, OpLogicalNotEqual, OpSelect,
		OpIEqual, OpINotEqual, OpULessThan, OpSLessThan, OpUGreaterThan, OpSGreaterThan,
		OpULessThanEqual, OpSLessThanEqual, OpUGreaterThanEqual, OpSGreaterThanEqual,
		OpQuantizeToF16:
		return true
	}
	return false
}

// part is an operand of an instruction: its kind, and its first word. Literals of several words count as one.
type part struct {
	kind operandKind
	word uint32
}

// parts appends the operands behind an instruction's result to a list. Decode has seen that they are right.
func (m *Module) parts(i *Instruction, list []part) []part {
	w := walker{m, i, i.Operands, list}
	for _, o := range i.Op.info().operands.operands() {
		if k := o.kind(); k != kindIdResult && k != kindIdResultType {
			w.operand(o)
		}
	}
	return w.list
}

// walker lists the operands of an instruction, as deep as the grammar is (maxOperandDepth).
type walker struct {
	m    *Module
	i    *Instruction
	rest []uint32
	list []part
}

func (w *walker) operand(o operand) {
	if o&repeated == 0 {
		if o&optional == 0 || len(w.rest) > 0 {
			w.one(o.kind())
		}
		return
	}
	for len(w.rest) > 0 {
		w.one(o.kind())
	}
}

func (w *walker) take(kind operandKind, n int) {
	w.list = append(w.list, part{kind, w.rest[0]})
	w.rest = w.rest[n:]
}

func (w *walker) one(kind operandKind) {
	switch kind {
	case kindLiteralString:
		w.take(kind, len(literalString(w.rest))/4+1)
	case kindLiteralContextDependentNumber:
		w.take(kind, w.m.numberWords(w.i.Type))
	case kindLiteralSpecConstantOpInteger:
		op := Op(w.rest[0])
		w.take(kind, 1)
		for _, o := range op.info().operands.operands()[2:] {
			w.operand(o)
		}
	case kindPairIdRefIdRef:
		w.take(kindIdRef, 1)
		w.take(kindIdRef, 1)
	case kindPairIdRefLiteralInteger:
		w.take(kindIdRef, 1)
		w.take(kindLiteralInteger, 1)
	case kindPairLiteralIntegerIdRef:
		w.take(kindLiteralInteger, w.m.numberWords(w.m.typeOf(ID(w.i.Operands[0]))))
		w.take(kindIdRef, 1)
	default:
		value := w.rest[0]
		w.take(kind, 1)
		if kindTable[kind].n == 0 {
			return
		}
		if !kindTable[kind].mask {
			w.parameters(kind, value)
			return
		}
		for ; value != 0; value &= value - 1 {
			w.parameters(kind, value&-value)
		}
	}
}

func (w *walker) parameters(kind operandKind, value uint32) {
	for _, o := range kind.enumerant(value).parameters.operands() {
		w.operand(o)
	}
}

// numberWords is how many words a literal of a type takes, and 0 where the type has no literals.
func (m *Module) numberWords(t ID) int {
	if def := m.Definitions[t]; def != nil && (def.Op == OpTypeInt || def.Op == OpTypeFloat) {
		switch width := def.Operands[0]; {
		case width > 0 && width <= 32:
			return 1
		case width == 64:
			return 2
		}
	}
	return 0
}
