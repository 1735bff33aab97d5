#include "go_asm.h"
#include "textflag.h"
#include "depth.h"
#include "late.h"

// Four bits as the covers of a quad's pixels.
DATA spread<>+0(SB)/8, $0x0000000000000000
DATA spread<>+8(SB)/8, $0x0000000000000001
DATA spread<>+16(SB)/8, $0x0000000000010000
DATA spread<>+24(SB)/8, $0x0000000000010001
DATA spread<>+32(SB)/8, $0x0000000100000000
DATA spread<>+40(SB)/8, $0x0000000100000001
DATA spread<>+48(SB)/8, $0x0000000100010000
DATA spread<>+56(SB)/8, $0x0000000100010001
DATA spread<>+64(SB)/8, $0x0001000000000000
DATA spread<>+72(SB)/8, $0x0001000000000001
DATA spread<>+80(SB)/8, $0x0001000000010000
DATA spread<>+88(SB)/8, $0x0001000000010001
DATA spread<>+96(SB)/8, $0x0001000100000000
DATA spread<>+104(SB)/8, $0x0001000100000001
DATA spread<>+112(SB)/8, $0x0001000100010000
DATA spread<>+120(SB)/8, $0x0001000100010001
GLOBL spread<>(SB), RODATA|NOPTR, $128

// 2, 0.5, 0xffffff, 255
DATA steps<>+0(SB)/8, $2.0
DATA steps<>+8(SB)/8, $0.5
DATA steps<>+16(SB)/8, $0xffffff
DATA steps<>+24(SB)/8, $255
GLOBL steps<>(SB), RODATA|NOPTR, $32

// testQuad tests the depths in Y0 of a quad whose covers are in R9, and writes them. BX and DX are where its rows are,
// AX has the covers that are left. What ARGUMENTS leaves in R11, R12, X4 to X7 and DI counts, R10 has the covers of all
// pixels, and R13 spread.
TEXT testQuad<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL R11, $const_depth16
	JEQ short
	CMPQ R9, R10
	JNE some
	VMOVQ (BX), X1
	VMOVHPS (DX), X1, X1

loaded:
	CMPL R11, $const_depth24
	JEQ whole
	VCVTPD2PSY Y0, X0
	FLOATS

chosen:
	MOVQ (R13)(AX*8), AX
	ANDQ R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	CMPQ AX, R10
	JNE parts
	VMOVQ X0, (BX)
	VMOVHPS X0, (DX)

done:
	RET

some:
	LOAD(R9, 16, 32, 48, VPINSRD, (BX), 4(BX), (DX), 4(DX), load1, load2, load3, loaded)
	JMP loaded

whole:
	UNORM
	LOW24
	WHOLES
	JMP chosen

parts:
	STORE(AX, 16, 32, 48, VPEXTRD, (BX), 4(BX), (DX), 4(DX), store1, store2, store3, done)
	RET

short:
	UNORM
	CMPQ R9, R10
	JNE shortSome
	VMOVD (BX), X1
	VPINSRD $1, (DX), X1, X1

shortLoaded:
	VPMOVZXWD X1, X1
	WHOLES
	MOVQ (R13)(AX*8), AX
	ANDQ R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	VPACKUSDW X0, X0, X0
	CMPQ AX, R10
	JNE shortParts
	VMOVD X0, (BX)
	VPEXTRD $1, X0, (DX)
	RET

shortSome:
	LOAD(R9, 16, 32, 48, VPINSRW, (BX), 2(BX), (DX), 2(DX), short1, short2, short3, shortLoaded)
	JMP shortLoaded

shortParts:
	STORE(AX, 16, 32, 48, VPEXTRW, (BX), 2(BX), (DX), 2(DX), word1, word2, word3, done)
	RET

// boundQuad leaves in R9 those samples of a quad whose stored depths are within bounds.
TEXT boundQuad<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL R11, $const_depth16
	JEQ short
	LOAD(R9, 16, 32, 48, VPINSRD, (BX), 4(BX), (DX), 4(DX), load1, load2, load3, loaded)

loaded:
	CMPL R11, $const_depth24
	JEQ whole
	FLOATS_BOUNDED

bounded:
	MOVQ (R13)(AX*8), AX
	ANDQ AX, R9
	RET

whole:
	LOW24

wholes:
	WHOLES_BOUNDED
	JMP bounded

short:
	LOAD(R9, 16, 32, 48, VPINSRW, (BX), 2(BX), (DX), 2(DX), short1, short2, short3, shortLoaded)

