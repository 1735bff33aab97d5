package spirv

import (
	"cmp"
	"fmt"
	"slices"

	"farside/internal/vk"
)

// annotations checks that decorations stand where they may, and that each that says how something is laid out or bound
// stands there once.
func (k *checker) annotations() error {
	for _, i := range k.m.annotations {
		if err := k.requirements(i); err != nil {
			return err
		}
		switch i.Op {
		case OpDecorate, OpDecorateId, OpDecorateString:
			target := k.m.Definitions[i.Operands[0]]
			if target.Op == OpDecorationGroup {
				continue
			}
			if err := k.decoration(i, target, DecorationKind(i.Operands[1]), i.Operands[2:]); err != nil {
				return err
			}
		case OpMemberDecorate, OpMemberDecorateString:
			if err := k.memberDecoration(i, ID(i.Operands[0]), i.Operands[1], DecorationKind(i.Operands[2])); err != nil {
				return err
			}
		case OpGroupDecorate:
			for _, id := range i.Operands[1:] {
				for _, d := range k.m.Decorations[ID(i.Operands[0])] {
					if err := k.decoration(i, k.m.Definitions[id], d.Kind, d.Operands); err != nil {
						return err
					}
				}
			}
		case OpGroupMemberDecorate:
			for t := i.Operands[1:]; len(t) > 0; t = t[2:] {
				for _, d := range k.m.Decorations[ID(i.Operands[0])] {
					if err := k.memberDecoration(i, ID(t[0]), t[1], d.Kind); err != nil {
						return err
					}
				}
			}
		}
	}
	for id, list := range k.m.Decorations {
		if len(list) > 1 && k.m.Definitions[id].Op != OpDecorationGroup {
			if d := twice(list); d != nil {
				return &Error{Offset: d.Offset, Op: OpDecorate,
					Message: "the decoration " + d.Kind.String() + " of " + k.name(ID(id)) + " is there twice, and differs"}
			}
		}
	}
	for id, members := range k.m.MemberDecorations {
		for _, list := range members {
			if d := twice(list); d != nil {
				return &Error{Offset: d.Offset, Op: OpMemberDecorate,
					Message: "the decoration " + d.Kind.String() + " of a member of " + k.name(id) + " is there twice, and differs"}
			}
		}
	}
	return nil
}

// names checks that members that have names are there.
func (k *checker) names() error {
	for _, i := range k.m.memberNames {
		if t := k.types[i.Operands[0]]; t == nil || t.Kind != TypeStruct || int64(i.Operands[1]) >= int64(len(t.Members)) {
			return errorAt(i, "%s has no member %d", k.name(ID(i.Operands[0])), i.Operands[1])
		}
	}
	return nil
}

// twice finds a second decoration of a kind that says one thing, and another one.
func twice(list []Decoration) *Decoration {
	var first [DecorationOffset + 1]*Decoration // the largest of these kinds
	for n := range list {
		d := &list[n]
		switch d.Kind {
		case DecorationSpecId, DecorationArrayStride, DecorationMatrixStride, DecorationBuiltIn, DecorationBinding,
			DecorationDescriptorSet, DecorationOffset:
			if f := first[d.Kind]; f == nil {
				first[d.Kind] = d
			} else if f.Operands[0] != d.Operands[0] {
				return d
			}
		}
	}
	return nil
}

