#include "go_asm.h"
#include "textflag.h"

// The columns of eight pixels, in two rows.
DATA columns8<>+0(SB)/8, $0x0000000100000000
DATA columns8<>+8(SB)/8, $0x0000000300000002
DATA columns8<>+16(SB)/8, $0x0000000500000004
DATA columns8<>+24(SB)/8, $0x0000000700000006
DATA columns8<>+32(SB)/8, $0x0000000100000000
DATA columns8<>+40(SB)/8, $0x0000000300000002
DATA columns8<>+48(SB)/8, $0x0000000500000004
DATA columns8<>+56(SB)/8, $0x0000000700000006
GLOBL columns8<>(SB), RODATA|NOPTR, $64

// Which of eight words of 32 bits the pixels of the upper and of the lower row take.
DATA rowsOf8<>+0(SB)/8, $0
DATA rowsOf8<>+8(SB)/8, $0
DATA rowsOf8<>+16(SB)/8, $0
DATA rowsOf8<>+24(SB)/8, $0
DATA rowsOf8<>+32(SB)/8, $0x0000000400000004
DATA rowsOf8<>+40(SB)/8, $0x0000000400000004
DATA rowsOf8<>+48(SB)/8, $0x0000000400000004
DATA rowsOf8<>+56(SB)/8, $0x0000000400000004
GLOBL rowsOf8<>(SB), RODATA|NOPTR, $64

// The rows of eight sides.
DATA rowsOfSides<>+0(SB)/8, $0
DATA rowsOfSides<>+8(SB)/8, $0
DATA rowsOfSides<>+16(SB)/8, $0
DATA rowsOfSides<>+24(SB)/8, $0
DATA rowsOfSides<>+32(SB)/8, $1
DATA rowsOfSides<>+40(SB)/8, $1
DATA rowsOfSides<>+48(SB)/8, $1
DATA rowsOfSides<>+56(SB)/8, $1
GLOBL rowsOfSides<>(SB), RODATA|NOPTR, $64

// The pixels of four quads, each by itself, among those of two rows.
DATA quadWords<>+0(SB)/8, $0x0009000800010000
DATA quadWords<>+8(SB)/8, $0x000b000a00030002
DATA quadWords<>+16(SB)/8, $0x000d000c00050004
DATA quadWords<>+24(SB)/8, $0x000f000e00070006
GLOBL quadWords<>(SB), RODATA|NOPTR, $32

// Where the four quads lie.
DATA quadColumns<>+0(SB)/8, $0
DATA quadColumns<>+8(SB)/8, $2
DATA quadColumns<>+16(SB)/8, $4
DATA quadColumns<>+24(SB)/8, $6
GLOBL quadColumns<>(SB), RODATA|NOPTR, $32

// Quads out of four covers and raw covers, then four places and the rest: the first two, and the others.
DATA firstQuads<>+0(SB)/8, $8
DATA firstQuads<>+8(SB)/8, $12
DATA firstQuads<>+16(SB)/8, $0
DATA firstQuads<>+24(SB)/8, $4
DATA firstQuads<>+32(SB)/8, $9
DATA firstQuads<>+40(SB)/8, $13
DATA firstQuads<>+48(SB)/8, $1
DATA firstQuads<>+56(SB)/8, $5
GLOBL firstQuads<>(SB), RODATA|NOPTR, $64

DATA otherQuads<>+0(SB)/8, $10
DATA otherQuads<>+8(SB)/8, $14
DATA otherQuads<>+16(SB)/8, $2
DATA otherQuads<>+24(SB)/8, $6
DATA otherQuads<>+32(SB)/8, $11
DATA otherQuads<>+40(SB)/8, $15
DATA otherQuads<>+48(SB)/8, $3
DATA otherQuads<>+56(SB)/8, $7
GLOBL otherQuads<>(SB), RODATA|NOPTR, $64

// 0.5, 0x00010001
DATA boxNumbers<>+0(SB)/8, $0.5
DATA boxNumbers<>+8(SB)/4, $0x00010001
GLOBL boxNumbers<>(SB), RODATA|NOPTR, $12

DATA low24<>+0(SB)/4, $0xffffff
GLOBL low24<>(SB), RODATA|NOPTR, $4

