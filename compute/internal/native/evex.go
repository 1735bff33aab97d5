package native

import "farside/internal/cpuid"

// Instructions that only AVX-512 has, on vectors of 256 and of 512 bits. in32 and in64 write those on lanes of 32 and
// of 64 bits.

var (
	vpopcnt    = opcode{1, 2, 0x55, false}
	vplzcnt    = opcode{1, 2, 0x44, false}
	vgf2affine = opcode{1, 3, 0xce, false} // of bytes: a matrix for each lane of 64 bits
	vgetexp    = opcode{1, 2, 0x42, false}
	vgetmant   = opcode{1, 3, 0x26, false}
	vpternlog  = opcode{1, 3, 0x25, false}
	vrangeps   = opcode{1, 3, 0x50, false}
	vfpclass   = opcode{1, 3, 0x66, false}
	vscalef    = opcode{1, 2, 0x2c, false}
	vcvtqq2pd  = opcode{quad | 2, 1, 0xe6, false} // of W, as vcvtdq2pd reads half as many bytes
	vcvtuqq2pd = opcode{2, 1, 0x7a, false}
)

// bits512 says whether the processor counts and turns bits of vectors.
var bits512 = func() bool { return avx512() && cpuid.X86().AVX512Bits }

func (s *assembler) in32(o opcode, dst, a vector, b operand) {
	s.evex(o, 0, uint8(dst), uint8(a), b, 0)
}

func (s *assembler) in64(o opcode, dst, a vector, b operand) {
	s.evex(o, quad, uint8(dst), uint8(a), b, 0)
}

// byte32 and byte64 are in32 and in64 of instructions with a byte behind them.
func (s *assembler) byte32(o opcode, dst, a vector, b operand, n uint8) {
	s.evex(o, 0, uint8(dst), uint8(a), b, 1)
	s.bytes(n)
}

func (s *assembler) byte64(o opcode, dst, a vector, b operand, n uint8) {
	s.evex(o, quad, uint8(dst), uint8(a), b, 1)
	s.bytes(n)
}

// halfToOne lets VGETMANT give significands from 0.5 on, below 1, with the sign of the number.
const halfToOne = 2

// threeQuarters lets VGETMANT give significands from 0.75 on, below 1.5: 1 of zeros, and NaNs of what is negative.
const threeQuarters = 15

// noNumber lets VFPCLASS find NaNs, zeros and infinities.
const noNumber = 0x9f

// special leaves which lanes of v, of 64 bits if w is quad, are NaNs, zeros or infinities.
func (s *assembler) special(k maskRegister, w uint8, v vector) {
	s.evex(vfpclass, w, uint8(k), 0, reg(v), 1)
	s.bytes(noNumber)
}
