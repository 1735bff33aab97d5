package spirv

import (
	"math/bits"
	"slices"
	"strings"
)

const (
	magic       = 0x07230203
	headerWords = 5
	// maxBound is the largest bound that SPIR-V's universal limits ask for.
	maxBound = 0x3fffff
	// maxDecorations bounds what groups of decorations multiply to, maxTargetDecorations the list that is searched for
	// each question about an object.
	maxDecorations       = 1 << 20
	maxTargetDecorations = 1024
)

// Decode takes a module apart. The words belong to the module from then on; they may be of either byte order.
//
// It checks what the instructions' own grammar and the order of a module's sections say: counts and kinds of operands,
// known enumerants, ids that are below the bound and defined exactly once, functions of blocks with one terminator.
// Module.Check has the rest. The error is an *Error.
func Decode(words []uint32) (*Module, error) {
	d := &decoder{words: words, m: &Module{}}
	if err := d.decode(); err != nil {
		return nil, err
	}
	return d.m, nil
}

// section is one of the sections of a module's logical layout (SPIR-V 2.4), in order.
type section uint8

const (
	sectionCapability section = iota
	sectionExtension
	sectionImport
	sectionMemoryModel
	sectionEntryPoint
	sectionExecutionMode
	sectionSource
	sectionName
	sectionProcessed
	sectionAnnotation
	sectionGlobal
	sectionFunction
)

type decoder struct {
	words   []uint32
	m       *Module
	ids     map[uint32]ID // the module's ids by their numbers in the words; nil where they are the same
	section section
	list    []Instruction  // a slab with all instructions
	lists   []*Instruction // one of the lists of them, see push
	blocks  []Block        // likewise
	forward []reference    // to ids that were not defined yet

	groups      map[ID]bool // OpDecorationGroup
	decorations int
	single      []Decoration          // lists of one
	modes       map[ID][]*Instruction // execution modes by function that is an entry point

	function *Function
	block    *Block
}

// renumber gives the ids of a module with a large bound the numbers from 1 on, in the order in which they come.
func (d *decoder) renumber(number uint32) ID {
	id, ok := d.ids[number]
	if !ok {
		id = ID(len(d.m.numbers))
		d.ids[number] = id
		d.m.numbers = append(d.m.numbers, number)
	}
	return id
}

type reference struct {
	id ID
	by *Instruction
}

func (d *decoder) header() error {
	fail := func(offset uint32, message string) error { return &Error{Offset: offset, Message: message} }
	if len(d.words) < headerWords {
		return fail(0, "the module is shorter than its header")
	}
	switch d.words[0] {
	case magic:
	case bits.ReverseBytes32(magic):
		d.words = slices.Clone(d.words)
		for i, w := range d.words {
			d.words[i] = bits.ReverseBytes32(w)
		}
	default:
		return fail(0, "the magic number is not SPIR-V's")
	}
	d.m.Version, d.m.Generator = d.words[1], d.words[2]
	if v := d.m.Version; v < 0x10000 || v > grammarVersion || v&0xff != 0 {
		return fail(1, "the version is none from 1.0 to 1.6")
	}
	if b := d.words[3]; b == 0 || b > maxBound {
		return fail(3, "the bound is not in 1 to 4194303")
	}
	if d.words[4] != 0 {
		return fail(4, "the schema is not 0")
	}
	if int(d.words[3]) > len(d.words) {
		// Fewer ids can be in use, and tables by ID should be no longer than the module.
		d.words = slices.Clone(d.words)
		d.ids, d.m.numbers = map[uint32]ID{}, []uint32{0}
	}
	return nil
}