shortLoaded:
	VPMOVZXWD X1, X1
	JMP wholes

// checkQuad is testQuad with bounds and stencil, of which R14 and R15 are where the rows are. R9 is not kept.
TEXT checkQuad<>(SB), NOSPLIT, $88-0
	CMPB depthPlan_bounds(DI), $0
	JEQ inside
	CALL boundQuad<>(SB)
	MOVQ R9, AX
	TESTQ AX, AX
	JZ done

inside:
	CMPB depthPlan_stencils(DI), $0
	JEQ depth
	VMOVUPD Y0, depths-88(SP)
	MOVQ R9, cover-8(SP)
	LOAD(R9, 16, 32, 48, VPINSRB, (R14), 1(R14), (R15), 1(R15), load1, load2, load3, loaded)

loaded:
	COMPARED
	MOVQ (R13)(AX*8), AX
	ANDQ R9, AX
	JZ tested
	CMPL R11, $const_depthNone
	JEQ tested
	MOVQ AX, R9
	VMOVUPD depths-88(SP), Y0
	CALL testQuad<>(SB)

tested:
	CMPB depthPlan_stencilWrite(DI), $0
	JEQ done
	MOVQ AX, left-56(SP)
	VMOVQ AX, X2
	CHANGED
	MOVQ cover-8(SP), R9
	STORE(R9, 16, 32, 48, VPEXTRB, (R14), 1(R14), (R15), 1(R15), store1, store2, store3, stored)

stored:
	MOVQ left-56(SP), AX

done:
	RET

depth:
	CALL testQuad<>(SB)
	RET

// func testQuadsAVX2(p *depthPlan, covers *[4]uint16, n int)
TEXT ·testQuadsAVX2(SB), NOSPLIT, $8-24
	ARGUMENTS
	OF_QUADS

loop:
	MOVQ (SI), R9
	TESTQ R9, R9
	JZ next
	VMOVAPD Y10, Y0
	DEPTH(Y9)
	CMPB depthPlan_checked(DI), $0
	JNE check
	CALL testQuad<>(SB)

tested:
	MOVQ AX, (SI)

next:
	VADDPD Y8, Y10, Y10
	ADDQ R8, BX
	ADDQ R8, DX
	ADDQ $2, R14
	ADDQ $2, R15
	ADDQ $8, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

check:
	CALL checkQuad<>(SB)
	JMP tested

// testPixel is testQuad for a cell, whose samples are bits in R9 and lie from BX on.
TEXT testPixel<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL R11, $const_depth16
	JEQ short
	CMPL R9, $15
	JNE some
	VMOVDQU (BX), X1

loaded:
	CMPL R11, $const_depth24
	JEQ whole
	VCVTPD2PSY Y0, X0
	FLOATS

chosen:
	ANDL R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	CMPL AX, $15
	JNE parts
	VMOVDQU X0, (BX)

done:
	RET

some:
	LOAD(R9, 1, 2, 3, VPINSRD, (BX), 4(BX), 8(BX), 12(BX), load1, load2, load3, loaded)
	JMP loaded

whole:
	UNORM
	LOW24
	WHOLES
	JMP chosen

parts:
	STORE(AX, 1, 2, 3, VPEXTRD, (BX), 4(BX), 8(BX), 12(BX), store1, store2, store3, done)
	RET

short:
	UNORM
	CMPL R9, $15
	JNE shortSome
	VMOVQ (BX), X1

shortLoaded:
	VPMOVZXWD X1, X1
	WHOLES
	ANDL R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	VPACKUSDW X0, X0, X0
	CMPL AX, $15
	JNE shortParts
	VMOVQ X0, (BX)
	RET

shortSome:
	LOAD(R9, 1, 2, 3, VPINSRW, (BX), 2(BX), 4(BX), 6(BX), short1, short2, short3, shortLoaded)
	JMP shortLoaded

shortParts:
	STORE(AX, 1, 2, 3, VPEXTRW, (BX), 2(BX), 4(BX), 6(BX), word1, word2, word3, done)
	RET

// boundPixel is boundQuad for a cell.
TEXT boundPixel<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL R11, $const_depth16
	JEQ short
	LOAD(R9, 1, 2, 3, VPINSRD, (BX), 4(BX), 8(BX), 12(BX), load1, load2, load3, loaded)

loaded:
	CMPL R11, $const_depth24
	JEQ whole
	FLOATS_BOUNDED

bounded:
	ANDL AX, R9
	RET

