package kernel

import "strconv"

// Op is what a kernel does to each lane. Suffixes are the type of the operands: I32 and I64 integers (of either sign,
// or as U and S say), F32 and F64 floats, B masks. Dst, A, B and C are of that type unless a comment says otherwise.
type Op uint16

const (
	_ Op = iota

	// Moves. The masked ones write the lanes of Mask and leave the others. Select: Dst = C ? A : B, C a mask.
	Move32
	Move64
	MoveMasked32
	MoveMasked64
	Select32
	Select64

	// 32-bit integers; also masks (And, Or, Xor, Not), and 8- and 16-bit integers with Sext, Zext.
	AddI32
	SubI32
	MulI32
	NegI32
	AndI32
	OrI32
	XorI32
	NotI32
	AndNotI32 // A &^ B
	ShlI32    // shifts take the count modulo 32
	ShrU32
	ShrS32
	DivU32 // by 0: all ones
	DivS32 // by 0: all ones; of the least by -1: the least
	RemU32 // by 0: A
	RemS32 // sign of A; by 0: A
	ModS32 // sign of B; by 0: A
	MulHighU32
	MulHighS32
	MinU32
	MinS32
	MaxU32
	MaxS32
	AbsI32
	EqI32 // comparisons give masks
	NeI32
	LtU32
	LeU32
	LtS32
	LeS32
	PopCount32
	Reverse32
	FindLSB32  // -1 where A is 0
	FindMSBU32 // -1 where A is 0
	FindMSBS32 // -1 where A is 0 or -1
	Sext8
	Sext16
	Zext8
	Zext16
	MulAddSat // Dst = A*Immediate + B in unsigned 32 bits, all ones if that overflows: offsets of access chains

	// 64-bit integers. Counts of shifts are I64, too; comparisons give 32-bit masks, bit counts 32-bit integers.
	AddI64
	SubI64
	MulI64
	NegI64
	AndI64
	OrI64
	XorI64
	NotI64
	ShlI64
	ShrU64
	ShrS64
	DivU64
	DivS64
	RemU64
	RemS64
	ModS64
	MulHighU64
	MulHighS64
	MinU64
	MinS64
	MaxU64
	MaxS64
	AbsI64
	EqI64
	NeI64
	LtU64
	LeU64
	LtS64
	LeS64
	PopCount64
	FindLSB64
	FindMSBU64
	FindMSBS64

	// 32-bit floats. Comparisons give masks. EqF, LtF, LeF and NeOrdF are ordered (false with a NaN); the unordered ones
	// are the Not of the opposite.
	AddF32
	SubF32
	MulF32
	DivF32
	FmaF32 // A*B + C, rounded once
	NegF32
	AbsF32
	SqrtF32
	InverseSqrtF32
	MinF32 // of a NaN and a number the number; -0 < +0
	MaxF32
	EqF32
	LtF32
	LeF32
	NeOrdF32
	IsNaNF32
	IsInfF32
	FloorF32
	CeilF32
	TruncF32
	RoundEvenF32
	SignF32
	RemF32 // sign of A: OpFRem
	ModF32 // sign of B: OpFMod
	SinF32
	CosF32
	TanF32
	AsinF32
	AcosF32
	AtanF32
	Atan2F32 // A is y, B is x
	SinhF32
	CoshF32
	TanhF32
	AsinhF32
	AcoshF32
	AtanhF32
	PowF32
	ExpF32
	LogF32
	Exp2F32
	Log2F32
	LdexpF32     // A * 2^B, B an I32
	FrexpF32     // the significand of A
	FrexpExpF32  // the exponent of A, an I32
	RoundF16     // to the nearest 16-bit float, even at a tie
	RoundF16Zero // to the next 16-bit float towards zero
	MulAddF32    // A*B + C, the product and the sum rounded each: a MulF32 and an AddF32
	MulSubF32    // A*B - C, likewise
	SubMulF32    // C - A*B, likewise

	// 64-bit floats; comparisons give 32-bit masks.
	AddF64
	SubF64
	MulF64
	DivF64
	FmaF64
	NegF64
	AbsF64
	SqrtF64
	InverseSqrtF64
	MinF64
	MaxF64
	EqF64
	LtF64
	LeF64
	NeOrdF64
	IsNaNF64
	IsInfF64
	FloorF64
	CeilF64
	TruncF64
	RoundEvenF64
	SignF64
	RemF64
	ModF64
	LdexpF64 // B an I32
	FrexpF64
	FrexpExpF64 // an I32
	MulAddF64
	MulSubF64
	SubMulF64

	// Conversions, Dst and A of different types. Floats to integers: NaN gives 0, what is out of range the nearest.
	SextI32I64
	ZextI32I64
	TruncI64I32
	F32ToS32
	F32ToU32
	S32ToF32
	U32ToF32
	F32ToF64
	F64ToF32
	F64ToF32Zero // towards zero
	F64ToS32
	F64ToU32
	S32ToF64
	U32ToF64
	F32ToS64
	F32ToU64
	S64ToF32
	U64ToF32
	F64ToS64
	F64ToU64
	S64ToF64
	U64ToF64
	F32ToBits16 // the bits of a 16-bit float, rounded to nearest even
	Bits16ToF32
	Low32     // the low word of an I64 or F64
	High32    // its high word
	Join64    // A the low word, B the high one
	MaskToI32 // 1 or 0
	I32ToMask // of whether A is not 0

	// Memory: the byte at Memory.Base + A + Immediate, A an unsigned 32-bit offset in each lane. Lanes outside of Mask
	// neither read nor write: their Dst stays. Reads beyond Memory.Size give 0, writes do nothing.
	LoadU8 // zero-extended
	LoadU16
	Load32
	Load64
	Store8 // B is the value
	Store16
	Store32
	Store64

	// Physical memory: A is a 64-bit number in each lane, and A + Immediate modulo 2^64 the offset in Memory.
	LoadPhysicalU8
	LoadPhysicalU16
	LoadPhysical32
	LoadPhysical64
	StorePhysical8
	StorePhysical16
	StorePhysical32
	StorePhysical64

	// Private memory: an array of Immediate registers, the lanes of each as usual, at Memory.Base, Memory.Size bytes
	// together; A is the index of the register in each lane, and an index beyond the end reads 0 and writes nothing.
	// Registers of one chunk are the same for all lanes. Lanes outside of Mask as above.
	LoadPrivate32
	LoadPrivate64
	StorePrivate32 // B is the value
	StorePrivate64

	// Atomics on Memory: the word at A + Immediate, B the operand, Dst what was there before. Dst.Base may be nil where
	// nobody asks for it. Lanes take part in order. A word that is not aligned to its size is as one beyond Memory.Size. C
	// is the comparator of CompareExchange. I32 and I64; the 64-bit form of each follows at the same distance.
	AtomicExchange32
	AtomicCompareExchange32
	AtomicAddI32
	AtomicMinU32
	AtomicMinS32
	AtomicMaxU32
	AtomicMaxS32
	AtomicAnd32
	AtomicOr32
	AtomicXor32
	AtomicAddF32
	AtomicMinF32
	AtomicMaxF32
	AtomicExchange64
	AtomicCompareExchange64
	AtomicAddI64
	AtomicMinU64
	AtomicMinS64
	AtomicMaxU64
	AtomicMaxS64
	AtomicAnd64
	AtomicOr64
	AtomicXor64
	AtomicAddF64
	AtomicMinF64
	AtomicMaxF64

	NumOps
)

// String returns the name of the constant.
func (op Op) String() string {
	if op > 0 && op < NumOps {
		return opNames[op]
	}
	return "Op(" + strconv.Itoa(int(op)) + ")"
}
