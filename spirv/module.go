// Package spirv decodes SPIR-V modules, checks them against the SPIR-V specification and Vulkan's environment for it,
// and evaluates their constants. Tables of opcodes, operands and enumerants are generated from Khronos' grammar.
//
// Decode takes words apart; Module.Check says whether a module is valid; Module.Constants evaluates types and
// constants under a specialization. A module that has passed Check obeys all of the rules that the functions that
// come after it rely on.
package spirv

import "sync"

// ID is a result <id>. 0 is none. It is the number in the module's words, unless their bound is larger than any module
// of their length can use up: Decode numbers those ids anew. Module.Name has the number that they came with.
type ID uint32

// Instruction is one instruction of a module.
type Instruction struct {
	Op      Op
	demands bool   // it or one of its enumerants needs more than SPIR-V 1.0
	block   uint32 // of an OpLabel, the index in its function; of an OpFunction, that in its module
	Type    ID     // the result type, or 0
	Result  ID     // or 0
	// the words behind the result, or behind the first word where there is none; part of the module's words
	Operands []uint32
	Offset   uint32 // of the instruction's first word from the start of the module, in words
}

// Module is a decoded module.
type Module struct {
	Version           uint32 // as in the header: 0x00010600 is 1.6
	Generator         uint32
	Capabilities      []Capability
	Extensions        []string
	Imports           map[ID]string // extended instruction sets: "GLSL.std.450", "NonSemantic.DebugPrintf"
	Addressing        AddressingModel
	Memory            MemoryModel
	EntryPoints       []*EntryPoint
	Strings           map[ID]string  // OpString
	Decorations       [][]Decoration // by ID, groups resolved
	MemberDecorations map[ID]map[uint32][]Decoration
	Globals           []*Instruction // types, constants, variables and OpUndef outside of functions, in order
	Variables         []*Instruction // those of Globals that are one
	Functions         []*Function
	// by ID, what defines it; the length is a bound of the IDs, and at most that of the words
	Definitions []*Instruction

	numbers       []uint32 // by ID, its number in the words given to Decode; nil where they are the same
	memoryModel   *Instruction
	workgroupSize *Instruction   // the constant that is the built-in WorkgroupSize, or nil
	special       []*Instruction // specialization constants but composites and operations
	sized         bool           // there is an array whose length may be one
	preamble      []*Instruction // OpCapability, OpExtension, OpExtInstImport
	names         []*Instruction // OpName by ID, empty if there is none
	memberNames   []*Instruction
	annotations   []*Instruction // in order, groups too

	// What checks and compilers ask for, made when it is first.
	plain struct {
		once      sync.Once
		constants *Constants // without a specialization
		err       error
	}
	uses struct {
		once  sync.Once
		usage usage
	}
}

// EntryPoint is an OpEntryPoint with the execution modes that name its function.
type EntryPoint struct {
	*Instruction
	Model     ExecutionModel
	Function  ID
	Name      string
	Interface []ID
	Modes     []*Instruction // OpExecutionMode and OpExecutionModeId
}

// Decoration is a decoration of an object or a member.
type Decoration struct {
	Kind     DecorationKind
	Operands []uint32
	Offset   uint32 // of the instruction that decorates
}

// Function is an OpFunction with its body.
type Function struct {
	*Instruction
	Index      int // in Module.Functions
	Parameters []*Instruction
	Blocks     []*Block // Blocks[0] is the entry; in the module's order

	flow struct {
		once sync.Once
		cfg  *CFG
		err  error
	}
}

// Function is the function of an id, or nil.
func (m *Module) Function(id ID) *Function {
	if def := m.Definitions[id]; def != nil && def.Op == OpFunction {
		return m.Functions[def.block]
	}
	return nil
}

// Block is a basic block.
type Block struct {
	Index        int            // in Function.Blocks
	Label        *Instruction   // OpLabel
	Instructions []*Instruction // without label, merge and terminator; OpPhi come first; OpLine and OpNoLine are left out
	Merge        *Instruction   // OpSelectionMerge, OpLoopMerge or nil
	Terminator   *Instruction
	Lines        []Line // in the order of Offset
}

// Line is an OpLine: it holds from the instruction at Offset on.
type Line struct {
	Offset       uint32
	File         ID // an OpString; 0 after OpNoLine
	Line, Column uint32
}
