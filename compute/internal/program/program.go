// Package program has the register program: what the back end makes and the machine runs. It is data, with its text
// (String), and knows neither how it was made nor how it is run.
//
//  1. Nothing changes a program once it has its instructions. Any number of machines may run it at once.
//  2. Registers lie within FileSize. Targets, and indices of slots, resources and calls, are there.
//  3. A program ends with End, and no jump leads behind it.
package program

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/spirv"
)

// Program is a shader as a register program: a list of instructions, each for all lanes of a batch. Of a compute shader
// a batch is a workgroup, and its lanes are the invocations.
//
// A register lies in the register file, of which every worker has one. It holds a value for each lane, or, if it is
// uniform, one for all of them. The file begins with the registers of Constants, which a worker fills, and of Builtins,
// which the driver of the stage fills.
//
// The execution mask says which lanes take part. It has all lanes of the batch at the start. Straight code ignores it,
// except for stores, atomics, masked moves and calls. Of the lanes that take part some may have no effects: their
// stores, atomics, writes of images and messages are left out.
//
// Control flow that differs between lanes works on mask registers: a branch adds the lanes to the masks of its targets,
// and each target, in the order of the program, takes over its mask as the execution mask, or is jumped over if no lane
// has come. Control flow that is the same for all active lanes is a jump. A register file is zero when a worker takes
// it; from then on each batch leaves the mask registers as zero as it found them, since an Enter clears its mask and no
// lane that has come to a mask is forgotten.
type Program struct {
	Name         string // of the entry point
	LocalSize    [3]uint32
	Lanes        int // of a batch, at most; registers hold as many chunks as that needs
	SubgroupSize uint32

	Insts      []Inst
	FileSize   uint32     // bytes of a register file, a multiple of 64
	Mask       Register   // the execution mask
	Constants  []Constant // uniform registers that are filled once
	Builtins   []Builtin
	Slots      []Slot     // memories that instructions name by index
	Resources  []Resource // of which the shader chooses an element while it runs, or that are no memory
	Images     []ImageOp
	Subgroups  []SubgroupOp
	Prints     []Print
	Loops      []Loop
	Shared     uint32 // bytes of workgroup memory
	ZeroShared bool   // the workgroup memory is zero when a workgroup starts
	Data       []byte // what SlotData refers to: constant arrays that are indexed
	Physical   bool   // there are accesses by device address
	Atomics    bool   // there are atomics on memory that workgroups share
}

// Register is an operand: an offset in the register file and the distance of its chunks, as kernel.Register.
type Register struct {
	Offset uint32 // bytes, a multiple of 32
	Step   uint32 // 32 or 64; 0 if the value is the same in all lanes; the zero Register is none
	Size   uint32 // 32 or 64: bytes of a chunk; 0 for none
}

// Uniform says whether all lanes share the value.
func (r Register) Uniform() bool { return r.Step == 0 }

// Code says what an instruction is.
type Code uint8

const (
	// Kernel runs the kernel Op on the active chunks, or on one chunk if Dst is uniform.
	Kernel Code = iota + 1
	// Access is a kernel of memory: Op on Slots[Index], or on element C of Resources[Index] if Dynamic (C may vary),
	// masked by the execution mask where that is not full. A is the offset, B the value of stores; Base is none or a
	// uniform I32, which is zero-extended and added to Immediate. Atomics have B and, for CompareExchange, D as the
	// comparator. Dst is uniform if A and C are: all lanes load the same. Accesses, atomics too, order nothing: one with
	// semantics has a Barrier before it if it releases, and behind it if it acquires. An atomic without Dst may be done
	// later.
	Access
	// AccessPhysical is a kernel of physical memory; AccessPrivate of private memory, which is the registers from C on.
	AccessPhysical
	AccessPrivate
	// Assign is a move of A to Dst in the active lanes: a phi.
	Assign
	// Jump goes to instruction Target. JumpIf and JumpUnless look at A, a uniform mask.
	Jump
	JumpIf
	JumpUnless
	// Split adds the active lanes to the masks Dst, where A is true, and B, where it is not; lanes whose mask is none have
	// ended. None is active after it.
	Split
	// Leave adds the active lanes to the mask Dst. None is active after it. A Dst of none: the lanes have ended.
	Leave
	// Enter makes the mask Dst the execution mask and clears Dst; if that is empty it goes to Target.
	Enter
	// Again goes to Target if a lane is set in the mask Dst: the end of a loop. Loops[Index] is its name. A jump backwards
	// has an Again with a Dst of none before it, which only looks at the watchdog.
	Again
	// Barrier orders the accesses to memory. One with the Immediate 1 does that only for the workgroup itself, since the
	// scope of its memory semantics is no wider, or they are of shared memory alone.
	Barrier
	// CallImage does Images[Index], CallSubgroup Subgroups[Index], CallPrint Prints[Index].
	CallImage
	CallSubgroup
	CallPrint
	// ArrayLength writes to Dst, a uniform or varying I32, (size of the memory - Immediate) / Stride; the memory as in
	// Access.
	ArrayLength
	// End ends the batch.
	End
)