func (d *decoder) decode() error {
	if err := d.header(); err != nil {
		return err
	}
	count, labels, decorations := 0, 0, 0
	for at := headerWords; at < len(d.words); count++ {
		n := int(d.words[at] >> 16)
		if n == 0 || n > len(d.words)-at {
			return &Error{Offset: uint32(at), Op: Op(d.words[at]), Message: "the instruction is not as long as it says"}
		}
		switch Op(d.words[at]) {
		case OpLabel:
			labels++
		case OpDecorate, OpMemberDecorate:
			decorations++
		}
		at += n
	}
	d.list, d.lists, d.blocks = make([]Instruction, 0, count), make([]*Instruction, 0, count), make([]Block, 0, labels)
	d.single = make([]Decoration, 0, decorations)
	ids := min(int(d.words[3]), len(d.words))
	d.m.Definitions, d.m.Decorations = make([]*Instruction, ids), make([][]Decoration, ids)
	for at := headerWords; at < len(d.words); {
		n := int(d.words[at] >> 16)
		d.list = append(d.list, Instruction{Op: Op(d.words[at]), Offset: uint32(at), Operands: d.words[at+1 : at+n : at+n]})
		i := &d.list[len(d.list)-1]
		if err := d.instruction(i); err != nil {
			return err
		}
		at += n
	}
	return d.finish()
}

// instruction checks an instruction's operands and puts it where it belongs.
func (d *decoder) instruction(i *Instruction) error {
	info := i.Op.info()
	if info == nil {
		return errorAt(i, "the opcode is unknown")
	}
	i.demands = info.requirement != basic
	p := operandParser{d: d, i: i, rest: i.Operands}
	if err := p.all(info.operands.operands()); err != nil {
		return err
	}
	if len(p.rest) != 0 {
		return errorAt(i, "there are %d words behind its operands", len(p.rest))
	}
	i.Operands = i.Operands[p.skip:]
	if i.Result != 0 {
		if other := d.m.Definitions[i.Result]; other != nil {
			return errorAt(i, "%s is defined already at word %d", d.m.Name(i.Result), other.Offset)
		}
		d.m.Definitions[i.Result] = i
	}
	if i.Op == OpNop {
		return nil
	}
	if d.section == sectionFunction {
		return d.inFunction(i)
	}
	at, ok := sectionOf(i.Op)
	if !ok {
		return errorAt(i, "it may only stand in a function's block, or is not supported")
	}
	if i.Op == OpLine || i.Op == OpNoLine {
		at = d.section
	}
	if at < d.section {
		return errorAt(i, "it stands behind a section that it must precede")
	}
	d.section = at
	if at == sectionFunction {
		return d.inFunction(i)
	}
	return d.outside(i)
}

// sectionOf is the section of an instruction outside of functions, or of one that begins the functions.
func sectionOf(op Op) (section, bool) {
	switch op {
	case OpCapability:
		return sectionCapability, true
	case OpExtension:
		return sectionExtension, true
	case OpExtInstImport:
		return sectionImport, true
	case OpMemoryModel:
		return sectionMemoryModel, true
	case OpEntryPoint:
		return sectionEntryPoint, true
	case OpExecutionMode, OpExecutionModeId:
		return sectionExecutionMode, true
	case OpString, OpSource, OpSourceContinued, OpSourceExtension:
		return sectionSource, true
	case OpName, OpMemberName:
		return sectionName, true
	case OpModuleProcessed:
		return sectionProcessed, true
	case OpDecorate, OpDecorateId, OpDecorateString, OpMemberDecorate, OpMemberDecorateString,
		OpDecorationGroup, OpGroupDecorate, OpGroupMemberDecorate:
		return sectionAnnotation, true
	case OpTypeVoid, OpTypeBool, OpTypeInt, OpTypeFloat, OpTypeVector, OpTypeMatrix, OpTypeImage, OpTypeSampler,
		OpTypeSampledImage, OpTypeArray, OpTypeRuntimeArray, OpTypeStruct, OpTypePointer, OpTypeFunction,
		OpTypeForwardPointer,
		OpConstantTrue, OpConstantFalse, OpConstant, OpConstantComposite, OpConstantNull,
		OpSpecConstantTrue, OpSpecConstantFalse, OpSpecConstant, OpSpecConstantComposite, OpSpecConstantOp,
		OpConstantCompositeReplicateEXT, OpSpecConstantCompositeReplicateEXT,
		OpVariable, OpUndef, OpExtInst, OpExtInstWithForwardRefsKHR:
		return sectionGlobal, true
	case OpLine, OpNoLine:
		return sectionGlobal, true
	case OpFunction:
		return sectionFunction, true
	}
	return 0, false
}