// decoration checks that a target may have a decoration.
func (k *checker) decoration(i, target *Instruction, kind DecorationKind, operands []uint32) error {
	if err := k.coherence(i, kind); err != nil {
		return err
	}
	bad := func(vuid vk.VUID, what string) error {
		return ruleAt(i, vuid, "%v of %s: %s", kind, k.name(target.Result), what)
	}
	t := k.types[target.Result] // nil of what is no type
	switch kind {
	case DecorationSpecId:
		if target.Op != OpSpecConstant && target.Op != OpSpecConstantTrue && target.Op != OpSpecConstantFalse {
			return bad(vk.NoVUID, "the target is not a scalar specialization constant")
		}
	case DecorationBlock, DecorationBufferBlock:
		if t == nil || t.Kind != TypeStruct {
			return bad(vk.NoVUID, "the target is not a struct")
		}
	case DecorationArrayStride:
		if t == nil || t.Kind != TypeArray && t.Kind != TypeRuntimeArray && t.Kind != TypePointer {
			return bad(vk.NoVUID, "the target is not an array or a pointer")
		}
		if operands[0] == 0 {
			return bad(vk.NoVUID, "the stride is 0")
		}
	case DecorationOffset, DecorationMatrixStride, DecorationRowMajor, DecorationColMajor:
		if kind != DecorationOffset || target.Op != OpVariable {
			return bad(vk.NoVUID, "the target is not a member of a struct")
		}
	case DecorationGLSLShared, DecorationGLSLPacked:
		return bad(vk.VUID_StandaloneSpirv_GLSLShared_04669, "it must not be used")
	case DecorationBinding, DecorationDescriptorSet, DecorationInputAttachmentIndex:
		if target.Op != OpVariable {
			return bad(vk.NoVUID, "the target is not a variable")
		}
		switch class := StorageClass(target.Operands[0]); {
		case class == StorageClassUniformConstant:
		case kind != DecorationInputAttachmentIndex && (class == StorageClassUniform || class == StorageClassStorageBuffer):
		default:
			return bad(vk.VUID_StandaloneSpirv_DescriptorSet_06491, "its storage class has no descriptors")
		}
	case DecorationLocation, DecorationComponent:
		if target.Op != OpVariable || StorageClass(target.Operands[0]) != StorageClassInput &&
			StorageClass(target.Operands[0]) != StorageClassOutput {
			return bad(vk.VUID_StandaloneSpirv_Location_06672, "the target is not an input or output")
		}
	case DecorationBuiltIn:
		return k.builtInDecoration(i, target, BuiltIn(operands[0]))
	case DecorationFPRoundingMode:
		if m := FPRoundingMode(operands[0]); m != FPRoundingModeRTE && m != FPRoundingModeRTZ {
			return bad(vk.VUID_StandaloneSpirv_FPRoundingMode_04675, "the mode is neither RTE nor RTZ")
		}
		if target.Op != OpFConvert && target.Op != OpSpecConstantOp {
			return bad(vk.NoVUID, "the target is not an OpFConvert")
		}
	case DecorationNonWritable, DecorationNonReadable, DecorationCoherent, DecorationVolatile, DecorationRestrict,
		DecorationAliased, DecorationRestrictPointer, DecorationAliasedPointer:
		if target.Op != OpVariable && target.Op != OpFunctionParameter {
			return bad(vk.NoVUID, "the target is not a variable or a parameter")
		}
	case DecorationRelaxedPrecision:
		if t != nil {
			return bad(vk.NoVUID, "the target is a type")
		}
	case DecorationNonUniform:
		if target.Type == 0 {
			return bad(vk.NoVUID, "the target is no object")
		}
	}
	return nil
}

// builtInDecoration checks that a built-in is a variable, or the constant WorkgroupSize.
func (k *checker) builtInDecoration(i, target *Instruction, b BuiltIn) error {
	if target.Op == OpVariable {
		return nil
	}
	bad := func(vuid vk.VUID, what string) error {
		return ruleAt(i, vuid, "%v of %s: %s", DecorationBuiltIn, k.name(target.Result), what)
	}
	if b != BuiltInWorkgroupSize || target.Op != OpConstantComposite && target.Op != OpSpecConstantComposite {
		return bad(vk.VUID_WorkgroupSize_WorkgroupSize_04426,
			"the target is neither a variable nor the constant WorkgroupSize")
	}
	if t := k.c.Values[target.Result].Type; t.Kind != TypeVector || t.Count != 3 || t.Elem.Kind != TypeInt ||
		t.Elem.Width != 32 {
		return bad(vk.VUID_WorkgroupSize_WorkgroupSize_04427, "it is not a vector of 3 32-bit integers")
	}
	return nil
}

// coherence refuses what the memory model Vulkan has in instructions instead.
func (k *checker) coherence(i *Instruction, kind DecorationKind) error {
	if (kind == DecorationCoherent || kind == DecorationVolatile) && k.has(CapabilityVulkanMemoryModel) {
		return errorAt(i, "the memory model Vulkan has no decoration %v", kind)
	}
	return nil
}