// DEPTH8 makes eight depths in a row in to, where Z3 is what they have of their columns. NaN stays.
#define DEPTH8(line, to) \
	VADDPD line, Z3, to \
	VMAXPD to, Z20, to \
	VMINPD to, Z19, to

// SIDE has the values of a side for 16 pixels, of which Z6 has the rows.
#define SIDE(at, to) \
	VPMULLD.BCST (boxPlan_across+at)(DI), Z15, Z1 \
	VPMULLD.BCST (boxPlan_down+at)(DI), Z6, Z2 \
	VPADDD Z1, Z2, Z2 \
	VPADDD.BCST (boxPlan_value+at)(DI), Z2, to

// NEXT8 goes on by eight columns.
#define NEXT8 \
	VPADDD.BCST (boxPlan_across8+0)(DI), Z14, Z14 \
	VPADDD.BCST (boxPlan_across8+4)(DI), Z16, Z16 \
	VPADDD.BCST (boxPlan_across8+8)(DI), Z17, Z17 \
	VPADDD.BCST (boxPlan_across8+12)(DI), Z18, Z18

// func boxAVX512(p *boxPlan, quads *quad, n int) int
TEXT ·boxAVX512(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), DI
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ boxPlan_plan(DI), R15
	VMOVDQU64 columns8<>(SB), Z15
	VPXORQ Z9, Z9, Z9
	VPTERNLOGD $0xff, Z8, Z8, Z8
	VBROADCASTSD boxNumbers<>+0(SB), Z26
	VPBROADCASTD boxNumbers<>+8(SB), Y27
	VMOVDQU64 quadWords<>(SB), Y28
	VMOVDQU64 firstQuads<>(SB), Z29
	VMOVDQU64 otherQuads<>(SB), Z30
	VPBROADCASTQ boxPlan_prim(DI), Y31
	MOVQ boxPlan_y(DI), R10
	CMPB boxPlan_tested(DI), $0
	JEQ sides
	VBROADCASTSD depthPlan_high(R15), Z19
	VBROADCASTSD depthPlan_low(R15), Z20
	VBROADCASTSD (depthPlan_z+plane_c)(R15), Z21
	VBROADCASTSD (depthPlan_z+plane_x)(R15), Z22
	VBROADCASTSD depthPlan_x0(R15), Z23
	MOVQ depthPlan_rowPitch(R15), R14
	MOVQ R10, BX
	IMULQ R14, BX
	ADDQ boxPlan_texel(DI), BX
	LEAQ (BX)(R14*1), DX

sides:
	CMPB boxPlan_small(DI), $0
	JEQ large
	MOVQ R10, AX
	SUBQ boxPlan_first(DI), AX
	VPBROADCASTD AX, Z6
	VMOVDQU64 rowsOf8<>(SB), Z7
	VPSRLD $2, Z7, Z7
	VPADDD Z7, Z6, Z6
	SIDE(0, Z10)
	SIDE(4, Z11)
	SIDE(8, Z12)
	SIDE(12, Z13)

smallRow: // the pixels of both rows that lie in the box in K4, the values of sides in Z14, Z16, Z17, Z18
	MOVL $0xffff, AX
	CMPQ R10, boxPlan_top(DI)
	JGE upper
	MOVL $0xff00, AX

upper:
	LEAQ 1(R10), R11
	CMPQ R11, boxPlan_bottom(DI)
	JLT lower
	ANDL $0xff, AX

lower:
	KMOVW AX, K4
	VMOVDQA64 Z10, Z14
	VMOVDQA64 Z11, Z16
	VMOVDQA64 Z12, Z17
	VMOVDQA64 Z13, Z18
	MOVQ boxPlan_x0(DI), R8
	MOVQ boxPlan_right(DI), R9
	MOVQ boxPlan_x(DI), AX
	MOVQ $0, boxPlan_x(DI)

passed:
	CMPQ R8, AX
	JGE lines
	NEXT8
	ADDQ $8, R8
	JMP passed

large:
	VMOVDQU64 boxPlan_at(DI), Z10
	VMOVDQU64 boxPlan_rest(DI), Z11
	VMOVDQU64 boxPlan_step(DI), Z12
	VMOVDQU64 boxPlan_stepRest(DI), Z13
	VMOVDQU64 boxPlan_scale(DI), Z14
	VMOVDQU64 rowsOf8<>(SB), Z16
	KMOVB boxPlan_lefts(DI), K6
	KMOVB boxPlan_rights(DI), K7

