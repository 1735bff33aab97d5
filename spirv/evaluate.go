package spirv

import (
	"encoding/binary"
	"math"
	"slices"
)

// addConstant takes any global that has a type and is no variable.
func (e *evaluator) addConstant(i *Instruction) error {
	t := e.c.Types[i.Type]
	if t == nil {
		return errorAt(i, "its type %s is not a type", e.m.Name(i.Type))
	}
	v, err := e.constant(i, t)
	if err != nil {
		return err
	}
	if v != nil {
		e.c.Values[i.Result] = v
	}
	return nil
}

func (e *evaluator) constant(i *Instruction, t *Type) (*Constant, error) {
	switch i.Op {
	case OpConstantTrue, OpConstantFalse, OpSpecConstantTrue, OpSpecConstantFalse:
		if t.Kind != TypeBool {
			return nil, errorAt(i, "its type %s is not bool", e.m.Name(t.ID))
		}
		v := e.newConstant(Constant{Type: t})
		if i.Op == OpConstantTrue || i.Op == OpSpecConstantTrue {
			v.Bits = 1
		}
		return v, e.specialize(i, v)
	case OpConstant, OpSpecConstant:
		// Decode saw an integer or a float, and as many words as it has.
		v := e.newConstant(Constant{Type: t, Bits: uint64(i.Operands[0])})
		if t.Width == 64 {
			v.Bits |= uint64(i.Operands[1]) << 32
		}
		v.Bits = cut(v.Bits, t.Width)
		return v, e.specialize(i, v)
	case OpConstantComposite, OpSpecConstantComposite:
		return e.composite(i, t, i.Operands, false)
	case OpConstantCompositeReplicateEXT, OpSpecConstantCompositeReplicateEXT:
		return e.composite(i, t, i.Operands, true)
	case OpConstantNull:
		switch t.Kind {
		case TypeImage, TypeSampler, TypeSampledImage, TypeRuntimeArray, TypeVoid, TypeFunction:
			return nil, errorAt(i, "there is no null of type %s", e.m.Name(t.ID))
		}
		return e.null(i, t)
	case OpUndef:
		switch t.Kind {
		case TypeVoid, TypeRuntimeArray, TypeFunction:
			return nil, errorAt(i, "there is no undefined object of type %s", e.m.Name(t.ID))
		case TypeImage, TypeSampler, TypeSampledImage:
			return e.newConstant(Constant{Type: t}), nil
		}
		return e.null(i, t)
	case OpSpecConstantOp:
		return e.operation(i, t)
	}
	return nil, errorAt(i, "it is not supported outside of functions")
}

// cut takes the low bits of a number.
func cut(bits uint64, width uint32) uint64 {
	if width >= 64 {
		return bits
	}
	return bits & (1<<width - 1)
}

// specialize replaces a constant's value. (VUID-VkSpecializationMapEntry-constantID-00776)
func (e *evaluator) specialize(i *Instruction, v *Constant) error {
	if len(e.specialization) == 0 || i.Op != OpSpecConstant && i.Op != OpSpecConstantTrue && i.Op != OpSpecConstantFalse {
		return nil
	}
	d := e.m.decoration(i.Result, DecorationSpecId)
	if d == nil {
		return nil
	}
	data, ok := e.specialization[d.Operands[0]]
	if !ok {
		return nil
	}
	size := int(v.Type.Width / 8)
	if v.Type.Kind == TypeBool {
		size = 4
	}
	if len(data) != size {
		return errorAt(i, "the specialization of constant %d has %d bytes, not %d", d.Operands[0], len(data), size)
	}
	var buf [8]byte
	copy(buf[:], data)
	v.Bits = binary.LittleEndian.Uint64(buf[:])
	if v.Type.Kind == TypeBool && v.Bits != 0 {
		v.Bits = 1
	}
	return nil
}

// elementType is the type of an element of a composite, and how many there are.
func (t *Type) elementType(n int) *Type {
	if t.Kind == TypeStruct {
		return t.Members[n]
	}
	return t.Elem
}

// elementCount is how many elements a composite has; 0 of what is none.
func (t *Type) elementCount() int {
	switch t.Kind {
	case TypeStruct:
		return len(t.Members)
	case TypeVector, TypeMatrix, TypeArray:
		return int(t.Count)
	}
	return 0
}

// reserve counts elements before they are allocated.
func (e *evaluator) reserve(i *Instruction, t *Type) ([]*Constant, error) {
	n := t.elementCount()
	if n > maxElements-e.elements {
		return nil, errorAt(i, "the module's types and constants have more than %d elements", maxElements)
	}
	e.elements += n
	return make([]*Constant, n), nil
}

