package spirv

import (
	"math"

	"farside/internal/ieee"
)

// evaluator makes the types and constants of a module, in the order in which they stand.
type evaluator struct {
	m              *Module
	c              *Constants
	specialization map[uint32][]byte
	forward        map[ID]*Type // pointers named by OpTypeForwardPointer, not defined yet
	nulls          map[*Type]*Constant
	elements       int // of all constants

	types  []Type     // not used yet
	values []Constant // a slab
}

// extent is how deep a type is nested and how many types stand in it, each as often as a struct names it: what
// functions that walk over types have to do.
type extent struct{ depth, nodes int }

// MaxTypeDepth is how deep types may be nested, as for structs in SPIR-V's universal limits. It bounds every recursion
// along types, and along constants. None of them looks through pointers.
const MaxTypeDepth = 255

const maxNodes = 1 << 16

// maxElements bounds the elements of a module's constants together, and the members of its types.
const maxElements = 1 << 20

// Constants evaluates a module's types and constants. The specialization maps SpecId to a value as the API gives it:
// the bytes of the constant's type, little-endian, four for a bool. Values for ids that the module lacks are ignored.
// Without others the result is the same each time.
//
// The error is an *Error, for what a module that has passed Check can have too: a specialization of the wrong size, or
// an array without elements.
func (m *Module) Constants(specialization map[uint32][]byte) (*Constants, error) {
	if !m.specializes(specialization) {
		p := &m.plain
		p.once.Do(func() { p.constants, p.err = m.evaluate(nil) })
		return p.constants, p.err
	}
	return m.evaluate(specialization)
}

// specializes says whether the module has a constant that a specialization has a value for.
func (m *Module) specializes(specialization map[uint32][]byte) bool {
	if len(specialization) == 0 {
		return false
	}
	for _, i := range m.special {
		if d := m.decoration(i.Result, DecorationSpecId); d != nil {
			if _, ok := specialization[d.Operands[0]]; ok {
				return true
			}
		}
	}
	return false
}