row: // the beginnings of both rows in Z17, their ends in Z18
	VPBROADCASTQ boxPlan_left(DI), Z0
	VMOVDQA64 Z0, Z7
	VPBROADCASTQ boxPlan_right(DI), Z1
	VPSUBQ Z10, Z9, K6, Z0
	VPSUBQ Z8, Z10, K7, Z1
	KMOVB boxPlan_levels(DI), K1
	VPCMPQ $1, Z9, Z10, K1, K2
	VPBROADCASTQ R10, Z2
	VPADDQ rowsOfSides<>(SB), Z2, Z2
	VPCMPQ.BCST $5, boxPlan_top(DI), Z2, K3
	VPCMPQ.BCST $1, boxPlan_bottom(DI), Z2, K3, K3
	KNOTB K3, K3
	KORB K3, K2, K2
	VMOVDQA64 Z7, K2, Z1 // nothing of a row that is outside
	VPERMQ $0x4e, Z0, Z2
	VPMAXSQ Z2, Z0, Z0
	VPERMQ $0x4e, Z1, Z3
	VPMINSQ Z3, Z1, Z1
	VPSHUFD $0x4e, Z0, Z2
	VPMAXSQ Z2, Z0, Z0
	VPSHUFD $0x4e, Z1, Z3
	VPMINSQ Z3, Z1, Z1
	VPCMPQ $1, Z1, Z0, K1
	KORTESTB K1, K1
	JEQ nextRow
	VPMOVSQD Z0, Y2
	VPERMD Z2, Z16, Z17
	VPMOVSQD Z1, Y3
	VPERMD Z3, Z16, Z18
	VPBROADCASTQ boxPlan_right(DI), Z2
	VMOVDQA64 Z0, K1, Z2
	VMOVDQA64 Z1, K1, Z7
	VSHUFI64X2 $0x4e, Z2, Z2, Z3
	VPMINSQ Z3, Z2, Z2
	VSHUFI64X2 $0x4e, Z7, Z7, Z3
	VPMAXSQ Z3, Z7, Z7
	VMOVQ X2, R8
	VMOVQ X7, R9
	ANDQ $-2, R8
	MOVQ boxPlan_x(DI), AX
	CMPQ AX, R8
	CMOVQGT AX, R8
	MOVQ $0, boxPlan_x(DI)
	CMPQ R8, R9
	JGE nextRow

lines:
	CMPB boxPlan_tested(DI), $0
	JEQ chunk
	LEAQ 1(R10), AX
	VCVTSI2SDQ R10, X0, X0
	VCVTSI2SDQ AX, X1, X1
	VADDSD X26, X0, X0
	VADDSD X26, X1, X1
	VSUBSD boxPlan_y0(DI), X0, X0
	VSUBSD boxPlan_y0(DI), X1, X1
	VMULSD (depthPlan_z+plane_y)(R15), X0, X0
	VMULSD (depthPlan_z+plane_y)(R15), X1, X1
	VBROADCASTSD X0, Z24
	VBROADCASTSD X1, Z25

chunk: // four quads
	CMPB boxPlan_active(DI), $0
	JEQ room
	CMPQ CX, $4
	JLT full

room:
	VPBROADCASTD R8, Z0
	VPADDD Z15, Z0, Z0
	CMPB boxPlan_small(DI), $0
	JEQ between
	VPCMPD.BCST $5, boxPlan_left(DI), Z0, K4, K2
	VPCMPD.BCST $1, boxPlan_right(DI), Z0, K2, K2
	VPORD Z14, Z16, Z1
	VPTERNLOGD $0xfe, Z17, Z18, Z1
	VPMOVD2M Z1, K1
	KANDNW K2, K1, K1 // none is negative
	NEXT8
	JMP covered

between:
	VPCMPD $5, Z17, Z0, K1
	VPCMPD $1, Z18, Z0, K1, K1

covered:
	KORTESTW K1, K1
	JEQ next
	KMOVW K1, K3
	MOVQ boxPlan_colors(DI), R11
	TESTQ R11, R11
	JEQ test
	LEAQ boxPlan_ahead(DI), AX

