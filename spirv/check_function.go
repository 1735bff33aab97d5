package spirv

// place is where an id is defined: a function and a block, both from 1 on, and the instruction's place in the block. A
// parameter stands in front of the first block's instructions.
type place struct {
	function, block, order int32
}

// functions checks the functions, and what the entry points reach of them.
func (k *checker) functions() error {
	for n, f := range k.m.Functions {
		for _, p := range f.Parameters {
			k.places[p.Result] = place{int32(n + 1), 1, -1}
		}
		for _, b := range f.Blocks {
			at := place{int32(n + 1), int32(b.Index + 1), 0}
			k.places[b.Label.Result] = at
			for _, i := range b.Instructions {
				at.order++
				if i.Result != 0 {
					k.places[i.Result] = at
				}
			}
		}
	}
	k.limits = make([][]*stageError, len(k.m.Functions))
	calls := map[ID][]*Instruction{}
	for n, f := range k.m.Functions {
		if err := k.function(n, f, calls); err != nil {
			return err
		}
	}
	if err := k.recursion(calls); err != nil {
		return err
	}
	u := k.m.usage()
	for _, e := range k.m.EntryPoints {
		if err := k.reaches(e, u); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) function(n int, f *Function, calls map[ID][]*Instruction) error {
	if err := k.requirements(f.Instruction); err != nil {
		return err
	}
	t := k.types[f.Operands[1]]
	if t == nil || t.Kind != TypeFunction {
		return errorAt(f.Instruction, "%s is not a function type", k.name(ID(f.Operands[1])))
	}
	if k.types[f.Type] != t.Elem {
		return errorAt(f.Instruction, "its result type is not that of its function type")
	}
	if len(f.Parameters) != len(t.Members) {
		return errorAt(f.Instruction, "it has %d parameters, its type has %d", len(f.Parameters), len(t.Members))
	}
	for n, p := range f.Parameters {
		if k.types[p.Type] != t.Members[n] {
			return errorAt(p, "its type is not that of the function's type")
		}
	}
	g, err := k.m.CFG(f)
	if err != nil {
		return err
	}
	if err := (flow{k, f, g}).check(); err != nil {
		return err
	}
	s := functionScope{k, f, g, int32(n + 1)}
	for _, b := range f.Blocks {
		variables := b.Index == 0 // may still stand here
		for at, i := range b.Instructions {
			if i.Op == OpVariable && !variables {
				return errorAt(i, "it stands behind other instructions, or not in the first block of the function")
			}
			variables = variables && (i.Op == OpVariable || i.Op == OpPhi || k.m.nonSemantic(i))
			if i.Op == OpFunctionCall {
				calls[f.Result] = append(calls[f.Result], i)
			}
			if err := k.limit(n, s.instruction(b, i, int32(at+1))); err != nil {
				return err
			}
		}
		for _, i := range []*Instruction{b.Merge, b.Terminator} {
			if i == nil {
				continue
			}
			if err := k.limit(n, s.instruction(b, i, int32(len(b.Instructions)+1))); err != nil {
				return err
			}
		}
	}
	return nil
}

// functionScope checks the instructions of a function.
type functionScope struct {
	*checker
	f      *Function
	g      *CFG
	number int32
}

func (s functionScope) instruction(b *Block, i *Instruction, order int32) error {
	if err := s.requirements(i); err != nil {
		return err
	}
	if i.Type != 0 && s.types[i.Type] == nil {
		return errorAt(i, "%s is not a type", s.name(i.Type))
	}
	if i.Type != 0 && s.scalars(s.types[i.Type]) > maxValue {
		return errorAt(i, "its type %s has more than %d scalars, which only memory may have", s.name(i.Type), maxValue)
	}
	if err := s.uses(b, i, order); err != nil {
		return err
	}
	switch i.Op {
	case OpPhi:
		return s.phi(b, i)
	case OpVariable:
		return s.variable(i, true)
	case OpFunctionCall:
		return s.call(i)
	case OpReturn, OpReturnValue:
		return s.returns(i)
	case OpBranchConditional, OpSwitch:
		return s.branch(i)
	}
	return s.operation(i)
}

// maxValue bounds the scalars of a value, each of which a compiler keeps apart. Nothing that SPIR-V asks for comes
// near.
const maxValue = 1 << 16

// scalars counts the scalars of a type, and ends above maxValue. What it found out about structs is kept. The recursion
// is as deep as the type (MaxTypeDepth).
func (k *checker) scalars(t *Type) uint64 {
	switch t.Kind {
	case TypeVector, TypeMatrix, TypeArray:
		return min(uint64(t.Count)*k.scalars(t.Elem), maxValue+1)
	case TypeStruct:
		if n, ok := k.counts[t]; ok {
			return n
		}
		var n uint64
		for _, member := range t.Members {
			n = min(n+k.scalars(member), maxValue+1)
		}
		put(&k.counts, t, n)
		return n
	}
	return 1
}

// uses checks that definitions dominate their uses, and what may use an OpSampledImage.
func (s functionScope) uses(b *Block, i *Instruction, order int32) error {
	if i.Op == OpPhi {
		return nil
	}
	s.checker.parts = s.m.parts(i, s.checker.parts[:0])
	for _, p := range s.checker.parts {
		if p.kind != kindIdRef && p.kind != kindIdScope && p.kind != kindIdMemorySemantics {
			continue
		}
		if !s.visible(ID(p.word), b.Index, order) {
			return errorAt(i, "%s is not defined on every way to it", s.name(ID(p.word)))
		}
		// Such an OpUndef is let be as long as nothing comes of it. (VUID-StandaloneSpirv-OpUndef-12464)
		if def := s.m.Definitions[p.word]; def.Op == OpUndef {
			if t := s.types[def.Type]; t.Kind == TypeRuntimeArray || opaque(t) {
				return errorAt(i, "%s is an undefined object of type %s", s.name(def.Result), s.name(t.ID))
			}
		}
		if def := s.m.Definitions[p.word]; def != nil && def.Op == OpSampledImage {
			if err := s.sampledImageUse(b, i, def.Result); err != nil {
				return err
			}
		}
	}
	return nil
}

// visible says whether an id is defined on each way to a place in a block. Blocks that can't be reached see all.
func (s functionScope) visible(id ID, block int, order int32) bool {
	def := s.places[id]
	switch {
	case def.function == 0 || s.m.Definitions[id].Op == OpLabel && def.function == s.number:
		return true
	case def.function != s.number:
		return false
	case !s.g.Reachable[block]:
		return true
	case int(def.block) == block+1:
		return def.order < order
	}
	return s.g.Reachable[def.block-1] && s.g.Dominates(int(def.block-1), block)
}

func (s functionScope) phi(b *Block, i *Instruction) error {
	t := s.types[i.Type]
	switch {
	case t.Kind == TypeVoid || t.Kind == TypeFunction || t.Kind == TypeRuntimeArray:
		return errorAt(i, "its type %s is no object's", s.name(t.ID))
	case opaque(t):
		return errorAt(i, "its type %s is opaque", s.name(t.ID))
	case t.Kind == TypePointer:
		if err := s.variablePointer(i, t); err != nil {
			return err
		}
	}
	predecessors := s.g.Predecessors[b.Index]
	if len(i.Operands) != 2*len(predecessors) {
		return errorAt(i, "it has %d parents, its block has %d", len(i.Operands)/2, len(predecessors))
	}
	seen := map[int]bool{}
	for n := 0; n < len(i.Operands); n += 2 {
		id, parent := ID(i.Operands[n]), s.g.Block(ID(i.Operands[n+1]))
		if parent < 0 || seen[parent] {
			return errorAt(i, "%s is no block of the function, or there twice", s.name(ID(i.Operands[n+1])))
		}
		seen[parent] = true
		if s.typeOf(id) != t {
			return errorAt(i, "%s is not of its type", s.name(id))
		}
		if !s.visible(id, parent, int32(len(s.f.Blocks[parent].Instructions)+1)) {
			return errorAt(i, "%s is not defined on every way through its parent %s", s.name(id), s.name(ID(i.Operands[n+1])))
		}
	}
	for _, p := range predecessors {
		if !seen[p] {
			return errorAt(i, "the block's predecessor %s is not among its parents", s.name(s.f.Blocks[p].Label.Result))
		}
	}
	return nil
}

// variablePointer checks that pointers may be values of instructions other than access chains.
func (s functionScope) variablePointer(i *Instruction, p *Type) error {
	switch {
	case p.Class == StorageClassPhysicalStorageBuffer,
		p.Class == StorageClassStorageBuffer && s.has(CapabilityVariablePointersStorageBuffer),
		p.Class == StorageClassWorkgroup && s.has(CapabilityVariablePointers):
		return nil
	}
	return errorAt(i, "a pointer to %v as a value needs the capability VariablePointers", p.Class)
}

func (s functionScope) call(i *Instruction) error {
	callee := s.m.Definitions[i.Operands[0]]
	if callee.Op != OpFunction {
		return errorAt(i, "%s is not a function", s.name(callee.Result))
	}
	for _, e := range s.m.EntryPoints {
		if e.Function == callee.Result {
			return errorAt(i, "%s is an entry point", s.name(callee.Result))
		}
	}
	f := s.types[callee.Operands[1]]
	if f == nil || f.Kind != TypeFunction {
		return errorAt(i, "%s has no function type", s.name(callee.Result))
	}
	if s.types[i.Type] != f.Elem {
		return errorAt(i, "its type is not the function's result type")
	}
	if f.Elem.Kind == TypePointer {
		if err := s.variablePointer(i, f.Elem); err != nil {
			return err
		}
	}
	arguments := i.Operands[1:]
	if len(arguments) != len(f.Members) {
		return errorAt(i, "it has %d arguments, the function has %d parameters", len(arguments), len(f.Members))
	}
	for n, id := range arguments {
		p := f.Members[n]
		if s.typeOf(ID(id)) != p {
			return errorAt(i, "the argument %s is not of the type of its parameter", s.name(ID(id)))
		}
		if p.Kind != TypePointer || s.m.Addressing != AddressingModelLogical {
			continue
		}
		switch p.Class {
		case StorageClassUniformConstant, StorageClassFunction, StorageClassPrivate, StorageClassWorkgroup:
		case StorageClassStorageBuffer:
			if !s.has(CapabilityVariablePointersStorageBuffer) {
				return errorAt(i, "the argument %s, a pointer to StorageBuffer, needs the capability VariablePointersStorageBuffer",
					s.name(ID(id)))
			}
		default:
			return errorAt(i, "the argument %s is a pointer to %v, which can't be one", s.name(ID(id)), p.Class)
		}
		def := s.m.Definitions[id]
		if def.Op != OpVariable && def.Op != OpFunctionParameter && p.Class != StorageClassUniformConstant &&
			s.variablePointer(i, p) != nil {
			return errorAt(i, "the argument %s is neither a variable nor a parameter", s.name(ID(id)))
		}
	}
	return nil
}

func (s functionScope) returns(i *Instruction) error {
	t := s.types[s.f.Type]
	if i.Op == OpReturn {
		if t.Kind != TypeVoid {
			return errorAt(i, "the function has a result")
		}
		return nil
	}
	if v := s.typeOf(ID(i.Operands[0])); v == nil || v != t {
		return errorAt(i, "%s is not of the function's result type", s.name(ID(i.Operands[0])))
	}
	if t.Kind == TypePointer {
		return s.variablePointer(i, t)
	}
	return nil
}

func (s functionScope) branch(i *Instruction) error {
	t := s.typeOf(ID(i.Operands[0]))
	if i.Op == OpSwitch {
		if t == nil || t.Kind != TypeInt {
			return errorAt(i, "its selector %s is not an integer", s.name(ID(i.Operands[0])))
		}
		seen := map[uint64]bool{}
		for c := range s.m.Cases(i) {
			if seen[c.Value] {
				return errorAt(i, "the case %d is there twice", c.Value)
			}
			seen[c.Value] = true
		}
		return nil
	}
	if t == nil || t.Kind != TypeBool {
		return errorAt(i, "its condition %s is not a bool", s.name(ID(i.Operands[0])))
	}
	if i.Operands[1] == i.Operands[2] && s.version >= 0x16 {
		return errorAt(i, "its targets are the same block")
	}
	if n := len(i.Operands); n != 3 && n != 5 || n == 5 && i.Operands[3] == 0 && i.Operands[4] == 0 {
		return errorAt(i, "it has not two weights that are not both 0, and not none")
	}
	return nil
}
