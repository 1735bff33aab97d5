#include "go_asm.h"
#include "textflag.h"
#include "late.h"

// 2, 0.5
DATA octetNumbers<>+0(SB)/8, $2.0
DATA octetNumbers<>+8(SB)/8, $0.5
GLOBL octetNumbers<>(SB), RODATA|NOPTR, $16

DATA low24<>+0(SB)/4, $0xffffff
GLOBL low24<>(SB), RODATA|NOPTR, $4

// The centres of eight pixels in a row.
DATA centres8<>+0(SB)/8, $0.5
DATA centres8<>+8(SB)/8, $1.5
DATA centres8<>+16(SB)/8, $2.5
DATA centres8<>+24(SB)/8, $3.5
DATA centres8<>+32(SB)/8, $4.5
DATA centres8<>+40(SB)/8, $5.5
DATA centres8<>+48(SB)/8, $6.5
DATA centres8<>+56(SB)/8, $7.5
GLOBL centres8<>(SB), RODATA|NOPTR, $64

// The words of four quads' pixels by rows, and what undoes that.
DATA rowWords<>+0(SB)/8, $0x0005000400010000
DATA rowWords<>+8(SB)/8, $0x000d000c00090008
DATA rowWords<>+16(SB)/8, $0x0007000600030002
DATA rowWords<>+24(SB)/8, $0x000f000e000b000a
GLOBL rowWords<>(SB), RODATA|NOPTR, $32

DATA wordsOfQuads<>+0(SB)/8, $0x0009000800010000
DATA wordsOfQuads<>+8(SB)/8, $0x000b000a00030002
DATA wordsOfQuads<>+16(SB)/8, $0x000d000c00050004
DATA wordsOfQuads<>+24(SB)/8, $0x000f000e00070006
GLOBL wordsOfQuads<>(SB), RODATA|NOPTR, $32

// The pairs of four quads' pixels by rows.
DATA rowPairs<>+0(SB)/8, $0
DATA rowPairs<>+8(SB)/8, $2
DATA rowPairs<>+16(SB)/8, $4
DATA rowPairs<>+24(SB)/8, $6
DATA rowPairs<>+32(SB)/8, $1
DATA rowPairs<>+40(SB)/8, $3
DATA rowPairs<>+48(SB)/8, $5
DATA rowPairs<>+56(SB)/8, $7
GLOBL rowPairs<>(SB), RODATA|NOPTR, $64

DATA oneWord<>+0(SB)/2, $1
GLOBL oneWord<>(SB), RODATA|NOPTR, $2

// FLOAT8 and WHOLE8 test eight depths.
#define FLOAT8(how) \
	VCMPPS how, Y1, Y0, K2, K3 \
	JMP chosen

#define WHOLE8(how) \
	VPCMPD how, Y1, Y0, K2, K3 \
	JMP chosen

// MADE8 has what an operation of the face at AX makes of the stencil values in Y4.
#define MADE8(of, to) \
	VPANDD.BCST (of+stencilMade_and)(AX), Y4, to \
	VPXORD.BCST (of+stencilMade_xor)(AX), to, to \
	VPADDD.BCST (of+stencilMade_add)(AX), to, to \
	VPMAXSD.BCST (of+stencilMade_low)(AX), to, to \
	VPMINSD.BCST (of+stencilMade_high)(AX), to, to

// testOctet tests eight samples, of which those in R9 are covered: their depths are in Z0 and lie from BX on, and their
// stencil values from R14 on. AX has those that are left. R11 and DI are as for testQuad.
TEXT testOctet<>(SB), NOSPLIT|NOFRAME, $0-0
	KMOVB R9, K1
	CMPL R11, $const_depthFloat
	JNE noFloat
	VMOVDQU32.Z (BX), K1, Y1
	CMPB depthPlan_bounds(DI), $0
	JEQ bounded
	VCMPPS.BCST $0x15, depthPlan_boundLow(DI), Y1, K1, K1
	VCMPPS.BCST $0x1a, depthPlan_boundHigh(DI), Y1, K1, K1
	JMP bounded