func (k *checker) memberDecoration(i *Instruction, id ID, member uint32, kind DecorationKind) error {
	t := k.types[id]
	if t == nil || t.Kind != TypeStruct || int64(member) >= int64(len(t.Members)) {
		return errorAt(i, "%s has no member %d", k.name(id), member)
	}
	if err := k.coherence(i, kind); err != nil {
		return err
	}
	switch kind {
	case DecorationMatrixStride, DecorationRowMajor, DecorationColMajor:
		m := t.Members[member]
		for m.Kind == TypeArray || m.Kind == TypeRuntimeArray {
			m = m.Elem
		}
		if m.Kind != TypeMatrix {
			return errorAt(i, "%v: the member %d of %s is not a matrix", kind, member, k.name(id))
		}
	case DecorationGLSLShared, DecorationGLSLPacked, DecorationBlock, DecorationBufferBlock, DecorationBinding,
		DecorationDescriptorSet,
		DecorationSpecId, DecorationArrayStride, DecorationNonUniform:
		return errorAt(i, "%v does not decorate members", kind)
	}
	return nil
}

// layoutRules are the rules of "Offset and Stride Assignment" by which a block is laid out.
type layoutRules uint8

const (
	layoutScalar   layoutRules = iota
	layoutBase                 // std430, with Vulkan 1.1's relaxed alignment of vectors
	layoutExtended             // std140
)

type layoutKey struct {
	t     *Type
	rules layoutRules
}

// layoutResult is what is known of a struct; alignment and size hold where it is right.
type layoutResult struct {
	err         error
	align, size uint64
}

// layoutChecker checks layouts by some rules.
type layoutChecker struct {
	k     *checker
	rules layoutRules
}

// checkLayout checks the layout of a struct, and all that is in it. Answers are kept. It calls itself for structs
// within structs; complete, alignment and size go along arrays and matrices. All this is as deep as the type
// (MaxTypeDepth).
func (k *checker) checkLayout(t *Type, rules layoutRules) error {
	key := layoutKey{t, rules}
	if r, ok := k.layouts[key]; ok {
		return r.err
	}
	l := layoutChecker{k, rules}
	r := l.structure(t)
	put(&k.layouts, key, r)
	return r.err
}

func (l layoutChecker) fail(t *Type, member int, format string, args ...any) error {
	def := l.k.m.Definitions[t.ID]
	return ruleAt(def, vk.VUID_StandaloneSpirv_None_10684, "member %d of %s: %s", member, l.k.name(t.ID),
		fmt.Sprintf(format, args...))
}

func (l layoutChecker) structure(t *Type) (r layoutResult) {
	r.align = 1
	r.err = l.members(t, &r)
	r.align = l.round(r.align)
	return r
}