// nonSemantic says whether an OpExtInst may be left out by those who don't know its set.
func (m *Module) nonSemantic(i *Instruction) bool {
	return (i.Op == OpExtInst || i.Op == OpExtInstWithForwardRefsKHR) && nonSemanticSet(m.Imports[ID(i.Operands[0])])
}

// nonSemanticSet knows the sets of SPV_KHR_non_semantic_info, and the older one of debug information.
func nonSemanticSet(set string) bool {
	return strings.HasPrefix(set, "NonSemantic.") || set == oldDebugInfo
}

// oldDebugInfo is a set whose instructions have literals among their operands, unlike those of other sets.
const oldDebugInfo = "OpenCL.DebugInfo.100"

// push appends to the list that is being made. One ends before the next begins.
func (d *decoder) push(list []*Instruction, i *Instruction) []*Instruction {
	d.lists = append(d.lists, i)
	n := len(d.lists)
	return d.lists[n-1-len(list) : n : n]
}

// outside takes an instruction outside of functions.
func (d *decoder) outside(i *Instruction) error {
	m := d.m
	switch {
	case d.section == sectionAnnotation:
		m.annotations = d.push(m.annotations, i)
	case d.section <= sectionImport:
		m.preamble = d.push(m.preamble, i)
	}
	switch i.Op {
	case OpCapability:
		m.Capabilities = append(m.Capabilities, Capability(i.Operands[0]))
	case OpExtension:
		m.Extensions = append(m.Extensions, literalString(i.Operands))
	case OpExtInstImport:
		put(&m.Imports, i.Result, literalString(i.Operands))
	case OpMemoryModel:
		if m.memoryModel != nil {
			return errorAt(i, "there is more than one")
		}
		m.memoryModel = i
		m.Addressing, m.Memory = AddressingModel(i.Operands[0]), MemoryModel(i.Operands[1])
	case OpEntryPoint:
		name := literalString(i.Operands[2:])
		ids := i.Operands[2+len(name)/4+1:]
		e := &EntryPoint{Instruction: i, Model: ExecutionModel(i.Operands[0]), Function: ID(i.Operands[1]), Name: name,
			Interface: make([]ID, len(ids))}
		for n, id := range ids {
			e.Interface[n] = ID(id)
		}
		m.EntryPoints = append(m.EntryPoints, e)
		put(&d.modes, e.Function, nil)
	case OpExecutionMode, OpExecutionModeId:
		modes, ok := d.modes[ID(i.Operands[0])]
		if !ok {
			return errorAt(i, "%s is not an entry point", d.m.Name(ID(i.Operands[0])))
		}
		d.modes[ID(i.Operands[0])] = append(modes, i)
	case OpString:
		put(&m.Strings, i.Result, literalString(i.Operands))
	case OpName:
		if m.names == nil {
			m.names = make([]*Instruction, len(m.Definitions))
		}
		m.names[i.Operands[0]] = i
	case OpMemberName:
		m.memberNames = append(m.memberNames, i)
	case OpDecorate, OpDecorateId, OpDecorateString:
		target := ID(i.Operands[0])
		if d.groups[target] {
			return errorAt(i, "it decorates a group behind its OpDecorationGroup")
		}
		return d.decorate(i, target, Decoration{DecorationKind(i.Operands[1]), i.Operands[2:], i.Offset})
	case OpMemberDecorate, OpMemberDecorateString:
		return d.decorateMember(i, ID(i.Operands[0]), i.Operands[1],
			Decoration{DecorationKind(i.Operands[2]), i.Operands[3:], i.Offset})
	case OpDecorationGroup:
		put(&d.groups, i.Result, true)
	case OpGroupDecorate, OpGroupMemberDecorate:
		return d.group(i)
	case OpLine, OpNoLine, OpSource, OpSourceContinued, OpSourceExtension, OpModuleProcessed:
	case OpExtInst, OpExtInstWithForwardRefsKHR:
		if !m.nonSemantic(i) {
			return errorAt(i, "only instructions of non-semantic sets may stand outside of functions")
		}
	default:
		m.Globals = d.push(m.Globals, i)
		d.global(i)
	}
	return nil
}