noFloat:
	CMPL R11, $const_depth16
	JEQ short
	JLT bounded
	VMOVDQU32.Z (BX), K1, Y1
	VPANDD.BCST low24<>(SB), Y1, Y1

whole:
	CMPB depthPlan_bounds(DI), $0
	JEQ bounded
	VPCMPD.BCST $5, depthPlan_boundLow(DI), Y1, K1, K1
	VPCMPD.BCST $2, depthPlan_boundHigh(DI), Y1, K1, K1

bounded:
	KMOVB K1, K2
	CMPB depthPlan_stencils(DI), $0
	JEQ depth
	MOVQ depthPlan_face(DI), AX
	VMOVDQU8.Z (R14), K1, X4
	VPMOVZXBD X4, Y4
	VPANDD.BCST stencilFace_mask(AX), Y4, Y5
	VPBROADCASTD stencilFace_reference(AX), Y6
	VPCMPD $1, Y5, Y6, K1, K2
	KMOVB stencilFace_less(AX), K3
	KANDB K3, K2, K2
	VPCMPD $0, Y5, Y6, K1, K3
	KMOVB stencilFace_equal(AX), K4
	KANDB K4, K3, K3
	KORB K3, K2, K2
	VPCMPD $6, Y5, Y6, K1, K3
	KMOVB stencilFace_greater(AX), K4
	KANDB K4, K3, K3
	KORB K3, K2, K2

depth: // K2 has what the stencil lets pass
	KMOVB K2, K3
	MOVL depthPlan_compare(DI), AX
	CMPL R11, $const_depthFloat
	JEQ floats
	CMPL R11, $const_depthNone
	JEQ chosen
	VXORPD Y2, Y2, Y2
	VMAXPD Z2, Z0, Z0
	VMULPD.BCST depthPlan_scale(DI), Z0, Z0
	VADDPD.BCST octetNumbers<>+8(SB), Z0, Z0
	VCVTTPD2DQ Z0, Y0
	CMPL AX, $3
	JEQ wholeLessEqual
	JLT wholeBelow
	CMPL AX, $5
	JEQ wholeNotEqual
	JLT wholeGreater
	CMPL AX, $7
	JEQ chosen
	WHOLE8($5)

wholeLessEqual:
	WHOLE8($2)

wholeNotEqual:
	WHOLE8($4)

wholeGreater:
	WHOLE8($6)

wholeBelow:
	CMPL AX, $1
	JEQ wholeLess
	JLT never
	WHOLE8($0)

wholeLess:
	WHOLE8($1)

floats:
	VCVTPD2PS Z0, Y0
	CMPL AX, $3
	JEQ floatLessEqual
	JLT floatBelow
	CMPL AX, $5
	JEQ floatNotEqual
	JLT floatGreater
	CMPL AX, $7
	JEQ chosen
	FLOAT8($0x1d)

floatLessEqual:
	FLOAT8($0x12)

floatNotEqual:
	FLOAT8($0x04)

floatGreater:
	FLOAT8($0x1e)

floatBelow:
	CMPL AX, $1
	JEQ floatLess
	JLT never
	FLOAT8($0x00)

floatLess:
	FLOAT8($0x11)

never:
	KXORB K3, K3, K3

chosen: // K3 has what is left
	CMPB depthPlan_write(DI), $0
	JEQ written
	CMPL R11, $const_depth16
	JEQ writeShort
	VMOVDQU32 Y0, K3, (BX)

written:
	CMPB depthPlan_stencilWrite(DI), $0
	JEQ done
	MOVQ depthPlan_face(DI), AX
	MADE8(stencilFace_fail, Y0)
	MADE8(stencilFace_depthFail, Y2)
	MADE8(stencilFace_pass, Y3)
	VMOVDQA32 Y2, K2, Y0
	VMOVDQA32 Y3, K3, Y0
	VPTERNLOGD.BCST $0xe4, stencilFace_write(AX), Y4, Y0
	VPMOVDB Y0, X0
	VMOVDQU8 X0, K1, (R14)

