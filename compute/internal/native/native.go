// Package native makes machine code of straight runs and of loops of a register program. The results of a run stay in
// vector registers from one instruction to the next; the kernels of package kernel write each to the register file. The
// code gives the same bits as the kernels.
//
// It needs amd64 with AVX2, and is faster with AVX-512. On other machines Compile fails, and so it does where the
// system forbids executable memory. The kernels do everything then.
package native

import "farside/compute/internal/kernel"

// Register is an operand: the place of its first chunk in the register file, and the distance to the next chunk. The
// zero Register stands for no operand.
type Register struct {
	Offset uint32 // bytes
	Step   uint32 // 32, or 64 if it is wide; 0 if all lanes share one chunk
	Valid  bool
	Wide   bool   // its values have 64 bits
	upper  bool   // it is the upper half of one with 64 bits (wide.go)
	aside  bool   // it lies in what the code needs for itself: all chunks have it in one place
	apart  uint32 // not the register, but how far behind the first element of arrays those lie that it has the indices of
}

// Pattern is what is known of the offsets of an access before it is done.
type Pattern uint8

const (
	// Any offsets.
	Any Pattern = iota
	// Same: the lanes of a chunk have the same offset.
	Same
	// Consecutive: the offset of each lane of a chunk is that of the lane before it plus 4 * Inst.Words, or, if that is 0,
	// plus the size of the access. This may be wrong if the first lane's offset is beyond 2^31.
	Consecutive
	// Linear: as Consecutive, through all chunks of the workgroup.
	Linear
)

// Inst is an instruction of a run. Loads and stores are of 8 to 64 bits. Op and the operands are
// as in package kernel, or Shuffle and its like. Loads and stores access slot Slot at A + Base + Immediate, where Base
// is none or uniform. Those of private memory access element A of Immediate registers, Apart bytes from each other, of
// which C is the first, or, without A, that register; no other instruction of the run may have these as operands.
type Inst struct {
	Op                 kernel.Op
	By                 kernel.Op // of Reduce and of scans
	Fill, Identity     uint32    // of these: what By combines with a value to that value, and the exclusive scan of none
	Once               bool      // it is for one chunk, not for each; in the run it reads only results of others with Once
	Keep               bool      // Dst is read after the run
	Stream             bool      // of a store: it may go past the caches
	Pattern            Pattern
	Words              uint8 // of Consecutive and Linear: the words from a lane to the next, 1 to MostWords; 0 is a value
	Slot               int32
	Dst, A, B, C, Base Register
	Immediate          uint64
	Apart              uint32
	Most               uint32 // as program.Inst.Most
	Quiet              bool   // as program.Inst.Quiet
	Target             int32  // of control flow
	Count              uint8  // of a shift: the bits, if they are always the same, plus one
	upper              bool   // it is for the upper lanes of wide registers
	answers            bool   // of an atomic on 64 bits: its results are wanted
	more               uint8  // of a load or store: how many bytes behind its own have to be within the memory, too
	Unshared           bool   // of an atomic: nobody else accesses the memory
	way                int    // of an access, if a loop knows where it goes: number of the way + 1
	part               part   // of two pairs of chunks
}

// Limit is the size from which on a memory is too large for the code, and the largest Immediate of an access.
const Limit = 1 << 31

// MostWords is the largest distance of two lanes that there is code for.
const MostWords = 16

// Scratch is the number of bytes that the code needs for itself.
const Scratch = placesEnd

// Supports says whether there is code for an instruction.
func Supports(in *Inst) bool {
	if in.Atomic() {
		return in.Immediate < Limit/2-4 && !in.Once && in.C.Valid == comparesWord(in.Op)
	}
	switch in.Op {
	case kernel.Load32, kernel.LoadU8, kernel.LoadU16:
		return in.Immediate < Limit/2 && (!in.Once || in.Pattern == Same)
	case kernel.Store32, kernel.Store8, kernel.Store16:
		return in.Immediate < Limit/2 && !in.Once
	case kernel.Load64:
		return in.Immediate < Limit/2-4 && (!in.Once || in.Pattern == Same)
	case kernel.Store64:
		return in.Immediate < Limit/2-4 && !in.Once
	case kernel.LoadPhysicalU8, kernel.LoadPhysicalU16, kernel.LoadPhysical32, kernel.LoadPhysical64:
		return in.A.Wide && !in.Base.Valid
	case kernel.StorePhysical8, kernel.StorePhysical16, kernel.StorePhysical32, kernel.StorePhysical64:
		return in.A.Wide && !in.Base.Valid && !in.Once
	case kernel.LoadPrivate32, kernel.StorePrivate32, kernel.LoadPrivate64, kernel.StorePrivate64:
		return !in.Once && in.C.Step > 0 && in.Immediate > 0 && in.Immediate*uint64(in.Apart) < Limit/2
	case Shuffle, ShuffleXor, ShuffleUp, ShuffleDown, QuadBroadcast, QuadSwap, Reduce, ScanInclusive, ScanExclusive,
		Ballot, First, Elect:
		return in.isShuffle()
	case kernel.MulAddSat:
		return in.Immediate <= 1<<32-1
	}
	if in.controls() {
		return true
	}
	_, simple := simple[in.Op]
	_, other := sequences[in.Op]
	return simple || other || supportsWide(in.Op)
}

// movesMasked says whether it leaves lanes that don't take part as they are.
func (in *Inst) movesMasked() bool {
	return in.Op == kernel.MoveMasked32 || in.Op == kernel.MoveMasked64
}

// accesses says whether it is a load or store.
func (in *Inst) accesses() bool { return in.unit() > 0 }

// unit is the bytes of an access in each lane, 0 of another instruction.
func (in *Inst) unit() int32 {
	switch in.Op {
	case kernel.LoadU8, kernel.Store8:
		return 1
	case kernel.LoadU16, kernel.Store16:
		return 2
	case kernel.Load32, kernel.Store32, kernel.LoadPrivate32, kernel.StorePrivate32:
		return 4
	}
	return 0
}

// bytes is how many bytes of each lane have to be within the memory.
func (in *Inst) bytes() int32 { return in.unit() + int32(in.more) }

// Stores says whether it writes memory. Atomics do.
func (in *Inst) Stores() bool {
	switch in.Op {
	case kernel.Store8, kernel.Store16, kernel.Store32, kernel.Store64, kernel.StorePrivate32, kernel.StorePrivate64,
		kernel.StorePhysical8, kernel.StorePhysical16, kernel.StorePhysical32, kernel.StorePhysical64:
		return true
	}
	return in.Atomic()
}

// Private says whether it is an access of private memory.
func (in *Inst) Private() bool {
	switch in.Op {
	case kernel.LoadPrivate32, kernel.StorePrivate32, kernel.LoadPrivate64, kernel.StorePrivate64:
		return true
	}
	return false
}

// close says whether the lanes of an access that is not Same are next to each other, as Any ones may be.
func (in *Inst) close() bool { return in.Words == 0 || in.Words == 1 && in.unit() == 4 }

// words is Words, of an access that has a distance.
func (in *Inst) words() int32 { return max(int32(in.Words), 1) }
