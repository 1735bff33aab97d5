#include "go_asm.h"
#include "textflag.h"
#include "colors.h"

// What undoes what rowsFirst does.
DATA quadsFirst<>+0(SB)/8, $0
DATA quadsFirst<>+8(SB)/8, $4
DATA quadsFirst<>+16(SB)/8, $1
DATA quadsFirst<>+24(SB)/8, $5
DATA quadsFirst<>+32(SB)/8, $2
DATA quadsFirst<>+40(SB)/8, $6
DATA quadsFirst<>+48(SB)/8, $3
DATA quadsFirst<>+56(SB)/8, $7
GLOBL quadsFirst<>(SB), RODATA|NOPTR, $64

// FOUR looks for four whole quads of one primitive, one beside the other.
#define FOUR(others) \
	CMPB colorPlan_wide(DI), $0 \
	JEQ others \
	CMPQ CX, $4 \
	JB others \
	MOVQ quad_x(SI), AX \
	LEAQ 2(AX), R14 \
	CMPQ R14, (quad__size+quad_x)(SI) \
	JNE others \
	LEAQ 4(AX), R14 \
	CMPQ R14, (2*quad__size+quad_x)(SI) \
	JNE others \
	LEAQ 6(AX), R14 \
	CMPQ R14, (3*quad__size+quad_x)(SI) \
	JNE others \
	MOVL quad_prim(SI), R14 \
	CMPL R14, (quad__size+quad_prim)(SI) \
	JNE others \
	CMPL R14, (2*quad__size+quad_prim)(SI) \
	JNE others \
	CMPL R14, (3*quad__size+quad_prim)(SI) \
	JNE others \
	MOVQ R9, AX \
	ANDQ (quad__size+quad_cover)(SI), AX \
	ANDQ (2*quad__size+quad_cover)(SI), AX \
	ANDQ (3*quad__size+quad_cover)(SI), AX \
	CMPQ AX, R10 \
	JNE others

// PARTS stores the texels of a quad in X9 that are covered.
#define PARTS(second, third, fourth, next) \
	BTQ $0, R9 \
	JCC second \
	VMOVD X9, (BX) \
second: \
	BTQ $16, R9 \
	JCC third \
	VPEXTRD $1, X9, 4(BX) \
third: \
	BTQ $32, R9 \
	JCC fourth \
	VPEXTRD $2, X9, (DX) \
fourth: \
	BTQ $48, R9 \
	JCC next \
	VPEXTRD $3, X9, 4(DX)

// STORED16 makes the sixteen texels in Z9 from lane R8 on.
#define STORED16(linear) \
	WORDS16(0, Z0) \
	WORDS16(1, Z1) \
	WORDS16(2, Z2) \
	WORDS16(3, Z3) \
	MADE16(linear)

// func storeQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeQuadsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS
	CMPB colorPlan_wide(DI), $0
	JEQ narrow
	CONSTANTS16

narrow:
	MOVQ $0x0001000100010001, R10

loop:
	COVERAGE
	JZ next
	PLACE
	FOUR(apart)
	STORED16(linear16)
	VPERMQ Z9, Z30, Z9
	VMOVDQU Y9, (BX)
	VEXTRACTI64X4 $1, Z9, (DX)
	ADDQ $16, R8
	ADDQ $(4*quad__size), SI
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

apart: // four quads, wherever they are
	CMPB colorPlan_wide(DI), $0
	JEQ single
	CMPQ CX, $4
	JB single
	STORED16(linearApart)
	VMOVDQU64 Z9, (64*const_rowOfFactors)(R13)
	XORL R14, R14
	MOVL $3, AX // the pixels of the upper row
	KMOVB AX, K1
	MOVL $12, AX
	KMOVB AX, K2