// global notes what pipelines ask for of types, constants and variables, so that they need not look at all of them.
func (d *decoder) global(i *Instruction) {
	m := d.m
	switch i.Op {
	case OpVariable:
		m.Variables = append(m.Variables, i)
	case OpSpecConstant, OpSpecConstantTrue, OpSpecConstantFalse:
		m.special = append(m.special, i)
	case OpTypeArray:
		length := m.Definitions[i.Operands[1]]
		m.sized = m.sized || length == nil || length.Op != OpConstant
	}
	if b := m.decoration(i.Result, DecorationBuiltIn); b != nil && BuiltIn(b.Operands[0]) == BuiltInWorkgroupSize &&
		m.workgroupSize == nil {
		m.workgroupSize = i
	}
}

func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// extended is a list of decorations with further ones. Most have one.
func (d *decoder) extended(list, more []Decoration) []Decoration {
	if len(list)+len(more) != 1 {
		return append(list, more...)
	}
	n := len(d.single)
	d.single = append(d.single, more...)
	return d.single[n : n+1 : n+1]
}

func (d *decoder) decorate(i *Instruction, target ID, list ...Decoration) error {
	if d.decorations += len(list); d.decorations > maxDecorations {
		return errorAt(i, "the module has more than %d decorations", maxDecorations)
	}
	all := d.extended(d.m.Decorations[target], list)
	if len(all) > maxTargetDecorations {
		return errorAt(i, "%s has more than %d decorations", d.m.Name(target), maxTargetDecorations)
	}
	d.m.Decorations[target] = all
	return nil
}

func (d *decoder) decorateMember(i *Instruction, target ID, member uint32, list ...Decoration) error {
	if d.decorations += len(list); d.decorations > maxDecorations {
		return errorAt(i, "the module has more than %d decorations", maxDecorations)
	}
	members := d.m.MemberDecorations[target]
	all := d.extended(members[member], list)
	if len(all) > maxTargetDecorations {
		return errorAt(i, "a member of %s has more than %d decorations", d.m.Name(target), maxTargetDecorations)
	}
	put(&members, member, all)
	put(&d.m.MemberDecorations, target, members)
	return nil
}