whole:
	LOW24

wholes:
	WHOLES_BOUNDED
	JMP bounded

short:
	LOAD(R9, 1, 2, 3, VPINSRW, (BX), 2(BX), 4(BX), 6(BX), short1, short2, short3, shortLoaded)

shortLoaded:
	VPMOVZXWD X1, X1
	JMP wholes

// checkPixel is checkQuad for a cell, whose stencil values lie from R14 on.
TEXT checkPixel<>(SB), NOSPLIT, $88-0
	CMPB depthPlan_bounds(DI), $0
	JEQ inside
	CALL boundPixel<>(SB)
	MOVQ R9, AX
	TESTQ AX, AX
	JZ done

inside:
	CMPB depthPlan_stencils(DI), $0
	JEQ depth
	VMOVUPD Y0, depths-88(SP)
	MOVQ R9, cover-8(SP)
	LOAD(R9, 1, 2, 3, VPINSRB, (R14), 1(R14), 2(R14), 3(R14), load1, load2, load3, loaded)

loaded:
	COMPARED
	ANDL R9, AX
	JZ tested
	CMPL R11, $const_depthNone
	JEQ tested
	MOVQ AX, R9
	VMOVUPD depths-88(SP), Y0
	CALL testPixel<>(SB)

tested:
	CMPB depthPlan_stencilWrite(DI), $0
	JEQ done
	MOVQ AX, left-56(SP)
	VMOVQ (R13)(AX*8), X2
	CHANGED
	MOVQ cover-8(SP), R9
	STORE(R9, 1, 2, 3, VPEXTRB, (R14), 1(R14), 2(R14), 3(R14), store1, store2, store3, stored)

stored:
	MOVQ left-56(SP), AX

done:
	RET

depth:
	CALL testPixel<>(SB)
	RET

// CELL has the samples of cell R10 of the quad's covers, in R15, be those of R9, and goes on where there are none. CX
// is how far they are shifted.
#define CELL(none) \
	MOVBLZX depthPlan_shifts(DI)(R10*1), CX \
	MOVQ R15, R9 \
	SHRQ CX, R9 \
	ANDL $15, R9 \
	JZ none

// LEFT takes those samples of the cell from the covers that are not in AX. R8 has those that there were.
#define LEFT \
	XORQ R8, AX \
	SHLQ CX, AX \
	XORQ AX, R15

// NEXT_CELL goes on to the next cell.
#define NEXT_CELL(again) \
	ADDQ depthPlan_steps(DI)(R10*8), BX \
	ADDQ depthPlan_stencilSteps(DI)(R10*8), R14 \
	INCQ R10 \
	CMPQ R10, depthPlan_cells(DI) \
	JNE again

// func testSamplesAVX2(p *depthPlan, covers *[4]uint16, n int)
TEXT ·testSamplesAVX2(SB), NOSPLIT, $8-24
	ARGUMENTS
	VBROADCASTSD steps<>+0(SB), Y8

loop:
	MOVQ (SI), R15
	TESTQ R15, R15
	JZ none
	XORL R10, R10

cell:
	CELL(next)
	MOVQ R10, R8
	SHLQ $5, R8
	VADDPD (depthPlan_lanes)(DI)(R8*1), Y10, Y0
	VMOVUPD (depthPlan_lines)(DI)(R8*1), Y9
	DEPTH(Y9)
	MOVQ R9, R8
	CMPB depthPlan_checked(DI), $0
	JNE check
	CALL testPixel<>(SB)

tested:
	LEFT

next:
	NEXT_CELL(cell)
	MOVQ R15, (SI)

end:
	ADDQ $8, SI
	VADDPD Y8, Y10, Y10
	DECQ n+16(FP)
	JNZ loop
	VZEROUPPER
	RET

none:
	MOVQ depthPlan_texelPitch(DI), AX
	LEAQ (BX)(AX*2), BX
	MOVQ depthPlan_samples(DI), AX
	LEAQ (R14)(AX*2), R14
	JMP end

check:
	CALL checkPixel<>(SB)
	JMP tested

// The centres of a quad's pixels.
DATA lateColumns<>+0(SB)/8, $0.5
DATA lateColumns<>+8(SB)/8, $1.5
DATA lateColumns<>+16(SB)/8, $0.5
DATA lateColumns<>+24(SB)/8, $1.5
GLOBL lateColumns<>(SB), RODATA|NOPTR, $32