each:
	COVERAGE
	JZ skip
	PLACE
	VMOVDQU (64*const_rowOfFactors)(R13)(R14*1), X9
	PEXTQ R10, R9, R9
	KMOVB R9, K3
	KANDB K1, K3, K4
	KANDB K2, K3, K5
	VMOVDQU32 X9, K4, (BX)
	VMOVDQU32 X9, K5, -8(DX)

skip:
	ADDQ $quad__size, SI
	ADDQ $16, R14
	CMPQ R14, $64
	JNE each
	ADDQ $16, R8
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

single:
	WORDS(0, X4)
	WORDS(1, X5)
	WORDS(2, X6)
	WORDS(3, X7)
	MADE(linear)
	CMPQ R9, R10
	JNE parts
	VMOVQ X9, (BX)
	VMOVHPS X9, (DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

parts:
	PARTS(second, third, fourth, next)
	JMP next

// func blendQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendQuadsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS
	CMPB colorPlan_wide(DI), $0
	JEQ narrow
	CONSTANTS16

narrow:
	MOVQ $0x0001000100010001, R10

loop:
	COVERAGE
	JZ next
	PLACE
	FOUR(single)
	VMOVDQU (BX), Y8
	VINSERTI64X4 $1, (DX), Z8, Z8
	SOURCE16(0, Z0)
	SOURCE16(1, Z1)
	SOURCE16(2, Z2)
	SOURCE16(3, Z3)
	VMOVDQU64 quadsFirst<>(SB), Z9
	VPERMQ Z8, Z9, Z8
	THERE16(0, Z26, Z4, Z10)
	THERE16(1, Z27, Z5, Z10)
	THERE16(2, Z28, Z6, Z10)
	THERE16(3, Z29, Z7, Z10)
	MOVQ colorPlan_linear(DI), AX
	TESTQ AX, AX
	JEQ read16
	LINEAR16(0, Z26, Z4)
	LINEAR16(1, Z27, Z5)
	LINEAR16(2, Z28, Z6)

read16:
	FACTORS16(again16, done16)
	BLEND16(0, Z0, Z4)
	BLEND16(1, Z1, Z5)
	BLEND16(2, Z2, Z6)
	BLEND16(3, Z3, Z7)
	MADE16(linear16)
	VPTERNLOGD $0xe4, Z21, Z8, Z9
	VPERMQ Z9, Z30, Z9
	VMOVDQU Y9, (BX)
	VEXTRACTI64X4 $1, Z9, (DX)
	VBROADCASTSS scales<>+32(SB), X10
	ADDQ $16, R8
	ADDQ $(4*quad__size), SI
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

single:
	CMPQ R9, R10
	JNE some
	VMOVQ (BX), X8
	VMOVHPS (DX), X8, X8

blend:
	SOURCE(0)
	SOURCE(1)
	SOURCE(2)
	SOURCE(3)
	BLENDED(read, again, done, linear)
	CMPQ R9, R10
	JNE parts
	VMOVQ X9, (BX)
	VMOVHPS X9, (DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

some:
	VPXOR X8, X8, X8
	BTQ $0, R9
	JCC without0
	VPINSRD $0, (BX), X8, X8
without0:
	BTQ $16, R9
	JCC without1
	VPINSRD $1, 4(BX), X8, X8
without1:
	BTQ $32, R9
	JCC without2
	VPINSRD $2, (DX), X8, X8
without2:
	BTQ $48, R9
	JCC blend
	VPINSRD $3, 4(DX), X8, X8
	JMP blend

parts:
	PARTS(second, third, fourth, next)
	JMP next

// func blendSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendSamplesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS

loop:
	MOVQ quad_cover(SI), AX
	TESTQ AX, AX
	JZ none
	PLACE

pixel:
	MOVQ R8, AX
	ANDQ $3, AX
	MOVWLZX (quad_cover)(SI)(AX*2), R9
	ANDL colorPlan_samples(DI), R9
	JZ next
	MOVQ BX, DX
	TESTL $1, AX
	JZ left
	ADDQ colorPlan_texelPitch(DI), DX
left:
	TESTL $2, AX
	JZ above
	ADDQ R12, DX
above:
	ONE(0)
	ONE(1)
	ONE(2)
	ONE(3)

four:
	MOVL R9, R10
	ANDL $15, R10
	JZ after
	CMPL R10, $15
	JNE some
	VMOVDQU (DX), X8

blend:
	BLENDED(read, again, done, linear)
	CMPL R10, $15
	JNE parts
	VMOVDQU X9, (DX)

after:
	ADDQ $16, DX
	SHRL $4, R9
	JNZ four

next:
	INCQ R8
	TESTQ $3, R8
	JNZ pixel

end:
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

none:
	ADDQ $4, R8
	JMP end

some:
	VPXOR X8, X8, X8
	BTL $0, R10
	JCC without0
	VPINSRD $0, (DX), X8, X8
without0:
	BTL $1, R10
	JCC without1
	VPINSRD $1, 4(DX), X8, X8
without1:
	BTL $2, R10
	JCC without2
	VPINSRD $2, 8(DX), X8, X8
without2:
	BTL $3, R10
	JCC blend
	VPINSRD $3, 12(DX), X8, X8
	JMP blend

parts:
	BTL $0, R10
	JCC second
	VMOVD X9, (DX)
second:
	BTL $1, R10
	JCC third
	VPEXTRD $1, X9, 4(DX)
third:
	BTL $2, R10
	JCC fourth
	VPEXTRD $2, X9, 8(DX)
fourth:
	BTL $3, R10
	JCC after
	VPEXTRD $3, X9, 12(DX)
	JMP after

// PIXEL stores a texel of X9, which is repeated in X0, to those of four samples that are covered.
#define PIXEL(texel, address, second, third, fourth, next) \
	VPSHUFD $(0x55*texel), X9, X0 \
	BTQ $(16*texel), R9 \
	JCC second \
	VMOVD X0, (address) \
second: \
	BTQ $(16*texel+1), R9 \
	JCC third \
	VMOVD X0, 4(address) \
third: \
	BTQ $(16*texel+2), R9 \
	JCC fourth \
	VMOVD X0, 8(address) \
fourth: \
	BTQ $(16*texel+3), R9 \
	JCC next \
	VMOVD X0, 12(address)

// func storeSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeSamplesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS
	MOVQ $0x000f000f000f000f, R10

loop:
	COVERAGE
	JZ next
	PLACE
	WORDS(0, X4)
	WORDS(1, X5)
	WORDS(2, X6)
	WORDS(3, X7)
	MADE(linear)
	CMPQ R9, R10
	JNE parts
	VPSHUFD $0x00, X9, X0
	VPSHUFD $0x55, X9, X1
	VPSHUFD $0xaa, X9, X2
	VPSHUFD $0xff, X9, X3
	VMOVDQU X0, (BX)
	VMOVDQU X1, 16(BX)
	VMOVDQU X2, (DX)
	VMOVDQU X3, 16(DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

parts:
	LEAQ 16(BX), R11
	PIXEL(0, BX, b0, c0, d0, pixel1)
pixel1:
	PIXEL(1, R11, b1, c1, d1, pixel2)
pixel2:
	LEAQ 16(DX), R11
	PIXEL(2, DX, b2, c2, d2, pixel3)
pixel3:
	PIXEL(3, R11, b3, c3, d3, next)
	JMP next

// func prefetch(at *byte, bytes, rowPitch int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ at+0(FP), SI
	MOVQ bytes+8(FP), CX
	MOVQ rowPitch+16(FP), DX
	ADDQ SI, CX
	ANDQ $~63, SI

line:
	PREFETCHT0 (SI)
	PREFETCHT0 (SI)(DX*1)
	ADDQ $64, SI
	CMPQ SI, CX
	JCS line
	RET