// group gives a group's decorations to its targets.
func (d *decoder) group(i *Instruction) error {
	group := ID(i.Operands[0])
	if !d.groups[group] {
		return errorAt(i, "%s is not an OpDecorationGroup in front of it", d.m.Name(group))
	}
	list := d.m.Decorations[group]
	step := 1
	if i.Op == OpGroupMemberDecorate {
		step = 2
	}
	for t := i.Operands[1:]; len(t) > 0; t = t[step:] {
		if d.groups[ID(t[0])] {
			return errorAt(i, "its target %s is a group", d.m.Name(ID(t[0])))
		}
		var err error
		if step == 1 {
			err = d.decorate(i, ID(t[0]), list...)
		} else {
			err = d.decorateMember(i, ID(t[0]), t[1], list...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// terminates says whether an instruction ends its block.
func (op Op) terminates() bool {
	switch op {
	case OpBranch, OpBranchConditional, OpSwitch, OpReturn, OpReturnValue, OpKill, OpUnreachable, OpTerminateInvocation,
		OpIgnoreIntersectionKHR, OpTerminateRayKHR, OpEmitMeshTasksEXT:
		return true
	}
	return false
}

// inFunction takes an instruction from the first OpFunction on.
func (d *decoder) inFunction(i *Instruction) error {
	f, b := d.function, d.block
	switch {
	case i.Op == OpLine || i.Op == OpNoLine:
		if b != nil {
			line := Line{Offset: i.Offset}
			if i.Op == OpLine {
				line.File, line.Line, line.Column = ID(i.Operands[0]), i.Operands[1], i.Operands[2]
			}
			b.Lines = append(b.Lines, line)
		}
	case i.Op == OpFunction:
		if f != nil {
			return errorAt(i, "the function in front of it has no OpFunctionEnd")
		}
		i.block = uint32(len(d.m.Functions))
		d.function = &Function{Instruction: i, Index: len(d.m.Functions)}
		d.m.Functions = append(d.m.Functions, d.function)
	case f == nil:
		if !d.m.nonSemantic(i) {
			return errorAt(i, "it stands behind a function")
		}
	case i.Op == OpFunctionParameter:
		if len(f.Blocks) != 0 {
			return errorAt(i, "it stands behind the function's first OpLabel")
		}
		f.Parameters = d.push(f.Parameters, i)
	case i.Op == OpFunctionEnd:
		if b != nil {
			return errorAt(i, "the block of word %d has no terminator", b.Label.Offset)
		}
		if len(f.Blocks) == 0 {
			return errorAt(i, "the function has no blocks")
		}
		d.function = nil
	case i.Op == OpLabel:
		if b != nil {
			return errorAt(i, "the block of word %d has no terminator", b.Label.Offset)
		}
		i.block = uint32(len(f.Blocks))
		d.blocks = append(d.blocks, Block{Index: len(f.Blocks), Label: i})
		d.block = &d.blocks[len(d.blocks)-1]
		f.Blocks = append(f.Blocks, d.block)
	case b == nil:
		return errorAt(i, "it stands outside of a block")
	default:
		return d.inBlock(i)
	}
	return nil
}

func (d *decoder) inBlock(i *Instruction) error {
	b := d.block
	if i.Op.terminates() {
		b.Terminator = i
		d.block = nil
		return nil
	}
	if b.Merge != nil {
		return errorAt(i, "it stands between a merge instruction and the end of its block")
	}
	switch at, ok := sectionOf(i.Op); {
	case i.Op == OpSelectionMerge || i.Op == OpLoopMerge:
		b.Merge = i
		return nil
	case i.Op == OpPhi:
		if n := len(b.Instructions); n > 0 && b.Instructions[n-1].Op != OpPhi {
			return errorAt(i, "it stands behind another instruction of its block")
		}
	case i.Op == OpVariable || i.Op == OpUndef:
	case i.Op == OpExtInst || i.Op == OpExtInstWithForwardRefsKHR:
		// What is left out may stand in front of OpPhi and OpVariable.
		if d.m.nonSemantic(i) && d.m.Imports[ID(i.Operands[0])] != debugPrintf {
			return nil
		}
	case ok && at < sectionFunction:
		return errorAt(i, "it may not stand in a function")
	}
	b.Instructions = d.push(b.Instructions, i)
	return nil
}

// debugPrintf is the one non-semantic set whose instructions do something.
const debugPrintf = "NonSemantic.DebugPrintf"

// finish checks what can only be known at the end.
func (d *decoder) finish() error {
	if d.function != nil {
		return errorAt(d.function.Instruction, "the function has no OpFunctionEnd")
	}
	if d.m.memoryModel == nil {
		return &Error{Offset: 0, Message: "the module has no OpMemoryModel"}
	}
	for _, r := range d.forward {
		if d.m.Definitions[r.id] == nil {
			return errorAt(r.by, "%s is not defined", d.m.Name(r.id))
		}
	}
	for _, e := range d.m.EntryPoints {
		e.Modes = d.modes[e.Function]
		if d.m.Definitions[e.Function].Op != OpFunction {
			return errorAt(e.Instruction, "%s is not a function", d.m.Name(e.Function))
		}
	}
	return nil
}