func (m *Module) evaluate(specialization map[uint32][]byte) (*Constants, error) {
	defer ieee.Leave(ieee.Enter())
	types, values := 0, 0
	for _, i := range m.Globals {
		if i.Type == 0 {
			types++
		} else if i.Op != OpVariable {
			values++
		}
	}
	bound := len(m.Definitions)
	e := &evaluator{
		m: m, specialization: specialization, types: make([]Type, types), values: make([]Constant, 0, values),
		c: &Constants{Types: make([]*Type, bound), Values: make([]*Constant, bound)},
	}
	for _, i := range m.Globals {
		var err error
		switch i.Op {
		case OpVariable:
			// Variables are no constants.
		case OpTypeForwardPointer:
			t := e.newType(ID(i.Operands[0]))
			t.Kind, t.Class = TypePointer, StorageClass(i.Operands[1])
			put(&e.forward, t.ID, t)
		default:
			if i.Type == 0 {
				err = e.addType(i)
			} else {
				err = e.addConstant(i)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return e.c, nil
}

// newType takes one of the types that were counted: forward pointers are counted twice.
func (e *evaluator) newType(id ID) *Type {
	t := &e.types[0]
	e.types = e.types[1:]
	t.ID = id
	return t
}

func (e *evaluator) newConstant(v Constant) *Constant {
	if len(e.values) == cap(e.values) {
		e.values = make([]Constant, 0, 16)
	}
	e.values = append(e.values, v)
	return &e.values[len(e.values)-1]
}

// typeOperand is an operand that names a type in front of the instruction.
func (e *evaluator) typeOperand(i *Instruction, id uint32) (*Type, error) {
	if t := e.c.Types[ID(id)]; t != nil {
		return t, nil
	}
	return nil, errorAt(i, "%s is not a type that stands in front of it", e.m.Name(ID(id)))
}

func (e *evaluator) addType(i *Instruction) error {
	t := e.forward[i.Result]
	if t == nil {
		t = e.newType(i.Result)
	} else if i.Op != OpTypePointer {
		return errorAt(i, "an OpTypeForwardPointer names it, but it is not an OpTypePointer")
	}
	if err := e.describe(i, t); err != nil {
		return err
	}
	own := extent{1, 1}
	add := func(part *Type) {
		x := part.extent
		own.depth = max(own.depth, x.depth+1)
		own.nodes = min(own.nodes+x.nodes, maxNodes+1)
	}
	switch t.Kind {
	case TypeVector, TypeMatrix, TypeArray, TypeRuntimeArray:
		add(t.Elem)
	case TypeStruct:
		for _, member := range t.Members {
			add(member)
		}
	}
	if own.depth > MaxTypeDepth || own.nodes > maxNodes {
		return errorAt(i, "it is nested more than %d deep or has more than %d parts", MaxTypeDepth, maxNodes)
	}
	t.extent = own
	e.c.Types[i.Result] = t
	return nil
}

// describe reads an OpType into t.
func (e *evaluator) describe(i *Instruction, t *Type) (err error) {
	ops := i.Operands
	switch i.Op {
	case OpTypeVoid:
		t.Kind = TypeVoid
	case OpTypeBool:
		t.Kind = TypeBool
	case OpTypeSampler:
		t.Kind = TypeSampler
	case OpTypeInt, OpTypeFloat:
		return e.number(i, t)
	case OpTypeVector, OpTypeMatrix:
		return e.columns(i, t)
	case OpTypeArray:
		t.Kind, t.Stride = TypeArray, e.stride(i.Result)
		if t.Elem, err = e.element(i, ops[0]); err == nil {
			t.Count, err = e.length(i, ID(ops[1]))
		}
	case OpTypeRuntimeArray:
		t.Kind, t.Stride = TypeRuntimeArray, e.stride(i.Result)
		t.Elem, err = e.element(i, ops[0])
	case OpTypeStruct:
		return e.structure(i, t)
	case OpTypePointer:
		t.Kind, t.Stride = TypePointer, e.stride(i.Result)
		if e.forward[i.Result] != nil && t.Class != StorageClass(ops[0]) {
			return errorAt(i, "its storage class is not that of its OpTypeForwardPointer")
		}
		t.Class = StorageClass(ops[0])
		t.Elem, err = e.typeOperand(i, ops[1])
	case OpTypeImage:
		return e.image(i, t)
	case OpTypeSampledImage:
		t.Kind = TypeSampledImage
		if t.Elem, err = e.typeOperand(i, ops[0]); err == nil && t.Elem.Kind != TypeImage {
			err = errorAt(i, "%s is not an image", e.m.Name(t.Elem.ID))
		}
	case OpTypeFunction:
		return e.function(i, t)
	default:
		return errorAt(i, "it is not supported")
	}
	return err
}

// number is describe for OpTypeInt and OpTypeFloat.
func (e *evaluator) number(i *Instruction, t *Type) error {
	t.Width = i.Operands[0]
	if i.Op == OpTypeFloat {
		t.Kind = TypeFloat
		if t.Width != 16 && t.Width != 32 && t.Width != 64 || len(i.Operands) > 1 {
			return errorAt(i, "there are no floats of %d bits of this encoding", t.Width)
		}
		return nil
	}
	t.Kind, t.Signed = TypeInt, i.Operands[1] != 0
	switch {
	case t.Width != 8 && t.Width != 16 && t.Width != 32 && t.Width != 64:
		return errorAt(i, "there are no integers of %d bits", t.Width)
	case i.Operands[1] > 1:
		return errorAt(i, "its signedness is %d, not 0 or 1", i.Operands[1])
	}
	return nil
}

// columns is describe for OpTypeVector and OpTypeMatrix.
func (e *evaluator) columns(i *Instruction, t *Type) (err error) {
	t.Kind, t.Count = TypeVector, i.Operands[1]
	if i.Op == OpTypeMatrix {
		t.Kind = TypeMatrix
	}
	if t.Elem, err = e.typeOperand(i, i.Operands[0]); err != nil {
		return err
	}
	few := t.Count < 2 || t.Count > 4
	switch {
	case t.Kind == TypeVector && !t.Elem.scalar():
		return errorAt(i, "its component type %s is not a scalar", e.m.Name(t.Elem.ID))
	case t.Kind == TypeVector && few:
		return errorAt(i, "there are no vectors of %d components", t.Count)
	case t.Kind == TypeMatrix && (t.Elem.Kind != TypeVector || t.Elem.Elem.Kind != TypeFloat):
		return errorAt(i, "its column type %s is not a vector of floats", e.m.Name(t.Elem.ID))
	case t.Kind == TypeMatrix && few:
		return errorAt(i, "there are no matrices of %d columns", t.Count)
	}
	return nil
}

// image is describe for OpTypeImage.
func (e *evaluator) image(i *Instruction, t *Type) (err error) {
	ops := i.Operands
	t.Kind = TypeImage
	if t.Elem, err = e.typeOperand(i, ops[0]); err != nil {
		return err
	}
	t.Dim, t.Depth, t.Arrayed, t.Multisampled, t.Sampled, t.Format =
		Dim(ops[1]), ops[2], ops[3] != 0, ops[4] != 0, ops[5], ImageFormat(ops[6])
	if ops[2] > 2 || ops[3] > 1 || ops[4] > 1 || ops[5] > 2 {
		return errorAt(i, "depth, arrayed, multisampled or sampled is out of range")
	}
	return nil
}

// function is describe for OpTypeFunction: Elem is what it returns, Members are its parameters.
func (e *evaluator) function(i *Instruction, t *Type) (err error) {
	t.Kind = TypeFunction
	if t.Elem, err = e.typeOperand(i, i.Operands[0]); err != nil {
		return err
	}
	for _, id := range i.Operands[1:] {
		p, err := e.typeOperand(i, id)
		if err != nil {
			return err
		}
		if p.Kind == TypeVoid || p.Kind == TypeFunction {
			return errorAt(i, "the parameter type %s is void or a function", e.m.Name(p.ID))
		}
		t.Members = append(t.Members, p)
	}
	return nil
}

func (t *Type) scalar() bool { return t.Kind == TypeBool || t.Kind == TypeInt || t.Kind == TypeFloat }

// element is the type of an array's elements.
func (e *evaluator) element(i *Instruction, id uint32) (*Type, error) {
	t := e.c.Types[ID(id)]
	if t == nil {
		t = e.forward[ID(id)]
	}
	if t == nil {
		return nil, errorAt(i, "%s is not a type that stands in front of it", e.m.Name(ID(id)))
	}
	if t.Kind == TypeVoid || t.Kind == TypeFunction || t.Kind == TypeRuntimeArray {
		return nil, errorAt(i, "%s can't be an element", e.m.Name(t.ID))
	}
	return t, nil
}

func (e *evaluator) length(i *Instruction, id ID) (uint32, error) {
	v := e.c.Values[id]
	if v == nil || v.Type.Kind != TypeInt {
		return 0, errorAt(i, "its length %s is not an integer constant", e.m.Name(id))
	}
	n := v.Bits
	if d := e.m.Definitions[id]; n == 0 && (d.Op == OpSpecConstant || d.Op == OpSpecConstantOp) {
		// Compilers write arrays that a specialization leaves without elements, and which are not used then; the constants'
		// own values do so, too.
		return 1, nil
	}
	if v.Type.Signed && int64(n<<(64-v.Type.Width)) < 0 || n == 0 || n > math.MaxUint32 {
		return 0, errorAt(i, "its length %s is not in 1 to 4294967295", e.m.Name(id))
	}
	return uint32(n), nil
}

func (e *evaluator) structure(i *Instruction, t *Type) error {
	t.Kind = TypeStruct
	if e.elements += len(i.Operands); e.elements > maxElements {
		return errorAt(i, "the module's types and constants have more than %d elements", maxElements)
	}
	members := e.m.MemberDecorations[i.Result]
	t.Members = make([]*Type, len(i.Operands))
	for n, id := range i.Operands {
		member := e.c.Types[ID(id)]
		if member == nil {
			member = e.forward[ID(id)]
		}
		switch {
		case member == nil:
			return errorAt(i, "%s is not a type that stands in front of it", e.m.Name(ID(id)))
		case member.Kind == TypeVoid || member.Kind == TypeFunction:
			return errorAt(i, "%s can't be a member", e.m.Name(member.ID))
		case member.Kind == TypeRuntimeArray && n != len(i.Operands)-1:
			return errorAt(i, "a member in front of the last one is a runtime array")
		}
		t.Members[n] = member
		for _, d := range members[uint32(n)] {
			if t.Layouts == nil && (d.Kind == DecorationOffset || d.Kind == DecorationMatrixStride ||
				d.Kind == DecorationRowMajor) {
				t.Layouts = make([]MemberLayout, len(i.Operands))
			}
			switch d.Kind {
			case DecorationOffset:
				t.Layouts[n].Offset = d.Operands[0]
			case DecorationMatrixStride:
				t.Layouts[n].MatrixStride = d.Operands[0]
			case DecorationRowMajor:
				t.Layouts[n].RowMajor = true
			}
		}
	}
	return nil
}

func (e *evaluator) stride(id ID) uint32 {
	if d := e.m.decoration(id, DecorationArrayStride); d != nil {
		return d.Operands[0]
	}
	return 0
}

// decoration is the first decoration of a kind, or nil.
func (m *Module) decoration(id ID, kind DecorationKind) *Decoration {
	list := m.Decorations[id]
	for n := range list {
		if list[n].Kind == kind {
			return &list[n]
		}
	}
	return nil
}