done:
	KMOVB K3, AX
	RET

short:
	VMOVDQU16.Z (BX), K1, X1
	VPMOVZXWD X1, Y1
	JMP whole

writeShort:
	VPMOVDW Y0, X0
	VMOVDQU16 X0, K3, (BX)
	JMP written

// OCTET has the samples of octet R10/2 of the covers in R15 be those of R9, and goes on where there are none. R12 is
// where they are in the covers, and R8 where the octet's places are.
#define OCTET(none) \
	MOVQ depthPlan_octets(DI)(R10*4), R12 \
	PEXTQ R12, R15, R9 \
	TESTQ R9, R9 \
	JZ none \
	MOVQ R10, R8 \
	SHLQ $5, R8

// OCTET_LEFT takes those samples of the octet from the covers that are not in AX. R9 has those that there were.
#define OCTET_LEFT \
	XORQ R9, AX \
	PDEPQ R12, AX, AX \
	XORQ AX, R15

// NEXT_OCTET goes on to the next one.
#define NEXT_OCTET(again) \
	ADDQ depthPlan_steps(DI)(R10*8), BX \
	ADDQ depthPlan_steps+8(DI)(R10*8), BX \
	ADDQ depthPlan_stencilSteps(DI)(R10*8), R14 \
	ADDQ depthPlan_stencilSteps+8(DI)(R10*8), R14 \
	ADDQ $2, R10 \
	CMPQ R10, depthPlan_cells(DI) \
	JNE again

// func testOctetsAVX512(p *depthPlan, covers *[4]uint16, n int)
TEXT ·testOctetsAVX512(SB), NOSPLIT, $8-24
	MOVQ p+0(FP), DI
	MOVQ covers+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ depthPlan_at(DI), BX
	MOVQ depthPlan_stencil(DI), R14
	MOVBLZX depthPlan_kind(DI), R11
	VBROADCASTSD octetNumbers<>+0(SB), Z8
	VBROADCASTSD depthPlan_x(DI), Z10
	VBROADCASTSD depthPlan_high(DI), Z11
	VBROADCASTSD depthPlan_low(DI), Z12
	VBROADCASTSD (depthPlan_z+plane_c)(DI), Z13
	VBROADCASTSD (depthPlan_z+plane_x)(DI), Z14
	VBROADCASTSD depthPlan_x0(DI), Z15

loop:
	MOVQ (SI), R15
	TESTQ R15, R15
	JZ none
	XORL R10, R10

octet:
	OCTET(next)
	VADDPD depthPlan_lanes(DI)(R8*1), Z10, Z0
	VSUBPD Z15, Z0, Z0
	VMULPD Z14, Z0, Z0
	VADDPD Z0, Z13, Z0
	VADDPD depthPlan_lines(DI)(R8*1), Z0, Z0
	VMAXPD Z0, Z12, Z0
	VMINPD Z0, Z11, Z0
	CALL testOctet<>(SB)
	OCTET_LEFT

next:
	NEXT_OCTET(octet)
	MOVQ R15, (SI)

end:
	ADDQ $8, SI
	VADDPD Z8, Z10, Z10
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

none:
	MOVQ depthPlan_texelPitch(DI), AX
	LEAQ (BX)(AX*2), BX
	MOVQ depthPlan_samples(DI), AX
	LEAQ (R14)(AX*2), R14
	JMP end

// AXIS8 is how far the samples of an octet are from the primitive's origin, times the slope of its depths.
#define AXIS8(field, places, origin, slope, x, to) \
	VCVTSI2SDL field(SI), x, x \
	VBROADCASTSD x, to \
	VADDPD places, to, to \
	VSUBPD.BCST origin(DX), to, to \
	VMULPD.BCST slope(DX), to, to