// Inst is one instruction. Which members count stands at its Code.
type Inst struct {
	Code       Code
	Dynamic    bool
	Op         kernel.Op
	Target     int32
	Index      int32
	Stride     uint32
	Dst        Register
	A, B, C, D Register
	Base       Register
	Immediate  uint64
	Offset     uint32         // of the SPIR-V instruction that it is part of, in words
	Pattern    native.Pattern // of an Access: what is known of A
	Words      uint8          // the words from a lane to the next, if Pattern says that there is a distance
	// of an Access: A and Base together are no more than that; of MulAddSat: the result, which never saturates then. This
	// is so in active lanes. 0: nothing is known
	Most uint32
	// of MinF32 and MaxF32: neither operand is a signalling NaN in active lanes
	Quiet bool
	// of a comparison: A, or of Le* B, is one more in each lane than in the one before, modulo 2^32
	Counts bool
	// the last instruction that reads Dst, if all that do come before the next jump or target; else 0, as of one that
	// writes what a driver reads
	Until int32
}

// Constant is the value of a uniform register.
type Constant struct {
	Register Register
	Bits     uint64
}

// InputKind is the first kind of built-ins that are inputs of a graphics stage, by their numbers.
const InputKind = ir.InputKind

// Builtin is a register whose value the stage's driver writes: once, at each batch, or at each dispatch.
type Builtin struct {
	// NumWorkgroups, WorkgroupId, LocalInvocationId, LocalInvocationIndex, SubgroupId, NumSubgroups,
	// SubgroupLocalInvocationId, SubgroupSize, DeviceIndex, Subgroup??Mask (Component is the word), or InputKind + i
	Kind      spirv.BuiltIn
	Component int
	Register  Register
}

// SlotKind says what memory a slot is.
type SlotKind uint8

const (
	SlotBuffer SlotKind = iota + 1 // element Element of the binding: a buffer or an inline uniform block
	SlotPush                       // push constants
	SlotShared
	SlotData
	SlotOutputs // of a graphics stage, the driver's
)

// Slot is a memory.
type Slot struct {
	Kind                  SlotKind
	Set, Binding, Element uint32
	Name                  string
}

// Resource is an array of descriptors (of one element where the shader has no array).
type Resource struct {
	Set, Binding uint32
	Count        uint32 // elements; 0: as many as the set has (a runtime array)
	Name         string
	Input        uint32 // InputAttachmentIndex and one; 0: there is none
}

// Loop is a loop of the shader, for messages.
type Loop struct {
	Offset uint32 // of its OpLoopMerge
	Name   string // of what the debug information tells, such as "reduce.comp:17", or of the header's number
}

// Element chooses an element of a resource: Constant, or Register if that is not none.
type Element struct {
	Resource int // index in Program.Resources; -1 is none
	Constant uint32
	Register Register
}

// ImageOp is an instruction on an image. Registers hold floats and integers as the instruction says; coordinates of
// images with layers have the layer last. Members that an instruction has not are nil or none.
type ImageOp struct {
	// OpImageRead, OpImageWrite, OpImageFetch, OpImageSample*, OpImageGather, OpImageDrefGather, OpImageQuery*, or the
	// OpAtomic* of an OpImageTexelPointer
	Op             spirv.Op
	Image, Sampler Element
	Coordinate     []Register // F32 or I32
	Projective     bool       // the last coordinate divides the others
	Dref           Register
	Component      Register // of a gather
	Bias, Lod      Register // F32; of a fetch or a query of a size an I32
	MinLod         Register
	GradX, GradY   []Register
	Offset         []Register  // I32
	Offsets        [4][2]int32 // ConstOffsets of a gather
	HasOffsets     bool
	Sample         Register
	Texel          []Register // what is written; of an atomic the value, then the comparator
	Dst            []Register // as many as the result has components; those that nobody reads are none
}

// Uniform says whether the result is the same in all lanes. What nobody reads of it is in no register.
func (op *ImageOp) Uniform() bool {
	for _, r := range op.Dst {
		if r.Size != 0 {
			return r.Uniform()
		}
	}
	return false
}

// SubgroupOp is an instruction on the lanes of a subgroup; scalars only, vectors are several.
type SubgroupOp struct {
	Op        spirv.Op // OpGroupNonUniform*, and those of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote as their like
	Operation spirv.GroupOperation
	Combines  bool // it combines the values of lanes, as Operation says
	Cluster   uint32
	Type      *spirv.Type // of the value
	Value     []Register  // one, or the four words of a ballot
	Arg       Register    // an index, delta, mask or direction
	Dst       []Register
}

// Print is a call of NonSemantic.DebugPrintf.
type Print struct {
	Format string
	Args   []Register
	Types  []*spirv.Type // of the arguments; a vector takes as many registers as it has components
}