DATA lateLines<>+0(SB)/8, $0.5
DATA lateLines<>+8(SB)/8, $0.5
DATA lateLines<>+16(SB)/8, $1.5
DATA lateLines<>+24(SB)/8, $1.5
GLOBL lateLines<>(SB), RODATA|NOPTR, $32

// LIMIT has a limit of the primitive at DX, clamped to two others.
#define LIMIT(of, within, to) \
	VBROADCASTSD of(DX), to \
	VBROADCASTSD LATE(within), Y2 \
	VMAXPD Y2, to, to \
	VBROADCASTSD LATE(within+8), Y2 \
	VMINPD Y2, to, to

// LATER takes in the arguments of the tests of shaded quads: R8 is where the lanes are.
#define LATER \
	MOVQ p+0(FP), DI \
	ADDQ $latePlan_depthPlan, DI \
	MOVQ quads+8(FP), SI \
	COMPARISON \
	LEAQ spread<>(SB), R13 \
	MOVQ $0, ret+32(FP) \
	XORL R8, R8

// REPLACED has an operation store the references in X0, if it stores any.
#define REPLACED(of, not) \
	CMPL (of+stencilMade_replaces)(AX), $0 \
	JEQ not \
	VMOVDQU X0, (of+stencilMade_xor)(AX)

// REFERENCES has the references in X0, of which 8 bits count, be those of the quad's face.
#define REFERENCES(pass, depthFail, done) \
	MOVQ depthPlan_face(DI), AX \
	VPBROADCASTD steps<>+24(SB), X1 \
	VPAND X1, X0, X0 \
	VPAND stencilFace_mask(AX), X0, X1 \
	VMOVDQU X1, stencilFace_reference(AX) \
	REPLACED(stencilFace_fail, pass) \
pass: \
	REPLACED(stencilFace_pass, depthFail) \
depthFail: \
	REPLACED(stencilFace_depthFail, done)

// AXIS is how far the pixels of a quad are from the primitive's origin, times the slope of its depths.
#define AXIS(field, centres, origin, slope, x, to) \
	VCVTSI2SDL field(SI), x, x \
	VBROADCASTSD x, to \
	VADDPD centres, to, to \
	VBROADCASTSD origin(DX), Y2 \
	VSUBPD Y2, to, to \
	VBROADCASTSD slope(DX), Y2 \
	VMULPD Y2, to, to

// PLANE is the depths of a quad's pixels, of which there are the columns and the rows.
#define PLANE(columns, rows) \
	VXORPD X0, X0, X0 \
	VXORPD X1, X1, X1 \
	AXIS(quad_x, columns, prim_x0, (prim_z+plane_x), X0, Y0) \
	AXIS(quad_y, rows, prim_y0, (prim_z+plane_y), X1, Y1) \
	VBROADCASTSD (prim_z+plane_c)(DX), Y2 \
	VADDPD Y0, Y2, Y0 \
	VADDPD Y1, Y0, Y0

// LIMITED keeps depths within the limits; NaN stays.
#define LIMITED \
	VMAXPD Y0, Y12, Y0 \
	VMINPD Y0, Y11, Y0

// func testLateAVX2(p *latePlan, quads *quad, n int, prims *prim) int
TEXT ·testLateAVX2(SB), NOSPLIT, $16-40
	LATER
	MOVQ n+16(FP), CX
	MOVQ $0x0001000100010001, R10

loop:
	MOVQ quad_cover(SI), R9
	TESTQ R9, R9
	JZ next
	TEXELS(plain)
	MOVQ R14, R15
	ADDQ depthPlan_stencilPitch(DI), R15
	MOVQ LATE(latePlan_references), AX
	TESTQ AX, AX
	JZ plain
	VMOVDQU (AX)(R8*1), X0
	REFERENCES(pass, depthFail, plain)

plain:
	LIMIT(prim_low, latePlan_lows, Y12)
	LIMIT(prim_high, latePlan_highs, Y11)
	MOVQ LATE(latePlan_depths), AX
	TESTQ AX, AX
	JZ plane
	VCVTPS2PD (AX)(R8*1), Y0

limited:
	LIMITED
	MOVQ BX, DX
	ADDQ depthPlan_rowPitch(DI), DX
	CMPB depthPlan_checked(DI), $0
	JNE check
	CALL testQuad<>(SB)

tested:
	MOVQ AX, quad_cover(SI)
	POPCNTQ AX, AX
	ADDQ AX, ret+32(FP)

next:
	ADDQ $quad__size, SI
	ADDQ $16, R8
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

