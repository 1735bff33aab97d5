#include "go_asm.h"
#include "textflag.h"
#include "colors.h"

DATA sixteen<>+0(SB)/8, $0x0000000100000000
DATA sixteen<>+8(SB)/8, $0x0000000300000002
DATA sixteen<>+16(SB)/8, $0x0000000500000004
DATA sixteen<>+24(SB)/8, $0x0000000700000006
DATA sixteen<>+32(SB)/8, $0x0000000900000008
DATA sixteen<>+40(SB)/8, $0x0000000b0000000a
DATA sixteen<>+48(SB)/8, $0x0000000d0000000c
DATA sixteen<>+56(SB)/8, $0x0000000f0000000e
DATA sixteen<>+64(SB)/4, $16
GLOBL sixteen<>(SB), RODATA|NOPTR, $68

// SAMPLES begins with quads of four samples or more. X14 is what the number of a texel is shifted by to be its pixel's.
#define SAMPLES \
	ARGUMENTS \
	VPXORD Z11, Z11, Z11 \
	CONSTANTS16 \
	MOVQ colorPlan_texelPitch(DI), AX \
	TZCNTQ AX, AX \
	SUBQ $2, AX \
	MOVQ AX, X14 \
	VPBROADCASTD sixteen<>+64(SB), Z15

// COVERED has the samples of a quad in R9, a bit each, and goes on where there are none.
#define COVERED(none) \
	MOVL colorPlan_samples(DI), AX \
	MOVQ $0x0001000100010001, R10 \
	IMULQ R10, AX \
	MOVQ quad_cover(SI), R9 \
	PEXTQ AX, R9, R9 \
	TESTQ R9, R9 \
	JZ none

// FIRST begins with the first sixteen texels of a quad: Z13 are their numbers, BX and R15 where eight of them are each,
// and R10 is how many bytes the rows have from BX on.
#define FIRST(done) \
	PLACE \
	VMOVDQU64 sixteen<>(SB), Z13 \
	MOVQ colorPlan_texelPitch(DI), R10 \
	MOVQ DX, R15 \
	ADDQ R10, R10 \
	CMPQ R10, $32 \
	JEQ done \
	LEAQ 32(BX), R15 \
done:

// PIXELS has their pixels in Z12, and bits of those that are covered in K2, and of the last eight in K3.
#define PIXELS \
	VPSRLD X14, Z13, Z12 \
	KMOVW R9, K2 \
	KSHIFTRW $8, K2, K3

// FURTHER goes on with the next sixteen, while there are some that are covered, in the row or in the one below.
#define FURTHER(again, next) \
	SHRQ $16, R9 \
	JZ next \
	VPADDD Z15, Z13, Z13 \
	ADDQ $64, BX \
	ADDQ $64, R15 \
	SUBQ $64, R10 \
	JNZ again \
	MOVQ DX, BX \
	LEAQ 32(DX), R15 \
	JMP again

// WORDS_SOME are those of sixteen lanes of the source that K2 has, from lane R8 on.
#define WORDS_SOME(channel, v) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VMOVUPS.Z (AX)(R8*4), K2, v

// func storeSamplesAVX512(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeSamplesAVX512(SB), NOSPLIT, $0-32
	SAMPLES

four: // the texels of four quads
	MOVQ $4, BX
	CMPQ CX, BX
	CMOVQLT CX, BX
	SHLQ $2, BX
	MOVL $1, AX
	SHLXL BX, AX, AX
	DECL AX
	KMOVW AX, K2
	WORDS_SOME(0, Z0)
	WORDS_SOME(1, Z1)
	WORDS_SOME(2, Z2)
	WORDS_SOME(3, Z3)
	MADE16(linear)
	VMOVDQU64 Z9, (64*const_rowOfFactors)(R13)
	XORL R14, R14

quad:
	COVERED(next)
	FIRST(texels)
	VMOVDQU (64*const_rowOfFactors)(R13)(R14*1), X8

again:
	PIXELS
	VPERMD Z8, Z12, Z0
	VMOVDQU32 Y0, K2, (BX)
	VEXTRACTI64X4 $1, Z0, Y0
	VMOVDQU32 Y0, K3, (R15)
	FURTHER(again, next)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JZ end
	ADDQ $16, R14
	CMPQ R14, $64
	JNE quad
	JMP four

end:
	VZEROUPPER
	RET

// SPREAD is a channel of the source, for sixteen texels.
#define SPREAD(channel, x, v) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VMOVUPS (AX)(R8*4), x \
	VPERMPS v, Z12, v \
	CLAMP16(v) \
	VMOVUPS v, (64*(const_rowOfSource+channel))(R13)

// func blendSamplesAVX512(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendSamplesAVX512(SB), NOSPLIT, $0-32
	SAMPLES

quad:
	COVERED(next)
	FIRST(again)
	PIXELS
	VMOVDQU32.Z (BX), K2, Y8
	VMOVDQU32.Z (R15), K3, Y9
	VINSERTI64X4 $1, Y9, Z8, Z8
	SPREAD(0, X0, Z0)
	SPREAD(1, X1, Z1)
	SPREAD(2, X2, Z2)
	SPREAD(3, X3, Z3)
	THERE16(0, Z26, Z4, Z10)
	THERE16(1, Z27, Z5, Z10)
	THERE16(2, Z28, Z6, Z10)
	THERE16(3, Z29, Z7, Z10)
	MOVQ colorPlan_linear(DI), AX
	TESTQ AX, AX
	JEQ read
	LINEAR16(0, Z26, Z4)
	LINEAR16(1, Z27, Z5)
	LINEAR16(2, Z28, Z6)

read:
	FACTORS16(factor, done)
	BLEND16(0, Z0, Z4)
	BLEND16(1, Z1, Z5)
	BLEND16(2, Z2, Z6)
	BLEND16(3, Z3, Z7)
	MADE16(linear)
	VPTERNLOGD $0xe4, Z21, Z8, Z9
	VMOVDQU32 Y9, K2, (BX)
	VEXTRACTI64X4 $1, Z9, Y9
	VMOVDQU32 Y9, K3, (R15)
	FURTHER(again, next)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ quad
	VZEROUPPER
	RET