// LIMIT8 has a limit of the primitive at DX, clamped to two others.
#define LIMIT8(of, within, to) \
	VBROADCASTSD of(DX), to \
	VBROADCASTSD LATE(within), Z2 \
	VMAXPD Z2, to, to \
	VBROADCASTSD LATE(within+8), Z2 \
	VMINPD Z2, to, to

// func testLateOctetsAVX512(p *latePlan, quads *quad, n int, prims *prim) int
TEXT ·testLateOctetsAVX512(SB), NOSPLIT, $16-40
	MOVQ p+0(FP), DI
	ADDQ $latePlan_depthPlan, DI
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVBLZX depthPlan_kind(DI), R11
	MOVQ $0, ret+32(FP)
	MOVQ $0, lane-8(SP)

loop:
	MOVQ quad_cover(SI), R15
	TESTQ R15, R15
	JZ none
	TEXELS(plain)

plain:
	LIMIT8(prim_low, latePlan_lows, Z12)
	LIMIT8(prim_high, latePlan_highs, Z11)
	XORL R10, R10

octet:
	OCTET(next)
	MOVQ LATE(latePlan_depths), AX
	TESTQ AX, AX
	JZ plane
	ADDQ lane-8(SP), AX
	CMPQ depthPlan_samples(DI), $4
	JNE single
	VBROADCASTSS (AX)(R10*4), X0 // two pixels
	VBROADCASTSS 4(AX)(R10*4), X1
	VINSERTF128 $1, X1, Y0, Y0
	VCVTPS2PD Y0, Z0
	JMP limited

single:
	TZCNTQ R12, R13
	SHRQ $4, R13
	VBROADCASTSS (AX)(R13*4), Y0
	VCVTPS2PD Y0, Z0

limited:
	VMAXPD Z0, Z12, Z0
	VMINPD Z0, Z11, Z0
	CALL testOctet<>(SB)
	OCTET_LEFT

next:
	NEXT_OCTET(octet)
	MOVQ R15, quad_cover(SI)
	POPCNTQ R15, AX
	ADDQ AX, ret+32(FP)

none:
	ADDQ $quad__size, SI
	ADDQ $16, lane-8(SP)
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

plane:
	VXORPD X0, X0, X0
	VXORPD X1, X1, X1
	AXIS8(quad_x, (depthPlan_lanes)(DI)(R8*1), prim_x0, (prim_z+plane_x), X0, Z0)
	AXIS8(quad_y, (latePlan_rows-latePlan_depthPlan)(DI)(R8*1), prim_y0, (prim_z+plane_y), X1, Z1)
	VBROADCASTSD (prim_z+plane_c)(DX), Z2
	VADDPD Z0, Z2, Z0
	VADDPD Z1, Z0, Z0
	JMP limited

// BESIDE has R10 count the quad at offset if it lies beside those before it, at column R8, and is the same primitive's;
// else it goes on.
#define BESIDE(offset, done) \
	ADDQ $2, R8 \
	CMPQ CX, R10 \
	JLE done \
	CMPQ R8, (offset+quad_x)(SI) \
	JNE done \
	CMPL R9, (offset+quad_prim)(SI) \
	JNE done \
	INCQ R10

// func testLateSixteensAVX512(p *latePlan, quads *quad, n int, prims *prim) int
TEXT ·testLateSixteensAVX512(SB), NOSPLIT, $16-40
	MOVQ p+0(FP), DI
	ADDQ $latePlan_depthPlan, DI
	MOVQ DI, R15
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ $0, ret+32(FP)
	MOVQ $0, lane-8(SP)
	VPXORQ Z9, Z9, Z9
	VBROADCASTSD octetNumbers<>+8(SB), Z26
	VPBROADCASTW oneWord<>(SB), Y27
	VMOVDQU64 wordsOfQuads<>(SB), Y28
	VMOVDQU64 rowWords<>(SB), Y29
	VMOVDQU64 rowPairs<>(SB), Z30
	VMOVDQU64 centres8<>(SB), Z31