color:
	MOVQ colorAhead_texel(AX), R12
	IMULQ R8, R12
	ADDQ colorAhead_at(AX), R12
	MOVQ colorAhead_pitch(AX), R13
	IMULQ R10, R13
	ADDQ R13, R12
	MOVQ colorAhead_pitch(AX), R13
	PREFETCHT0 (R12)
	PREFETCHT0 (R12)(R13*1)
	ADDQ $colorAhead__size, AX
	DECQ R11
	JNZ color

test:
	CMPB boxPlan_tested(DI), $0
	JEQ made
	LEAQ (BX)(R8*4), R11
	LEAQ (DX)(R8*4), R12
	PREFETCHT0 (R11)(R14*2) // a primitive goes on in the next two rows
	PREFETCHT0 (R12)(R14*2)
	MOVQ depthPlan_stencilPitch(R15), R13
	IMULQ R10, R13
	ADDQ R8, R13
	ADDQ boxPlan_stencil(DI), R13
	VCVTDQ2PD Y0, Z3
	VADDPD Z26, Z3, Z3
	VSUBPD Z23, Z3, Z3
	VMULPD Z22, Z3, Z3
	VADDPD Z3, Z21, Z3
	DEPTH8(Z24, Z4)
	DEPTH8(Z25, Z5)
#include "test16.h"
	KORTESTW K3, K3
	JEQ next

made:
	KMOVW K3, AX
	POPCNTL AX, AX
	ADDQ AX, boxPlan_samples(DI)
	CMPB boxPlan_active(DI), $0
	JEQ next
	VMOVDQU16.Z Y27, K3, Y1
	VPERMW Y1, Y28, Y1
	VPTESTMQ Y1, Y1, K5
	CMPB boxPlan_raws(DI), $0
	JEQ same
	VMOVDQU16.Z Y27, K1, Y2
	VPERMW Y2, Y28, Y2
	VPCOMPRESSQ.Z Y2, K5, Y2
	VPCOMPRESSQ.Z Y1, K5, Y1
	JMP quads

same:
	VPCOMPRESSQ.Z Y1, K5, Y1
	VMOVDQA Y1, Y2

quads:
	MOVQ R10, R11
	SHLQ $32, R11
	ORQ R8, R11
	VPBROADCASTQ R11, Y3
	VPADDD quadColumns<>(SB), Y3, Y3
	VPCOMPRESSQ.Z Y3, K5, Y3
	VINSERTI64X4 $1, Y2, Z1, Z1
	VINSERTI64X4 $1, Y31, Z3, Z3
	VMOVDQA64 Z29, Z4
	VPERMI2Q Z3, Z1, Z4
	VMOVDQU64 Z4, (SI)
	VMOVDQA64 Z30, Z5
	VPERMI2Q Z3, Z1, Z5
	VMOVDQU64 Z5, 64(SI)
	KMOVB K5, AX
	POPCNTL AX, AX
	SUBQ AX, CX
	SHLQ $5, AX
	ADDQ AX, SI

next:
	ADDQ $8, R8
	CMPQ R8, R9
	JLT chunk

nextRow:
	ADDQ $2, R10
	LEAQ (BX)(R14*2), BX
	LEAQ (DX)(R14*2), DX
	CMPB boxPlan_small(DI), $0
	JEQ nextLarge
	VPADDD.BCST boxPlan_down2(DI), Z10, Z10
	VPADDD.BCST (boxPlan_down2+4)(DI), Z11, Z11
	VPADDD.BCST (boxPlan_down2+8)(DI), Z12, Z12
	VPADDD.BCST (boxPlan_down2+12)(DI), Z13, Z13
	CMPQ R10, boxPlan_end(DI)
	JLT smallRow
	JMP end

nextLarge:
	VPADDQ Z12, Z10, Z10
	VPADDQ Z13, Z11, Z11
	VPCMPQ $5, Z14, Z11, K1
	VPSUBQ Z8, Z10, K1, Z10
	VPSUBQ Z14, Z11, K1, Z11
	CMPQ R10, boxPlan_end(DI)
	JLT row

end:
	MOVQ R10, boxPlan_y(DI)
	CMPB boxPlan_small(DI), $0
	JNE return
	VMOVDQU64 Z10, boxPlan_at(DI)
	VMOVDQU64 Z11, boxPlan_rest(DI)

return:
	MOVQ n+16(FP), AX
	SUBQ CX, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

full:
	MOVQ R8, boxPlan_x(DI)
	JMP end