func (e *evaluator) composite(i *Instruction, t *Type, ids []uint32, replicate bool) (*Constant, error) {
	n := t.elementCount()
	switch {
	case t.Kind != TypeStruct && n == 0:
		return nil, errorAt(i, "its type %s is not a composite", e.m.Name(t.ID))
	case !replicate && len(ids) != n:
		return nil, errorAt(i, "it has %d constituents, its type %s has %d", len(ids), e.m.Name(t.ID), n)
	}
	list, err := e.reserve(i, t)
	if err != nil {
		return nil, err
	}
	for k := range list {
		id := ID(ids[0])
		if !replicate {
			id = ID(ids[k])
		}
		list[k] = e.c.Values[id]
		if list[k] == nil || list[k].Type != t.elementType(k) {
			return nil, errorAt(i, "the constituent %s is not a constant of the type that its place has", e.m.Name(id))
		}
	}
	return e.newConstant(Constant{Type: t, Elements: list}), nil
}

// null is the zero of a type. There is one of each, and so no more elements than the types have. The recursion is as
// deep as the type (MaxTypeDepth).
func (e *evaluator) null(i *Instruction, t *Type) (*Constant, error) {
	if v := e.nulls[t]; v != nil {
		return v, nil
	}
	list, err := e.reserve(i, t)
	if err != nil {
		return nil, err
	}
	v := e.newConstant(Constant{Type: t})
	put(&e.nulls, t, v)
	if len(list) > 0 {
		v.Elements = list
	}
	for n := range list {
		switch et := t.elementType(n); et.Kind {
		case TypeImage, TypeSampler, TypeSampledImage, TypeRuntimeArray:
			return nil, errorAt(i, "there is no null of type %s", e.m.Name(et.ID))
		default:
			if list[n], err = e.null(i, et); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// operation evaluates an OpSpecConstantOp. Where SPIR-V leaves the result open, as for a division by zero, it is 0.
func (e *evaluator) operation(i *Instruction, t *Type) (*Constant, error) {
	op := Op(i.Operands[0])
	var operands []*Constant
	ids := i.Operands[1:]
	switch op {
	case OpCompositeExtract:
		ids = ids[:1]
	case OpCompositeInsert, OpVectorShuffle:
		ids = ids[:2]
	}
	for _, id := range ids {
		v := e.c.Values[ID(id)]
		if v == nil {
			return nil, errorAt(i, "its operand %s is not a constant", e.m.Name(ID(id)))
		}
		operands = append(operands, v)
	}
	wrong := errorAt(i, "the types of its operands do not go together with its type %s", e.m.Name(t.ID))
	switch op {
	case OpCompositeExtract:
		v := operands[0]
		for _, n := range i.Operands[2:] {
			if int64(n) >= int64(len(v.Elements)) {
				return nil, errorAt(i, "the index %d is out of range", n)
			}
			v = v.Elements[n]
		}
		if v.Type != t {
			return nil, wrong
		}
		return v, nil
	case OpCompositeInsert:
		if operands[1].Type != t {
			return nil, wrong
		}
		return e.insert(i, operands[1], operands[0], i.Operands[3:])
	case OpVectorShuffle:
		return e.shuffle(i, t, operands, i.Operands[3:])
	}
	if !wellTyped(op, t, operands) {
		return nil, wrong
	}
	if t.Kind != TypeVector {
		if op == OpSelect {
			return operands[2-operands[0].Bits], nil
		}
		return e.newConstant(Constant{Type: t, Bits: scalarOperation(op, t, operands)}), nil
	}
	list, err := e.reserve(i, t)
	if err != nil {
		return nil, err
	}
	for n := range list {
		var parts []*Constant
		for _, v := range operands {
			if v.Type.Kind == TypeVector {
				v = v.Elements[n]
			}
			parts = append(parts, v)
		}
		if op == OpSelect {
			list[n] = parts[2-parts[0].Bits]
		} else {
			list[n] = e.newConstant(Constant{Type: t.Elem, Bits: scalarOperation(op, t.Elem, parts)})
		}
	}
	return e.newConstant(Constant{Type: t, Elements: list}), nil
}

// insert is into with object at the place that indices name. An index into a scalar is refused, so the recursion is as
// deep as the type (MaxTypeDepth), however many indices there are.
func (e *evaluator) insert(i *Instruction, into, object *Constant, indices []uint32) (*Constant, error) {
	if len(indices) == 0 {
		if into.Type != object.Type {
			return nil, errorAt(i, "the object is not of the type that its place has")
		}
		return object, nil
	}
	if int64(indices[0]) >= int64(len(into.Elements)) {
		return nil, errorAt(i, "the index %d is out of range", indices[0])
	}
	v := e.newConstant(Constant{Type: into.Type})
	var err error
	if v.Elements, err = e.reserve(i, into.Type); err != nil {
		return nil, err
	}
	copy(v.Elements, into.Elements)
	v.Elements[indices[0]], err = e.insert(i, into.Elements[indices[0]], object, indices[1:])
	return v, err
}

func (e *evaluator) shuffle(i *Instruction, t *Type, operands []*Constant, indices []uint32) (*Constant, error) {
	a, b := operands[0], operands[1]
	if t.Kind != TypeVector || a.Type.Kind != TypeVector || b.Type.Kind != TypeVector ||
		a.Type.Elem != t.Elem || b.Type.Elem != t.Elem || len(indices) != int(t.Count) {
		return nil, errorAt(i, "the types of its operands do not go together with its type %s", e.m.Name(t.ID))
	}
	all := slices.Concat(a.Elements, b.Elements)
	list, err := e.reserve(i, t)
	if err != nil {
		return nil, err
	}
	for n, index := range indices {
		switch {
		case index == math.MaxUint32: // undefined
			list[n] = e.newConstant(Constant{Type: t.Elem})
		case int64(index) < int64(len(all)):
			list[n] = all[index]
		default:
			return nil, errorAt(i, "the component %d is out of range", index)
		}
	}
	return e.newConstant(Constant{Type: t, Elements: list}), nil
}

// wellTyped says whether the operands of an operation on scalars, or on vectors by component, have types that fit.
func wellTyped(op Op, t *Type, operands []*Constant) bool {
	same := func(v *Constant, kind TypeKind) bool { // a scalar of a kind, or as long a vector as the result
		vt := v.Type
		if t.Kind == TypeVector {
			if vt.Kind != TypeVector || vt.Count != t.Count {
				return false
			}
			vt = vt.Elem
		}
		return vt.Kind == kind
	}
	st := t.component()
	width := func(v *Constant) uint32 { return v.Type.component().Width }
	switch op {
	case OpSConvert, OpUConvert:
		return st.Kind == TypeInt && same(operands[0], TypeInt) && width(operands[0]) != st.Width
	case OpFConvert:
		return st.Kind == TypeFloat && same(operands[0], TypeFloat)
	case OpQuantizeToF16:
		return st.Kind == TypeFloat && st.Width == 32 && operands[0].Type == t
	case OpSNegate, OpNot:
		return st.Kind == TypeInt && same(operands[0], TypeInt) && width(operands[0]) == st.Width
	case OpShiftRightLogical, OpShiftRightArithmetic, OpShiftLeftLogical:
		return st.Kind == TypeInt && same(operands[0], TypeInt) && width(operands[0]) == st.Width &&
			same(operands[1], TypeInt)
	case OpIAdd, OpISub, OpIMul, OpUDiv, OpSDiv, OpUMod, OpSRem, OpSMod, OpBitwiseOr, OpBitwiseXor, OpBitwiseAnd:
		return st.Kind == TypeInt && same(operands[0], TypeInt) && same(operands[1], TypeInt) &&
			width(operands[0]) == st.Width && width(operands[1]) == st.Width
	case OpLogicalNot:
		return st.Kind == TypeBool && same(operands[0], TypeBool)
	case OpLogicalOr, OpLogicalAnd, OpLogicalEqual, OpLogicalNotEqual:
		return st.Kind == TypeBool && same(operands[0], TypeBool) && same(operands[1], TypeBool)
	case OpIEqual, OpINotEqual, OpULessThan, OpSLessThan, OpUGreaterThan, OpSGreaterThan,
		OpULessThanEqual, OpSLessThanEqual, OpUGreaterThanEqual, OpSGreaterThanEqual:
		return st.Kind == TypeBool && same(operands[0], TypeInt) && same(operands[1], TypeInt) &&
			width(operands[0]) == width(operands[1])
	case OpSelect:
		return operands[1].Type == t && operands[2].Type == t &&
			(operands[0].Type.Kind == TypeBool || t.Kind == TypeVector && same(operands[0], TypeBool))
	}
	return false
}

// component is the type of a vector's components, or the type itself.
func (t *Type) component() *Type {
	if t.Kind == TypeVector {
		return t.Elem
	}
	return t
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// scalarOperation computes with operands that wellTyped has seen.
func scalarOperation(op Op, t *Type, operands []*Constant) uint64 {
	a := operands[0].Bits
	from := operands[0].Type.Width
	sa := int64(a<<(64-from)) >> (64 - from) // 0 for a bool, which has no sign
	var b uint64
	var sb int64
	if len(operands) > 1 {
		b = operands[1].Bits
		w := operands[1].Type.Width
		sb = int64(b<<(64-w)) >> (64 - w)
	}
	var r uint64
	switch op {
	case OpSConvert:
		r = uint64(sa)
	case OpUConvert:
		r = a
	case OpFConvert:
		if from == t.Width {
			return a
		}
		return fromFloat(toFloat(a, from), t.Width)
	case OpQuantizeToF16:
		return quantize(a)
	case OpSNegate:
		r = -a
	case OpNot:
		r = ^a
	case OpIAdd:
		r = a + b
	case OpISub:
		r = a - b
	case OpIMul:
		r = a * b
	case OpUDiv, OpUMod, OpSDiv, OpSRem, OpSMod:
		r = divide(op, a, b, sa, sb)
	case OpShiftRightLogical:
		r = a >> b
	case OpShiftRightArithmetic:
		r = uint64(sa >> b)
	case OpShiftLeftLogical:
		r = a << b
	case OpBitwiseOr, OpLogicalOr:
		r = a | b
	case OpBitwiseXor, OpLogicalNotEqual:
		r = a ^ b
	case OpBitwiseAnd, OpLogicalAnd:
		r = a & b
	case OpLogicalNot:
		return a ^ 1
	case OpLogicalEqual, OpIEqual:
		return truth(a == b)
	case OpINotEqual:
		return truth(a != b)
	case OpULessThan:
		return truth(a < b)
	case OpSLessThan:
		return truth(sa < sb)
	case OpUGreaterThan:
		return truth(a > b)
	case OpSGreaterThan:
		return truth(sa > sb)
	case OpULessThanEqual:
		return truth(a <= b)
	case OpSLessThanEqual:
		return truth(sa <= sb)
	case OpUGreaterThanEqual:
		return truth(a >= b)
	case OpSGreaterThanEqual:
		return truth(sa >= sb)
	}
	if t.Kind == TypeBool {
		return r
	}
	return cut(r, t.Width)
}

func divide(op Op, a, b uint64, sa, sb int64) uint64 {
	if b == 0 {
		return 0
	}
	switch op {
	case OpUDiv:
		return a / b
	case OpUMod:
		return a % b
	case OpSDiv:
		return uint64(sa / sb)
	case OpSRem:
		return uint64(sa % sb)
	}
	r := sa % sb // OpSMod: the sign is the divisor's
	if r != 0 && (r < 0) != (sb < 0) {
		r += sb
	}
	return uint64(r)
}

func toFloat(bits uint64, width uint32) float64 {
	switch width {
	case 16:
		return fromHalf(uint16(bits))
	case 32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

func fromFloat(f float64, width uint32) uint64 {
	switch width {
	case 16:
		return uint64(toHalf(f))
	case 32:
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

func fromHalf(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&0x3ff)
	var f float64
	switch exponent {
	case 0:
		f = math.Ldexp(fraction, -24)
	case 31:
		f = math.Inf(1)
		if fraction != 0 {
			f = math.NaN()
		}
	default:
		f = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 != 0 {
		f = -f
	}
	return f
}

// toHalf rounds to the nearest half, to even ones between two.
func toHalf(f float64) uint16 {
	sign := uint16(math.Float64bits(f) >> 48 & 0x8000)
	f = math.Abs(f)
	switch {
	case math.IsNaN(f):
		return sign | 0x7e00
	case f >= 65520:
		return sign | 0x7c00
	case f < 0x1p-14:
		return sign | uint16(math.RoundToEven(math.Ldexp(f, 24)))
	}
	_, exponent := math.Frexp(f) // f is in [2^(exponent-1), 2^exponent)
	// Adding lets a fraction that rounds up to the next power carry into the exponent.
	return sign | (uint16(exponent+13)<<10 + uint16(math.RoundToEven(math.Ldexp(f, 11-exponent))))
}

// quantize is OpQuantizeToF16 on the bits of a float: what is too small for a normal half becomes 0.
func quantize(bits uint64) uint64 {
	f := toFloat(bits, 32)
	if h := toHalf(f); h&0x7c00 == 0 {
		f = math.Copysign(0, f)
	} else if !math.IsNaN(f) {
		f = fromHalf(h)
	}
	return fromFloat(f, 32)
}