plane:
	PLANE(lateColumns<>(SB), lateLines<>(SB))
	JMP limited

check:
	CALL checkQuad<>(SB)
	JMP tested

// func testLateSamplesAVX2(p *latePlan, quads *quad, n int, prims *prim) int
TEXT ·testLateSamplesAVX2(SB), NOSPLIT, $16-40
	LATER

loop:
	MOVQ quad_cover(SI), R15
	TESTQ R15, R15
	JZ none
	TEXELS(plain)

plain:
	LIMIT(prim_low, latePlan_lows, Y12)
	LIMIT(prim_high, latePlan_highs, Y11)
	MOVQ R8, lane-8(SP)
	XORL R10, R10

cell:
	CELL(next)
	MOVL CX, R8 // the pixel
	SHRL $4, R8
	SHLL $2, R8
	ADDQ lane-8(SP), R8
	MOVQ LATE(latePlan_references), AX
	TESTQ AX, AX
	JZ replaced
	VPBROADCASTD (AX)(R8*1), X0
	REFERENCES(pass, depthFail, replaced)

replaced:
	MOVQ LATE(latePlan_depths), AX
	TESTQ AX, AX
	JZ plane
	VBROADCASTSS (AX)(R8*1), X0
	VCVTPS2PD X0, Y0

limited:
	LIMITED
	MOVQ R9, R8
	CMPB depthPlan_checked(DI), $0
	JNE check
	CALL testPixel<>(SB)

tested:
	LEFT

next:
	NEXT_CELL(cell)
	MOVQ R15, quad_cover(SI)
	POPCNTQ R15, AX
	ADDQ AX, ret+32(FP)
	MOVQ lane-8(SP), R8

none:
	ADDQ $quad__size, SI
	ADDQ $16, R8
	DECQ n+16(FP)
	JNZ loop
	VZEROUPPER
	RET

plane:
	MOVQ R10, AX
	SHLQ $5, AX
	PLANE((depthPlan_lanes)(DI)(AX*1), LATE(latePlan_rows)(AX*1))
	JMP limited

check:
	CALL checkPixel<>(SB)
	JMP tested

// The lower halves of four words.
DATA lowHalves<>+0(SB)/8, $0x0d0c090805040100
DATA lowHalves<>+8(SB)/8, $0x8080808080808080
GLOBL lowHalves<>(SB), RODATA|NOPTR, $16

// KEPT leaves in AX the samples of a quad that are in the lower halves of the words in X0.
#define KEPT \
	VPSHUFB lowHalves<>(SB), X0, X0 \
	VMOVQ X0, BX \
	ANDQ BX, AX

// func aliveAVX2(p *latePlan, quads *quad, n int, lanes *uint8) int
TEXT ·aliveAVX2(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), R15
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ lanes+24(FP), DI
	MOVQ latePlan_masks(R15), R11
	MOVQ latePlan_alphas(R15), R12
	VXORPD Y7, Y7, Y7
	VBROADCASTSD latePlan_all(R15), Y6
	VBROADCASTSD steps<>+8(SB), Y5
	VPCMPEQD X3, X3, X3
	VPSRLD $31, X3, X2 // 1
	LEAQ spread<>(SB), R13
	XORL DX, DX // samples
	XORL R8, R8 // whether the quad is the second of a byte
	XORL R10, R10

loop:
	MOVBLZX (DI), AX
	MOVL AX, BX
	SHRL $4, BX
	TESTL R8, R8
	CMOVLNE BX, AX
	ANDL $15, AX
	MOVQ (R13)(AX*8), AX
	IMULQ $0xffff, AX
	ANDQ quad_cover(SI), AX
	TESTQ R11, R11
	JZ unmasked
	VMOVDQU (R11)(R10*1), X0
	KEPT

unmasked:
	TESTQ R12, R12
	JZ alive
	VCVTPS2PD (R12)(R10*1), Y0
	VMAXPD Y7, Y0, Y0 // NaN is 0
	VMULPD Y6, Y0, Y0
	VADDPD Y5, Y0, Y0
	VCVTTPD2DQY Y0, X0
	VPSLLVD X0, X2, X0 // nothing is left of too many
	VPADDD X3, X0, X0
	KEPT

alive:
	MOVQ AX, quad_cover(SI)
	POPCNTQ AX, AX
	ADDQ AX, DX
	ADDQ $16, R10
	ADDQ R8, DI
	XORL $1, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	MOVQ DX, ret+32(FP)
	VZEROUPPER
	RET