func (l layoutChecker) members(t *Type, r *layoutResult) error {
	type place struct {
		member        int
		from, to, pad uint64
	}
	places := make([]place, len(t.Members))
	decorations := l.k.m.MemberDecorations[t.ID]
	for n, member := range t.Members {
		placed, major := false, false
		for _, d := range decorations[uint32(n)] {
			placed = placed || d.Kind == DecorationOffset
			major = major || d.Kind == DecorationRowMajor || d.Kind == DecorationColMajor
		}
		inner := member
		for inner.Kind == TypeArray || inner.Kind == TypeRuntimeArray {
			inner = inner.Elem
		}
		switch {
		case !placed:
			return l.fail(t, n, "it has no Offset")
		case inner.Kind == TypeMatrix && !major:
			return l.fail(t, n, "its matrix is neither RowMajor nor ColMajor")
		}
		lay := t.Layouts[n]
		if err := l.complete(t, n, member, lay); err != nil {
			return err
		}
		align, size := l.alignment(member, lay), l.size(member, lay)
		offset := uint64(lay.Offset)
		r.align, r.size = max(r.align, align), max(r.size, offset+size)
		if member.Kind == TypeVector && l.rules != layoutScalar {
			scalar := uint64(member.Elem.Width / 8)
			if offset%scalar != 0 {
				return l.fail(t, n, "its offset %d is not a multiple of %d", offset, scalar)
			}
			if size <= 16 && offset/16 != (offset+size-1)/16 || size > 16 && offset%16 != 0 {
				return l.fail(t, n, "the vector at %d straddles a boundary of 16 bytes", offset)
			}
		} else if offset%align != 0 {
			return l.fail(t, n, "its offset %d is not a multiple of %d", offset, align)
		}
		places[n] = place{n, offset, offset + size, offset + size}
		if l.rules != layoutScalar && (member.Kind == TypeStruct || member.Kind == TypeArray || member.Kind == TypeMatrix) {
			places[n].pad = (offset + size + align - 1) / align * align
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	for n := 1; n < len(places); n++ {
		p, q := places[n-1], places[n]
		switch {
		case q.from < p.to && q.from < q.to:
			return l.fail(t, q.member, "its offset %d is inside of member %d", q.from, p.member)
		case q.from < p.pad:
			return l.fail(t, q.member, "its offset %d is in the padding behind member %d", q.from, p.member)
		}
	}
	return nil
}

// complete checks strides and what is inside of a member.
func (l layoutChecker) complete(t *Type, n int, member *Type, lay MemberLayout) error {
	switch member.Kind {
	case TypeArray, TypeRuntimeArray:
		if err := l.complete(t, n, member.Elem, lay); err != nil {
			return err
		}
		if member.Stride == 0 {
			return l.fail(t, n, "its array has no ArrayStride")
		}
		if align := l.alignment(member, lay); uint64(member.Stride)%align != 0 {
			return l.fail(t, n, "its array stride %d is not a multiple of %d", member.Stride, align)
		}
		if size := l.size(member.Elem, lay); uint64(member.Stride) < size {
			return l.fail(t, n, "its array stride %d is smaller than its elements, of %d bytes", member.Stride, size)
		}
	case TypeMatrix:
		if lay.MatrixStride == 0 {
			return l.fail(t, n, "its matrix has no MatrixStride")
		}
		if align := l.alignment(member, lay); uint64(lay.MatrixStride)%align != 0 {
			return l.fail(t, n, "its matrix stride %d is not a multiple of %d", lay.MatrixStride, align)
		}
	case TypeStruct:
		return l.k.checkLayout(member, l.rules)
	case TypeBool:
		return l.fail(t, n, "it has a bool, which has no size")
	case TypePointer:
		if member.Class != StorageClassPhysicalStorageBuffer {
			return l.fail(t, n, "it has a pointer that is not to PhysicalStorageBuffer")
		}
	case TypeVector:
		if member.Elem.Kind == TypeBool {
			return l.fail(t, n, "it has a bool, which has no size")
		}
	case TypeImage, TypeSampler, TypeSampledImage:
		return l.fail(t, n, "it is opaque")
	}
	return nil
}

// alignment is that of the rules.
func (l layoutChecker) alignment(t *Type, lay MemberLayout) uint64 {
	switch t.Kind {
	case TypeInt, TypeFloat:
		return uint64(t.Width / 8)
	case TypePointer:
		return 8
	case TypeVector:
		scalar := uint64(t.Elem.Width / 8)
		switch {
		case l.rules == layoutScalar:
			return scalar
		case t.Count == 2:
			return 2 * scalar
		}
		return 4 * scalar
	case TypeMatrix:
		column := *t.Elem
		if lay.RowMajor {
			column.Count = t.Count
		}
		return l.round(l.alignment(&column, lay))
	case TypeArray, TypeRuntimeArray:
		return l.round(l.alignment(t.Elem, lay))
	case TypeStruct:
		return l.k.layouts[layoutKey{t, l.rules}].align // complete has seen to it
	}
	return 1
}

// round is for arrays, matrices and structs.
func (l layoutChecker) round(align uint64) uint64 {
	if l.rules == layoutExtended {
		return max(align, 16)
	}
	return align
}

// size is a type's size in bytes with an explicit layout. A runtime array has none. It can't overflow: strides were
// seen to be as large as the elements, and have 32 bits, as counts do.
func (l layoutChecker) size(t *Type, lay MemberLayout) uint64 {
	switch t.Kind {
	case TypeInt, TypeFloat:
		return uint64(t.Width / 8)
	case TypePointer:
		return 8
	case TypeVector:
		return uint64(t.Count) * uint64(t.Elem.Width/8)
	case TypeMatrix:
		vectors, components := t.Count, t.Elem.Count
		if lay.RowMajor {
			vectors, components = components, vectors
		}
		return uint64(vectors-1)*uint64(lay.MatrixStride) + uint64(components)*uint64(t.Elem.Elem.Width/8)
	case TypeArray:
		return uint64(t.Count-1)*uint64(t.Stride) + l.size(t.Elem, lay)
	case TypeStruct:
		return l.k.layouts[layoutKey{t, l.rules}].size
	}
	return 0
}