loop:
	MOVL $1, R10 // quads
	MOVQ quad_cover(SI), AX
	TESTQ AX, AX
	JZ next
	VMOVQ AX, X1
	VPXORQ X2, X2, X2
	MOVQ quad_x(SI), R8
	MOVL quad_prim(SI), R9
	BESIDE(1*quad__size, found)
	VPINSRQ $1, (1*quad__size+quad_cover)(SI), X1, X1
	BESIDE(2*quad__size, found)
	VMOVQ (2*quad__size+quad_cover)(SI), X2
	BESIDE(3*quad__size, found)
	VPINSRQ $1, (3*quad__size+quad_cover)(SI), X2, X2

found:
	VINSERTI128 $1, X2, Y1, Y1
	VPERMW Y1, Y29, Y1
	VPTESTMW Y27, Y1, K1
	TEXELS(plain)
	MOVQ R14, R13

plain:
	MOVQ BX, R11
	MOVQ BX, R12
	ADDQ depthPlan_rowPitch(DI), R12
	LIMIT8(prim_low, latePlan_lows, Z20)
	LIMIT8(prim_high, latePlan_highs, Z19)
	MOVQ LATE(latePlan_depths), AX
	TESTQ AX, AX
	JZ plane
	MOVQ R10, BX
	SHLQ $2, BX
	MOVL $1, R8
	SHLXL BX, R8, R8
	DECL R8
	KMOVW R8, K2
	ADDQ lane-8(SP), AX
	VMOVUPS.Z (AX), K2, Z1
	VPERMQ Z1, Z30, Z1
	VCVTPS2PD Y1, Z4
	VEXTRACTF64X4 $1, Z1, Y1
	VCVTPS2PD Y1, Z5

limited:
	VMAXPD Z4, Z20, Z4
	VMINPD Z4, Z19, Z4
	VMAXPD Z5, Z20, Z5
	VMINPD Z5, Z19, Z5
#include "test16.h"
	KMOVW K3, AX
	POPCNTL AX, AX
	ADDQ AX, ret+32(FP)
	VMOVDQU16.Z Y27, K3, Y1
	VPERMW Y1, Y28, Y1
	VMOVQ X1, quad_cover(SI)
	CMPQ R10, $2
	JLT next
	VPEXTRQ $1, X1, (1*quad__size+quad_cover)(SI)
	JEQ next
	VEXTRACTI128 $1, Y1, X1
	VMOVQ X1, (2*quad__size+quad_cover)(SI)
	CMPQ R10, $4
	JLT next
	VPEXTRQ $1, X1, (3*quad__size+quad_cover)(SI)

next:
	SUBQ R10, CX
	SHLQ $4, R10
	ADDQ R10, lane-8(SP)
	LEAQ (SI)(R10*2), SI
	TESTQ CX, CX
	JNZ loop
	VZEROUPPER
	RET

plane:
	VXORPD X0, X0, X0
	VXORPD X1, X1, X1
	AXIS8(quad_x, Z31, prim_x0, (prim_z+plane_x), X0, Z0)
	VCVTSI2SDL quad_y(SI), X1, X1
	VADDSD X26, X1, X4
	VADDSD centres8<>+8(SB), X1, X5
	VSUBSD prim_y0(DX), X4, X4
	VSUBSD prim_y0(DX), X5, X5
	VMULSD (prim_z+plane_y)(DX), X4, X4
	VMULSD (prim_z+plane_y)(DX), X5, X5
	VBROADCASTSD X4, Z4
	VBROADCASTSD X5, Z5
	VBROADCASTSD (prim_z+plane_c)(DX), Z2
	VADDPD Z0, Z2, Z0
	VADDPD Z4, Z0, Z4
	VADDPD Z5, Z0, Z5
	JMP limited
